/** HTTP/1.1 by hand, for tests of slow, stalled and broken senders. */

const decoder = new TextDecoder();

/** One socket to an HTTP server, on which each byte is written by hand. */
export class Connection implements Disposable {
  readonly #socket: Deno.Conn;
  #text = "";

  private constructor(socket: Deno.Conn) {
    this.#socket = socket;
  }

  static async open(port: number): Promise<Connection> {
    return new Connection(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) at += await this.#socket.write(bytes.subarray(at));
  }

  /** Status of the next answer, its body read. */
  async status(): Promise<number> {
    const chunk = new Uint8Array(4096);
    for (;;) {
      const headEnd = this.#text.indexOf("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(this.#text)?.[1] ?? NaN);
      if (headEnd >= 0 && this.#text.length >= headEnd + 4 + length) {
        const status = Number(this.#text.slice(9, 12));
        this.#text = this.#text.slice(headEnd + 4 + length);
        return status;
      }
      const count = await this.#socket.read(chunk);
      if (count === null) throw new Error(`connection closed after ${JSON.stringify(this.#text)}`);
      this.#text += decoder.decode(chunk.subarray(0, count));
    }
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}

/** The head of a POST with a body of so many bytes, and with further headers. */
export function headOf(
  path: string,
  contentBytes: number,
  headers: Readonly<Record<string, string>>,
): Uint8Array {
  const lines = Object.entries({ ...headers, "content-length": contentBytes })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return new TextEncoder().encode(
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join("")}\r\n`,
  );
}

export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  /** All of them: `fetch` sets such as it likes. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One request without a body, on a connection of its own. */
export async function askWith(
  port: number,
  { method = "GET", path, headers }: RawRequest,
): Promise<{ readonly status: number; readonly head: string; readonly body: string }> {
  using socket = await Deno.connect({ hostname: "127.0.0.1", port });
  const lines = Object.entries({ ...headers, connection: "close" })
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
  await socket.write(new TextEncoder().encode(request));
  const text = await new Response(socket.readable).text();
  const headEnd = text.indexOf("\r\n\r\n");
  return {
    status: Number(text.slice(9, 12)),
    head: text.slice(0, headEnd).toLowerCase(),
    body: text.slice(headEnd + 4),
  };
}
