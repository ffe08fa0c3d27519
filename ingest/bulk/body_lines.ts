/**
 * The lines of an NDJSON body, as text, while the body arrives in pieces cut anywhere.
 *
 * Whole lines are decoded together in blocks: decoding each line by itself costs more than parsing
 * it. Between pieces nothing is kept but the line that is not over yet. Lines end with LF or CRLF,
 * the last one may end with the body; lines of nothing but white space are skipped but counted. A
 * line that is not UTF-8, or too long to be kept, is given as what is wrong with it.
 */

import { isUtf8 } from "node:buffer";
import { othersTurn } from "../../shared/base/others_turn.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";

/**
 * Longest line in bytes: as long as an OTLP request may be. In bytes, because they are what
 * decoding and storing it takes: as many characters of three bytes each held all others for three
 * times as long.
 */
export const LINE_BYTES_MAX = 16 * 1024 * 1024;
/** The most bytes that are decoded without a pause, longer single lines aside. */
const BLOCK_BYTES_MAX = 32 * 1024;
/** After this many bytes other requests get a turn: some 15 ms of decoding. */
const TURN_BYTES = 1024 * 1024;
/** Or after this long, where documents take longer than their bytes let expect. */
const TURN_MS = 20;
const LF = 10;

/** What is wrong with a line, to follow "it". */
export interface LineFault {
  readonly fault: string;
}

export const NOT_UTF8: LineFault = { fault: "is not UTF-8" };

/** `line` counts from 1. */
export type LineVisitor = (text: string | LineFault, line: number) => void;

/**
 * Rejects with what `body` or `visit` throws; 1 MiB that is there and quickly done is visited
 * without a pause.
 */
export async function forEachLine(
  body: AsyncIterable<Uint8Array>,
  visit: LineVisitor,
  nowMs: () => number = () => performance.now(),
): Promise<void> {
  const cutter = new LineCutter(visit);
  let sinceTurn = 0;
  let turnMs = nowMs();
  for await (const piece of body) {
    for (let at = 0; at < piece.length; at += BLOCK_BYTES_MAX) {
      if (sinceTurn >= TURN_BYTES || nowMs() - turnMs >= TURN_MS) {
        await othersTurn();
        sinceTurn = 0;
        turnMs = nowMs();
      }
      const block = piece.subarray(at, at + BLOCK_BYTES_MAX);
      cutter.push(block);
      sinceTurn += block.length;
    }
  }
  cutter.finish();
}

class LineCutter {
  readonly #visit: LineVisitor;
  /** Number of the next line. */
  #line = 1;
  /** The line that is not over yet, and its length; of one that is too long nothing is kept. */
  readonly #partial = new ByteBuilder();
  #partialBytes = 0;

  constructor(visit: LineVisitor) {
    this.#visit = visit;
  }

  push(block: Uint8Array): void {
    const end = block.lastIndexOf(LF) + 1;
    let start = 0;
    if (end > 0 && this.#partialBytes > 0) {
      start = block.indexOf(LF) + 1;
      this.#keep(block.subarray(0, start - 1));
      this.finish();
    }
    if (start < end) this.#visitLines(block.subarray(start, end));
    if (end < block.length) this.#keep(block.subarray(end));
  }

  /** Visits what is left as a line. */
  finish(): void {
    if (this.#partialBytes > LINE_BYTES_MAX) {
      this.#visit(tooLong(this.#partialBytes), this.#line);
      this.#line += 1;
    } else this.#visitLines(this.#partial.bytes.subarray(0, this.#partial.length));
    this.#partial.clear();
    this.#partialBytes = 0;
  }

  #keep(bytes: Uint8Array): void {
    this.#partialBytes += bytes.length;
    if (this.#partialBytes <= LINE_BYTES_MAX) this.#partial.append(bytes);
    else this.#partial.clear();
  }

  #visitLines(lines: Uint8Array): void {
    this.#line = visitBlock(lines, { visit: this.#visit, line: this.#line });
  }
}

interface BlockContext {
  readonly visit: LineVisitor;
  /** Number of the block's first line. */
  readonly line: number;
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The number of the line that follows the block. */
function visitBlock(block: Uint8Array, context: BlockContext): number {
  if (!isUtf8(block)) return visitBytes(block, context);
  const { visit } = context;
  const text = decoder.decode(block);
  let { line } = context;
  for (let at = 0; at < text.length; line += 1) {
    const lineEnd = text.indexOf("\n", at);
    const end = lineEnd < 0 ? text.length : lineEnd;
    if (!isBlank(text, at, end)) visit(text.slice(at, end), line);
    at = end + 1;
  }
  return line;
}

/**
 * Visits a block that has a line which is not UTF-8. Returns the number of the line that follows
 * it.
 */
function visitBytes(block: Uint8Array, context: BlockContext): number {
  const { visit } = context;
  let { line } = context;
  for (let at = 0; at < block.length; line += 1) {
    const lineEnd = block.indexOf(LF, at);
    const end = lineEnd < 0 ? block.length : lineEnd;
    const bytes = block.subarray(at, end);
    const text = isUtf8(bytes) ? decoder.decode(bytes) : NOT_UTF8;
    if (typeof text !== "string" || !isBlank(text, 0, text.length)) visit(text, line);
    at = end + 1;
  }
  return line;
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 13 && code !== 9) return false;
  }
  return true;
}

/** The fault of a line that is longer than a line may be. */
export function tooLong(bytes: number): LineFault {
  return {
    fault: `has ${bytes} bytes, more than the ${LINE_BYTES_MAX} of the longest line: cut it`,
  };
}
