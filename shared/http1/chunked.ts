/**
 * A body in chunks, RFC 9112 section 7.1, read strictly: sizes in hexadecimal digits, lines that
 * end in CR LF. Extensions and trailers are dropped, and bounded.
 */

import { HTTP1_LIMITS } from "./limits.ts";
import { malformed } from "./refusal.ts";

const LF = 0x0a;
const CR = 0x0d;
const TOKEN = String.raw`[!#$%&'*+\-.^_\`|~0-9A-Za-z]+`;
const QUOTED = String.raw`"(?:[\t !#-\[\]-~]|\\[\t -~])*"`;
const SIZE_LINE = new RegExp(
  String.raw`^([0-9A-Fa-f]{1,12})(?:;${TOKEN}(?:=(?:${TOKEN}|${QUOTED}))?)*$`,
);
const TRAILER_LINE = new RegExp(String.raw`^(${TOKEN}):[\t\x20-\x7e\x80-\xff]*$`);
/** They would say where the body ends, behind its end. */
const FRAMING_FIELDS = new Set(["content-length", "transfer-encoding"]);

type State = "size" | "data" | "data_end" | "trailers" | "ended";

export class ChunkedDecoder {
  #state: State = "size";
  /** The bytes still missing of the chunk that is being read. */
  #left = 0;
  #dataBytes = 0;
  #framingBytes = 0;

  get hasEnded(): boolean {
    return this.#state === "ended";
  }

  /**
   * Takes what it can of `bytes` and hands the data in it to `give`; how many bytes it took. Fewer
   * than all: the rest is part of a line whose end must be there the next time, or follows the
   * body. Errors: a `Refusal` for what is no chunk.
   */
  decode(bytes: Uint8Array, give: (data: Uint8Array) => void): number {
    let at = 0;
    while (this.#state !== "ended") {
      if (this.#state === "data") {
        const data = bytes.subarray(at, at + this.#left);
        if (data.byteLength === 0) return at;
        give(data);
        at += data.byteLength;
        this.#dataBytes += data.byteLength;
        this.#left -= data.byteLength;
        if (this.#left > 0) return at;
        this.#state = "data_end";
      }
      const lineEnd = bytes.indexOf(LF, at);
      if (lineEnd < 0) {
        requireShort(bytes.byteLength - at);
        return at;
      }
      if (lineEnd === at || bytes[lineEnd - 1] !== CR) {
        throw malformed("a chunk's line ends in LF alone");
      }
      requireShort(lineEnd - at);
      this.#countFraming(lineEnd + 1 - at);
      this.#takeLine(String.fromCharCode(...bytes.subarray(at, lineEnd - 1)));
      at = lineEnd + 1;
    }
    return at;
  }

  #takeLine(line: string): void {
    if (this.#state === "data_end") {
      if (line !== "") throw malformed("a chunk is longer than its size");
      this.#state = "size";
    } else if (this.#state === "size") {
      const size = SIZE_LINE.exec(line)?.[1];
      if (size === undefined) throw malformed("the size of a chunk is no number");
      this.#left = parseInt(size, 16);
      this.#state = this.#left === 0 ? "trailers" : "data";
    } else if (line === "") this.#state = "ended";
    else this.#requireTrailer(line);
  }

  #requireTrailer(line: string): void {
    const name = TRAILER_LINE.exec(line)?.[1];
    if (name === undefined || FRAMING_FIELDS.has(name.toLowerCase())) {
      throw malformed("a trailer is no header field, or one of the framing");
    }
  }

  /**
   * A sender of one byte a chunk, or of extensions without end, makes us read more than it brings.
   */
  #countFraming(bytes: number): void {
    this.#framingBytes += bytes;
    if (this.#framingBytes <= HTTP1_LIMITS.chunkOverheadBytes + 16 * this.#dataBytes) return;
    throw malformed("its chunks are mostly framing");
  }
}

function requireShort(bytes: number): void {
  if (bytes > HTTP1_LIMITS.chunkLineBytesMax) throw malformed("a chunk's line is too long");
}
