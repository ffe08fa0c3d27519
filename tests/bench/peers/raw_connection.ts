/**
 * One keep-alive connection that sends bodies and reads answers as raw HTTP/1.1: `fetch` costs more
 * for each request than some of the servers that are measured.
 */

const BUFFER_BYTES = 64 * 1024;
/** An answer's beginning is kept, to look for errors in. */
const ANSWER_BYTES_MAX = 16 * 1024;

export interface RawAnswer {
  readonly status: number;
  /** Its headers and the beginning of its body. */
  readonly text: string;
}

export class RawConnection implements Disposable {
  readonly #port: number;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  #connection: Deno.TcpConn | undefined;

  constructor(port: number) {
    this.#port = port;
  }

  /** `head` ends before the value of content-length, its last header. */
  async post(head: string, body: Uint8Array): Promise<RawAnswer> {
    this.#connection ??= await this.#connect();
    const connection = this.#connection;
    await writeAll(connection, new TextEncoder().encode(`${head}${body.byteLength}\r\n\r\n`));
    await writeAll(connection, body);
    const answer = await this.#read(connection);
    // The server may end a connection that is old. The next request opens another.
    if (/\r\nconnection: close\r\n/i.test(answer.text)) this.#close();
    return answer;
  }

  [Symbol.dispose](): void {
    this.#close();
  }

  async #connect(): Promise<Deno.TcpConn> {
    const connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    connection.setNoDelay(true);
    return connection;
  }

  async #read(connection: Deno.TcpConn): Promise<RawAnswer> {
    let held = "";
    let total = 0;
    let bodyAt = -1;
    for (;;) {
      const count = await connection.read(this.#buffer);
      if (count === null) throw new Error("the server closed the connection before its answer");
      total += count;
      const text = latin1(this.#buffer.subarray(0, count));
      held = (held + text).slice(0, ANSWER_BYTES_MAX);
      if (bodyAt < 0) bodyAt = held.indexOf("\r\n\r\n");
      if (bodyAt < 0) continue;
      if (isWhole(held.slice(0, bodyAt + 2), total - bodyAt - 4, text)) {
        return { status: Number(held.slice(9, 12)), text: held };
      }
    }
  }

  #close(): void {
    this.#connection?.close();
    this.#connection = undefined;
  }
}

/** Whether an answer with `headers` has ended, of whose body `bytes` came, last of all `text`. */
function isWhole(headers: string, bytes: number, text: string): boolean {
  if (/^HTTP\/1\.1 (?:204|304) /.test(headers)) return true;
  if (/\r\ntransfer-encoding: chunked\r\n/i.test(headers)) return text.endsWith("0\r\n\r\n");
  return bytes >= Number(/\r\ncontent-length: (\d+)\r\n/i.exec(headers)?.[1] ?? 0);
}

const decoder = new TextDecoder("latin1");

function latin1(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength;) at += await connection.write(bytes.subarray(at));
}
