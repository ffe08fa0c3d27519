/**
 * Messages to a client. They are gathered and sent together, at the latest when a session waits for
 * its client. Source: https://www.postgresql.org/docs/current/protocol-message-formats.html
 */

import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { WRITE_BYTES } from "../limits.ts";
import type { PgErrorFields } from "../sqlstate.ts";
import type { WantedColumn } from "./data_rows.ts";
import type { Transport } from "./transport.ts";

/** A column as a RowDescription tells it. */
export interface ToldColumn extends WantedColumn {
  readonly name: string;
}

export type TransactionStatus = "I" | "T" | "E";

/** The client is gone: nothing can be told it, and nothing is wrong here. */
export class ConnectionLost extends Error {}

export class MessageWriter {
  #out: ByteBuilder | undefined;
  #transport: Transport;

  /** A client that takes nothing of a write for `stallMsMax` is cut off. */
  constructor(transport: Transport, private readonly stallMsMax: number) {
    this.#transport = transport;
  }

  upgrade(transport: Transport): void {
    this.#transport = transport;
  }

  /** Whether so much was gathered that it should be sent. */
  get isFull(): boolean {
    return (this.#out?.length ?? 0) >= WRITE_BYTES;
  }

  /** Sends what was gathered. An idle session keeps no buffer. */
  async flush(): Promise<void> {
    const out = this.#out;
    if (out === undefined || out.length === 0) return;
    this.#out = undefined;
    await this.#write(out.bytes.subarray(0, out.length));
  }

  /** Sends whole messages behind what was gathered. */
  async send(messages: Uint8Array): Promise<void> {
    if (messages.byteLength < WRITE_BYTES) {
      this.#buffer.append(messages);
      if (this.#buffer.length >= WRITE_BYTES) await this.flush();
      return;
    }
    await this.flush();
    for (let at = 0; at < messages.byteLength; at += PIECE_BYTES) {
      await this.#write(messages.subarray(at, at + PIECE_BYTES));
    }
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const transport = this.#transport;
    const timer = setTimeout(() => transport.close(), this.stallMsMax);
    try {
      await transport.write(bytes);
    } catch (cause) {
      throw new ConnectionLost("the client left amid an answer", { cause });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Answers a request for encryption. */
  async sendByte(letter: "S" | "N"): Promise<void> {
    await this.#write(Uint8Array.of(letter.charCodeAt(0)));
  }

  authenticationOk(): void {
    this.#message("R", (out) => int32(out, 0));
  }

  authenticationCleartextPassword(): void {
    this.#message("R", (out) => int32(out, 3));
  }

  parameterStatus(name: string, value: string): void {
    this.#message("S", (out) => {
      text(out, name);
      text(out, value);
    });
  }

  backendKeyData(processId: number, secret: Uint8Array): void {
    this.#message("K", (out) => {
      int32(out, processId);
      out.append(secret);
    });
  }

  negotiateProtocolVersion(version: number, options: readonly string[]): void {
    this.#message("v", (out) => {
      int32(out, version);
      int32(out, options.length);
      for (const option of options) text(out, option);
    });
  }

  readyForQuery(status: TransactionStatus): void {
    this.#message("Z", (out) => out.byte(status.charCodeAt(0)));
  }

  rowDescription(columns: readonly ToldColumn[]): void {
    this.#message("T", (out) => {
      int16(out, columns.length);
      for (const { name, type, format } of columns) {
        text(out, name);
        int32(out, 0);
        int16(out, 0);
        int32(out, type.oid);
        int16(out, type.size);
        int32(out, type.typmod);
        int16(out, format);
      }
    });
  }

  parameterDescription(oids: readonly number[]): void {
    this.#message("t", (out) => {
      int16(out, oids.length);
      for (const oid of oids) int32(out, oid);
    });
  }

  /** A row whose values are written already. */
  dataRow(values: readonly (Uint8Array | null)[]): void {
    this.#message("D", (out) => {
      int16(out, values.length);
      for (const value of values) {
        int32(out, value === null ? -1 : value.byteLength);
        if (value !== null) out.append(value);
      }
    });
  }

  commandComplete(tag: string): void {
    this.#message("C", (out) => text(out, tag));
  }

  copyOutResponse(isBinary: boolean, columns: number): void {
    this.#message("H", (out) => {
      out.byte(isBinary ? 1 : 0);
      int16(out, columns);
      for (let at = 0; at < columns; at += 1) int16(out, isBinary ? 1 : 0);
    });
  }

  copyData(...parts: readonly Uint8Array[]): void {
    this.#message("d", (out) => parts.forEach((part) => out.append(part)));
  }

  /** Begins the first of some CopyData messages with `lead`. Returns what is left to send. */
  leadCopyData(lead: Uint8Array, messages: Uint8Array): Uint8Array {
    const { buffer, byteOffset, byteLength } = messages;
    const bytes = new DataView(buffer, byteOffset, byteLength).getInt32(CODE_BYTES);
    const out = this.#buffer;
    out.append(messages.subarray(0, CODE_BYTES));
    int32(out, bytes + lead.byteLength);
    out.append(lead);
    return messages.subarray(CODE_BYTES + LENGTH_BYTES);
  }

  error(fields: PgErrorFields): void {
    const { severity, sqlstate, message, detail, hint, position, routine } = fields;
    this.#report("E", {
      S: severity,
      V: severity,
      C: sqlstate,
      M: message,
      ...(detail === undefined ? {} : { D: detail }),
      ...(hint === undefined ? {} : { H: hint }),
      ...(position === undefined ? {} : { P: String(position) }),
      ...(routine === undefined ? {} : { R: routine }),
    });
  }

  notice(
    { severity, sqlstate, message }: {
      readonly severity: string;
      readonly sqlstate: string;
      readonly message: string;
    },
  ): void {
    this.#report("N", { S: severity, V: severity, C: sqlstate, M: message });
  }

  /** Messages of a code alone: ParseComplete, BindComplete, … */
  plain(code: "1" | "2" | "3" | "c" | "I" | "n" | "s"): void {
    this.#message(code, () => {});
  }

  get #buffer(): ByteBuilder {
    return this.#out ??= new ByteBuilder(INITIAL_BYTES);
  }

  #report(code: "E" | "N", fields: Readonly<Record<string, string>>): void {
    this.#message(code, (out) => {
      for (const [field, value] of Object.entries(fields)) {
        out.byte(field.charCodeAt(0));
        text(out, value);
      }
      out.byte(0);
    });
  }

  #message(code: string, write: (out: ByteBuilder) => void): void {
    const out = this.#buffer;
    out.byte(code.charCodeAt(0));
    const at = out.length;
    int32(out, 0);
    write(out);
    out.view.setInt32(at, out.length - at);
  }
}

const INITIAL_BYTES = 512;
const CODE_BYTES = 1;
const LENGTH_BYTES = 4;
/** A client that takes less than this of a write stalls. */
const PIECE_BYTES = 262_144;

function int16(out: ByteBuilder, value: number): void {
  out.reserve(2);
  out.view.setInt16(out.length, value);
  out.length += 2;
}

function int32(out: ByteBuilder, value: number): void {
  out.reserve(4);
  out.view.setInt32(out.length, value);
  out.length += 4;
}

/** A zero would end it early. */
function text(out: ByteBuilder, value: string): void {
  out.text(value.replaceAll("\0", "�"));
  out.byte(0);
}
