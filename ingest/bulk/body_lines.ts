/**
 * The lines of an NDJSON body, as text, without ever making one string of the whole body.
 *
 * The body is decoded in blocks that end at a line's end: decoding each line by itself costs more than parsing it.
 * Lines end with LF or CRLF, the last one may end with the body; lines of nothing but white space are skipped but
 * counted. A line that is not UTF-8 is given as `null`.
 */

import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";

/** Most bytes decoded at once, longer single lines aside. */
const BLOCK_BYTES_MAX = 256 * 1024;
/** After this many bytes other requests get a turn: some 15 ms of decoding. */
const TURN_BYTES = 1024 * 1024;
const LF = 10;

/** `line` counts from 1. */
export type LineVisitor = (text: string | null, line: number) => void;

/** Rejects with what `visit` throws; a body up to 1 MiB is visited without a pause. */
export async function forEachLine(body: Uint8Array, visit: LineVisitor): Promise<void> {
  let line = 1;
  let pauseAt = TURN_BYTES;
  for (let at = 0; at < body.length;) {
    const end = blockEnd(body, at);
    line = visitBlock(body.subarray(at, end), { visit, line });
    at = end;
    if (at < pauseAt || at === body.length) continue;
    await setImmediate();
    pauseAt = at + TURN_BYTES;
  }
}

/** Behind the last line end that leaves the block small enough; behind the next one when none does. */
function blockEnd(body: Uint8Array, start: number): number {
  if (body.length - start <= BLOCK_BYTES_MAX) return body.length;
  const last = body.lastIndexOf(LF, start + BLOCK_BYTES_MAX - 1);
  const end = last >= start ? last : body.indexOf(LF, start + BLOCK_BYTES_MAX);
  return end < 0 ? body.length : end + 1;
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

/** The same for a block that has a line which is not UTF-8. */
function visitBytes(block: Uint8Array, context: BlockContext): number {
  const { visit } = context;
  let { line } = context;
  for (let at = 0; at < block.length; line += 1) {
    const lineEnd = block.indexOf(LF, at);
    const end = lineEnd < 0 ? block.length : lineEnd;
    const bytes = block.subarray(at, end);
    const text = isUtf8(bytes) ? decoder.decode(bytes) : null;
    if (text === null || !isBlank(text, 0, text.length)) visit(text, line);
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
