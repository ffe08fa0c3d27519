/**
 * A client of PostgreSQL's protocol that shows the bytes, for tests: what a server sends is neither
 * decoded nor checked.
 */

import { concatBytes, textOf, utf8 } from "../../shared/base/bytes.ts";

export interface WireMessage {
  readonly code: string;
  readonly body: Uint8Array;
}

/** What a server answered to one statement. */
export interface WireAnswer {
  readonly oids: readonly number[];
  readonly names: readonly string[];
  readonly parameterOids: readonly number[];
  readonly rows: readonly (readonly (Uint8Array | null)[])[];
  readonly tags: readonly string[];
  /** Fields of an ErrorResponse by their letter. */
  readonly error: ReadonlyMap<string, string> | undefined;
  /** Codes of all messages, in order. */
  readonly codes: string;
}

export interface WireParameter {
  readonly bytes: Uint8Array | null;
  readonly format?: 0 | 1;
  readonly oid?: number;
}

export class PgWireClient implements Disposable {
  #buffer = new Uint8Array();
  processId = 0;
  secret = new Uint8Array();
  readonly settings = new Map<string, string>();

  private constructor(readonly conn: Deno.TcpConn | Deno.TlsConn) {}

  static async open(port: number): Promise<PgWireClient> {
    return new PgWireClient(await Deno.connect({ hostname: "127.0.0.1", port }));
  }

