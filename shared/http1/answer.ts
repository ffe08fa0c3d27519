/**
 * An answer on its way to the client: whole where its bytes are at hand, else in pieces, each asked
 * for once the one before was taken.
 */

import { Buffer } from "node:buffer";
import type { RequestHead } from "./request_head.ts";
import type { Bytes } from "./request_body.ts";
import { statusText } from "./status_text.ts";

/** Writes bytes to the connection; it is done once the system has them. */
export type Write = (bytes: Uint8Array) => Promise<void>;

export interface AnswerOptions {
  readonly head: Pick<RequestHead, "method" | "version">;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/** An answer that says its length, and is no longer, is read whole before it is sent. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** Up to here a head and its body go out in one write. */
const JOINED_BYTES_MAX = 64 * 1024;

const LONG_CHUNK_BYTES = 16 * 1024;

/** Fields of the connection and not of the response: this server alone sets them. */
const CONNECTION_FIELDS = new Set(["connection", "keep-alive", "transfer-encoding", "upgrade"]);

const LAST_CHUNK = new TextEncoder().encode("0\r\n\r\n");

type Reader = ReadableStreamDefaultReader<Bytes>;
type Read = ReadableStreamReadResult<Bytes>;

interface Pieces {
  readonly first: Bytes;
  /** What comes behind it: asked for, perhaps still on its way. */
  readonly second: Promise<Read>;
  readonly reader: Reader;
}

/** Its source was told to stop before it was whole. */
export class AnswerCancelled extends Error {}

export class Answer {
  readonly #response: Response;
  readonly #options: AnswerOptions;
  /** The fields that the handler gave, but those of the framing. */
  readonly #fields: string;
  readonly #announced: number | undefined;
  #reader: Reader | undefined;
  #isCancelled = false;

  constructor(response: Response, options: AnswerOptions) {
    this.#response = response;
    this.#options = options;
    let fields = "";
    let announced: number | undefined;
    let hasDate = false;
    response.headers.forEach((value, name) => {
      if (name === "content-length") announced = lengthOf(value);
      else if (!CONNECTION_FIELDS.has(name)) fields += `${name}: ${value}\r\n`;
      hasDate ||= name === "date";
    });
    this.#fields = hasDate ? fields : `${fields}date: ${dateOf(options.nowMs())}\r\n`;
    this.#announced = announced;
  }

  /**
   * Sends it; whether another request may follow. Errors: those of the body's source, and those of
   * `write`. What went out before is then no whole answer: the connection must be cut.
   */
  async send(write: Write): Promise<boolean> {
    const { keepsAlive } = this.#options;
    const body = this.#response.body === null ? undefined : await this.#body();
    if (body === undefined) {
      await write(this.#head(this.#lengthWithoutBody(), keepsAlive));
      return keepsAlive;
    }
    if (!(body instanceof Uint8Array)) return await this.#sendPieces(body, write);
    const head = this.#head(`content-length: ${body.byteLength}\r\n`, keepsAlive);
    if (head.byteLength + body.byteLength <= JOINED_BYTES_MAX) {
      await write(joined(head, body));
    } else {
      await write(head);
      await write(body);
    }
    return keepsAlive;
  }

  /** Cancels the source, because nobody reads the response any more. */
  cancel(reason: unknown): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    const { body } = this.#response;
    const ending = this.#reader?.cancel(reason) ??
      (body === null || body.locked ? undefined : body.cancel(reason));
    ending?.catch(() => {});
  }

  /** HEAD gets the length that GET would have, where it is known. */
  #lengthWithoutBody(): string {
    const { status } = this.#response;
    if (status === 204 || status === 304) return "";
    if (this.#options.head.method !== "HEAD") return "content-length: 0\r\n";
    return this.#announced === undefined ? "" : `content-length: ${this.#announced}\r\n`;
  }

