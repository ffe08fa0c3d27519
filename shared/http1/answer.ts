/**
 * An answer on its way to the client: whole where its bytes are at hand, else in pieces, each asked
 * for once the one before was taken. A server that compresses sends it in gzip where the client
 * wants that.
 */

import { Buffer } from "node:buffer";
import { concatBytes } from "../base/bytes.ts";
import { GZIP_PIECE_BYTES_MAX, GzipPieces, gzipWhole } from "./gzip_pieces.ts";
import { IncomingHeaders } from "./incoming_headers.ts";
import type { RequestHead } from "./request_head.ts";
import type { Bytes } from "./request_body.ts";
import { statusText } from "./status_text.ts";
import { type WantedCoding, wantedCoding } from "./wanted_coding.ts";

/** Writes bytes to the connection; it is done once the system has them. */
export type Write = (bytes: Uint8Array) => Promise<void>;

export interface AnswerOptions {
  readonly head: Pick<RequestHead, "method" | "version" | "fields">;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /** Monotonic. */
  readonly nowMs: () => number;
  /** Compresses what the client takes so; otherwise answers go out as the handler made them. */
  readonly compresses: boolean;
}

/** An answer that says its length, and is no longer, is read whole before it is sent. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** Up to here a head and its body go out in one write. */
const JOINED_BYTES_MAX = 64 * 1024;

const LONG_CHUNK_BYTES = 16 * 1024;

/** A shorter answer and its head are one packet either way. */
const GZIP_BYTES_MIN = 1_024;
/** What is text, or columns as they lie in memory. Parquet and pictures are compressed already. */
const GZIP_TYPES =
  /^(?:text\/|application\/(?:json|x-ndjson|vnd\.apache\.arrow\.stream|openmetrics-text)\b)/;
/**
 * Answers that have one of these stay as they are. They are coded already, or a part of a whole. A
 * validator would name two different texts (RFC 9110, section 8.8.3.3).
 */
const PLAIN_FIELDS = new Set(["content-encoding", "content-range", "etag"]);
const GZIP_FIELD = "content-encoding: gzip\r\n";

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
  readonly #wanted: WantedCoding;
  #reader: Reader | undefined;
  #isCancelled = false;

  constructor(response: Response, options: AnswerOptions) {
    this.#response = response;
    this.#options = options;
    let fields = "";
    let announced: number | undefined;
    let hasDate = false;
    let isText = false;
    let isFixed = !options.compresses;
    response.headers.forEach((value, name) => {
      if (name === "content-length") announced = lengthOf(value);
      else if (!CONNECTION_FIELDS.has(name)) fields += `${name}: ${value}\r\n`;
      hasDate ||= name === "date";
      isText ||= name === "content-type" && GZIP_TYPES.test(value);
      isFixed ||= PLAIN_FIELDS.has(name);
    });
    const isVaried = isText && !isFixed;
    if (isVaried) fields += "vary: accept-encoding\r\n";
    this.#fields = hasDate ? fields : `${fields}date: ${dateOf(options.nowMs())}\r\n`;
    this.#announced = announced;
    this.#wanted = isVaried
      ? wantedCoding(new IncomingHeaders(options.head.fields).get("accept-encoding"))
      : "plain";
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
    const isWhole = body instanceof Uint8Array;
    const isGzip = this.#isGzip(isWhole ? body.byteLength : Infinity);
    if (isGzip && !(isWhole && body.byteLength <= GZIP_PIECE_BYTES_MAX)) {
      return await this.#sendGzip(body, write);
    }
    if (!isWhole) return await this.#sendPieces(body, write);
    if (isGzip) await this.#sendWhole(gzipWhole(body), write, GZIP_FIELD);
    else await this.#sendWhole(body, write);
    return keepsAlive;
  }

  async #sendWhole(body: Bytes, write: Write, fields = ""): Promise<void> {
    const length = `${fields}content-length: ${body.byteLength}\r\n`;
    const head = this.#head(length, this.#options.keepsAlive);
    if (head.byteLength + body.byteLength <= JOINED_BYTES_MAX) {
      await write(concatBytes([head, body]));
    } else {
      await write(head);
      await write(body);
    }
  }

  #isGzip(bytes: number): boolean {
    return this.#wanted === "gzip_alone" || this.#wanted === "gzip" && bytes >= GZIP_BYTES_MIN;
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
    // Nobody knows how long it would be in gzip.
    if (this.#announced === undefined || this.#isGzip(this.#announced)) return "";
    return `content-length: ${this.#announced}\r\n`;
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
    await write(concatBytes([head, isChunked ? chunks.of(first) : first]));
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

  /** In pieces whose length nobody knows before they are made. */
  async #sendGzip(body: Bytes | Pieces, write: Write): Promise<boolean> {
    const isChunked = this.#options.head.version === "1.1";
    const keepsAlive = this.#options.keepsAlive && isChunked;
    const framing = isChunked ? "transfer-encoding: chunked\r\n" : "";
    const chunks = new Chunks();
    let head: Bytes | undefined = this.#head(GZIP_FIELD + framing, keepsAlive);
    for await (const piece of this.#gzipPieces(body)) {
      const bytes = isChunked ? chunks.of(piece) : piece;
      await write(head === undefined ? bytes : concatBytes([head, bytes]));
      head = undefined;
    }
    if (isChunked) await write(LAST_CHUNK);
    return keepsAlive;
  }

  /** The source is asked for more once what it gave was taken. */
  async *#gzipPieces(body: Bytes | Pieces): AsyncGenerator<Uint8Array> {
    const { first, second, reader } = body instanceof Uint8Array ? { first: body } : body;
    const pieces = new GzipPieces();
    let taken = first.byteLength;
    yield* pieces.of(first);
    for (let next = await second; next?.done === false; next = await reader?.read()) {
      taken += next.value.byteLength;
      yield* pieces.of(next.value);
    }
    if (this.#isCancelled) throw new AnswerCancelled();
    if (taken !== (this.#announced ?? taken)) {
      throw new Error(`the answer announced ${this.#announced} bytes and had ${taken}`);
    }
    yield pieces.end();
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
  of(bytes: Uint8Array): Uint8Array {
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