  /** Begins a session; the error of one that is refused is thrown. */
  static async start(
    port: number,
    { user = "svc", database = "postgres", password, version = 0x30000, more = {} }: {
      readonly user?: string;
      readonly database?: string;
      readonly password?: string;
      readonly version?: number;
      readonly more?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<PgWireClient> {
    const client = await PgWireClient.open(port);
    try {
      await client.begin({ version, parameters: { user, database, ...more }, password });
      return client;
    } catch (error) {
      client[Symbol.dispose]();
      throw error;
    }
  }

  async begin(
    { version = 0x30000, parameters, password }: {
      readonly version?: number;
      readonly parameters: Readonly<Record<string, string>>;
      readonly password?: string | undefined;
    },
  ): Promise<WireMessage[]> {
    const words = Object.entries(parameters).flatMap(([name, value]) => [zero(name), zero(value)]);
    await this.write(packet(concatBytes([int32(version), ...words, Uint8Array.of(0)])));
    const seen: WireMessage[] = [];
    for (;;) {
      const message = await this.read();
      if (message === undefined) throw new Error("the server closed the connection");
      seen.push(message);
      if (message.code === "E") throw new Error([...fieldsOf(message.body).values()].join(" | "));
      if (message.code === "R" && viewOf(message.body).getInt32(0) === 3) {
        await this.write(frame("p", zero(password ?? "")));
      }
      if (message.code === "S") {
        const [name = "", value = ""] = textOf(message.body).split("\0");
        this.settings.set(name, value);
      }
      if (message.code === "K") {
        this.processId = viewOf(message.body).getInt32(0);
        this.secret = message.body.slice(4);
      }
      if (message.code === "Z") return seen;
    }
  }

  async simple(sql: string): Promise<WireAnswer> {
    await this.write(frame("Q", zero(sql)));
    return answerOf(await this.untilReady());
  }

  /** Parse, describe the statement, bind, execute; results in `format`. */
  async extended(
    sql: string,
    { parameters = [], format = 0, rowsMax = 0 }: {
      readonly parameters?: readonly WireParameter[];
      readonly format?: 0 | 1;
      readonly rowsMax?: number;
    } = {},
  ): Promise<WireAnswer> {
    await this.write(concatBytes([
      parse("", sql, parameters.map(({ oid = 0 }) => oid)),
      frame("D", concatBytes([utf8("S"), zero("")])),
      bind("", "", parameters, format),
      execute("", rowsMax),
      SYNC,
    ]));
    return answerOf(await this.untilReady());
  }

  async untilReady(): Promise<WireMessage[]> {
    const seen: WireMessage[] = [];
    for (;;) {
      const message = await this.read();
      if (message === undefined) throw new Error("the server closed the connection");
      seen.push(message);
      if (message.code === "Z") return seen;
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.byteLength;) at += await this.conn.write(bytes.subarray(at));
  }

  /** The next message; undefined at the end. */
  async read(): Promise<WireMessage | undefined> {
    if (!await this.#has(5)) return undefined;
    const length = viewOf(this.#buffer).getInt32(1);
    if (!await this.#has(1 + length)) return undefined;
    const code = String.fromCharCode(this.#buffer[0] ?? 0);
    const body = this.#buffer.slice(5, 1 + length);
    this.#buffer = this.#buffer.slice(1 + length);
    return { code, body };
  }

  /** One byte, as the answer to a request for TLS. */
  async readByte(): Promise<string> {
    await this.#has(1);
    const byte = String.fromCharCode(this.#buffer[0] ?? 0);
    this.#buffer = this.#buffer.slice(1);
    return byte;
  }

  [Symbol.dispose](): void {
    try {
      this.conn.close();
    } catch { /* It is closed. */ }
  }

  async #has(count: number): Promise<boolean> {
    while (this.#buffer.byteLength < count) {
      const chunk = new Uint8Array(65_536);
      const read = await this.conn.read(chunk).catch(() => null);
      if (read === null) return false;
      this.#buffer = concatBytes([this.#buffer, chunk.subarray(0, read)]);
    }
    return true;
  }
}

export const SYNC = frame("S", new Uint8Array());

export function frame(code: string, body: Uint8Array): Uint8Array {
  return concatBytes([utf8(code), packet(body)]);
}

export function packet(body: Uint8Array): Uint8Array {
  return concatBytes([int32(body.byteLength + 4), body]);
}

export function parse(name: string, sql: string, oids: readonly number[] = []): Uint8Array {
  return frame("P", concatBytes([zero(name), zero(sql), int16(oids.length), ...oids.map(int32)]));
}

export function bind(
  portal: string,
  statement: string,
  parameters: readonly WireParameter[] = [],
  format: 0 | 1 = 0,
): Uint8Array {
  return frame(
    "B",
    concatBytes([
      zero(portal),
      zero(statement),
      int16(parameters.length),
      ...parameters.map((parameter) => int16(parameter.format ?? 0)),
      int16(parameters.length),
      ...parameters.flatMap(({ bytes }) =>
        bytes === null ? [int32(-1)] : [int32(bytes.byteLength), bytes]
      ),
      int16(1),
      int16(format),
    ]),
  );
}

export function execute(portal: string, rowsMax = 0): Uint8Array {
  return frame("E", concatBytes([zero(portal), int32(rowsMax)]));
}

export function zero(text: string): Uint8Array {
  return concatBytes([utf8(text), Uint8Array.of(0)]);
}

export function int32(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(4));
  view.setInt32(0, value);
  return new Uint8Array(view.buffer);
}

function int16(value: number): Uint8Array {
  const view = new DataView(new ArrayBuffer(2));
  view.setInt16(0, value);
  return new Uint8Array(view.buffer);
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function fieldsOf(body: Uint8Array): Map<string, string> {
  return new Map(
    textOf(body).split("\0").filter((field) => field !== "")
      .map((field) => [field.slice(0, 1), field.slice(1)]),
  );
}

/** What messages up to a ReadyForQuery say. */
export function answerOf(messages: readonly WireMessage[]): WireAnswer {
  const columns: { name: string; oid: number }[] = [];
  const rows: (Uint8Array | null)[][] = [];
  let parameterOids: number[] = [];
  const tags: string[] = [];
  let error: ReadonlyMap<string, string> | undefined;
  for (const { code, body } of messages) {
    if (code === "T") columns.splice(0, Infinity, ...columnsOf(body));
    if (code === "D") rows.push(valuesOf(body));
    if (code === "C") tags.push(textOf(body.subarray(0, -1)));
    if (code === "E") error = fieldsOf(body);
    if (code === "t") {
      const view = viewOf(body);
      parameterOids = Array.from(
        { length: view.getInt16(0) },
        (_, at) => view.getInt32(2 + 4 * at),
      );
    }
  }
  return {
    oids: columns.map(({ oid }) => oid),
    names: columns.map(({ name }) => name),
    ...{ parameterOids, rows, tags, error },
    codes: messages.map(({ code }) => code).join(""),
  };
}

function columnsOf(body: Uint8Array): { name: string; oid: number }[] {
  const view = viewOf(body);
  let at = 2;
  return Array.from({ length: view.getInt16(0) }, () => {
    const end = body.indexOf(0, at);
    const name = textOf(body.subarray(at, end));
    const oid = view.getInt32(end + 7);
    at = end + 19;
    return { name, oid };
  });
}

function valuesOf(body: Uint8Array): (Uint8Array | null)[] {
  const view = viewOf(body);
  let at = 2;
  return Array.from({ length: view.getInt16(0) }, () => {
    const length = view.getInt32(at);
    at += 4 + Math.max(length, 0);
    return length < 0 ? null : body.slice(at - length, at);
  });
}