  /** Undefined: there is none. */
  async #body(): Promise<Bytes | Pieces | undefined> {
    const { status } = this.#response;
    if (this.#options.head.method === "HEAD" || status === 204 || status === 304) {
      await this.#response.body?.cancel();
      return undefined;
    }
    // Bytes that are at hand are had without the stream that `body` would make of them.
    if (this.#announced !== undefined && this.#announced <= WHOLE_BYTES_MAX) {
      return await this.#response.bytes();
    }
    const reader = this.#reader = this.#response.body?.getReader() as Reader | undefined;
    if (reader === undefined) return undefined;
    const { done, value: first } = await reader.read();
    // A source that is cancelled ends as one that is through.
    if (done && this.#isCancelled) throw new AnswerCancelled();
    if (done) return new Uint8Array(0);
    const second = reader.read();
    // A body that is a text or bytes is over behind its first piece, which shows at once. A failure
    // is seen where it is waited for.
    const next = await Promise.race([second, undefined]).catch(() => undefined);
    if (next?.done !== true) return { first, second, reader };
    if (this.#isCancelled) throw new AnswerCancelled();
    return first;
  }

  async #sendPieces({ first, second, reader }: Pieces, write: Write): Promise<boolean> {
    const announced = this.#announced;
    const isChunked = announced === undefined && this.#options.head.version === "1.1";
    const keepsAlive = this.#options.keepsAlive && (isChunked || announced !== undefined);
    const framing = isChunked
      ? "transfer-encoding: chunked\r\n"
      : announced === undefined
      ? ""
      : `content-length: ${announced}\r\n`;
    const head = this.#head(framing, keepsAlive);
    const chunks = new Chunks();
    await write(joined(head, isChunked ? chunks.of(first) : first));
    let sent = first.byteLength;
    for (let next = await second; !next.done; next = await reader.read()) {
      sent += next.value.byteLength;
      if (announced !== undefined && sent > announced) return false;
      if (next.value.byteLength > 0) await write(isChunked ? chunks.of(next.value) : next.value);
    }
    if (this.#isCancelled) return false;
    if (isChunked) await write(LAST_CHUNK);
    return keepsAlive && (announced ?? sent) === sent;
  }

  #head(framing: string, keepsAlive: boolean): Bytes {
    const { status, statusText: text } = this.#response;
    const connection = !keepsAlive
      ? "connection: close\r\n"
      : this.#options.head.version === "1.0"
      ? "connection: keep-alive\r\n"
      : "";
    return latin1(
      `HTTP/1.1 ${status} ${
        text || statusText(status)
      }\r\n${this.#fields}${connection}${framing}\r\n`,
    );
  }
}

function lengthOf(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * Pieces of a body as chunks. Long ones lie in the same memory one after the other: memory that is
 * new for each costs more than the copy.
 */
class Chunks {
  #room = new Uint8Array(0);

  /** It is to be written before the next one is made. */
  of(bytes: Bytes): Bytes {
    if (bytes.byteLength === 0) return bytes;
    const size = latin1(`${bytes.byteLength.toString(16)}\r\n`);
    const whole = this.#roomFor(size.byteLength + bytes.byteLength + 2);
    whole.set(size);
    whole.set(bytes, size.byteLength);
    whole.set([0x0d, 0x0a], size.byteLength + bytes.byteLength);
    return whole;
  }

  #roomFor(byteLength: number): Bytes {
    // An answer that goes on for long with short pieces holds nothing.
    if (byteLength < LONG_CHUNK_BYTES) return new Uint8Array(byteLength);
    if (this.#room.byteLength < byteLength) this.#room = new Uint8Array(byteLength);
    return this.#room.subarray(0, byteLength);
  }
}

function joined(head: Bytes, body: Bytes): Bytes {
  const whole = new Uint8Array(head.byteLength + body.byteLength);
  whole.set(head);
  whole.set(body, head.byteLength);
  return whole;
}

/** One byte a character: what `Headers` lets through. */
function latin1(text: string): Bytes {
  return Buffer.from(text, "latin1");
}

let dateText = "";
let dateMs = -Infinity;

/** The field `Date`, made once a second. */
function dateOf(nowMs: number): string {
  if (nowMs - dateMs >= 1_000) {
    dateText = new Date().toUTCString();
    dateMs = nowMs;
  }
  return dateText;
}
