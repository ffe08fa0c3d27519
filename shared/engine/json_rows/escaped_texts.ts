/** Texts as JSON has them between its quotes, as DuckDB's writer escapes them. */

import { utf8, viewOf } from "../../base/bytes.ts";
import type { PageTexts } from "../../parquet/reader/column_pages.ts";
import { CODE_BYTES, CONTROLS, escapeCode, MEMORY_BYTES, SPREAD } from "./escape_code.ts";

/** The most bytes that a byte becomes. */
export const ESCAPED_BYTES_MAX = 6;
/** Texts of one call. */
const COUNT_MAX = 256;
/** What is read, and written, behind texts. */
const BEHIND = 16;
const OFFSETS_AT = CODE_BYTES;
const SOURCE_AT = OFFSETS_AT + 4 * (COUNT_MAX + 1);
/** Bytes of one call. */
const SOURCE_BYTES = Math.floor((MEMORY_BYTES - SOURCE_AT - 2 * BEHIND) / (1 + ESCAPED_BYTES_MAX));
const TARGET_AT = SOURCE_AT + SOURCE_BYTES + BEHIND;

const BACKSLASH = 0x5c;
const LETTERS: Readonly<Record<number, string>> = { 8: "b", 9: "t", 10: "n", 12: "f", 13: "r" };

/** What is made of some texts of a page, until the next call. */
export class EscapedTexts {
  /** Places of the first text, and behind the last. */
  first = 0;
  end = 0;
  bytes = new Uint8Array(1024);
  view = viewOf(this.bytes);
  /** Where the text of each place from `first` on ends. */
  readonly ends = new Int32Array(COUNT_MAX);

  /**
   * Escapes the text of `place` and others near it: those before it, if `isBefore`, else those
   * behind it. Texts lie one after another.
   */
  around(
    place: number,
    { bytes, starts, ends, count, isBefore }: PageTexts & { readonly isBefore: boolean },
  ): void {
    let [first, end] = [place, place + 1];
    const step = isBefore ? -1 : 1;
    for (let next = place + step; next >= 0 && next < count; next += step) {
      const [low, high] = isBefore ? [next, end] : [first, next + 1];
      const length = (ends[high - 1] as number) - (starts[low] as number);
      if (high - low > COUNT_MAX || length > SOURCE_BYTES) break;
      [first, end] = [low, high];
    }
    [this.first, this.end] = [first, end];
    const begin = starts[first] as number;
    const length = (ends[end - 1] as number) - begin;
    if (length > SOURCE_BYTES) return this.one(bytes.subarray(begin, begin + length));
    const { code, memory, offsets } = machine();
    for (let at = first; at < end; at += 1) offsets[at - first] = (starts[at] as number) - begin;
    offsets[end - first] = length;
    memory.set(bytes.subarray(begin, begin + length), SOURCE_AT);
    code.escape(OFFSETS_AT, end - first, SOURCE_AT, TARGET_AT);
    this.ends.set(offsets.subarray(0, end - first));
    this.#take(0, this.ends[end - first - 1] as number);
  }

  /** Escapes one text, of whatever length. */
  one(text: Uint8Array): void {
    const { code, memory, offsets } = machine();
    let at = 0;
    for (let from = 0; from < text.length; from += SOURCE_BYTES) {
      const part = text.subarray(from, from + SOURCE_BYTES);
      [offsets[0], offsets[1]] = [0, part.length];
      memory.set(part, SOURCE_AT);
      code.escape(OFFSETS_AT, 1, SOURCE_AT, TARGET_AT);
      const length = offsets[0] as number;
      this.#take(at, length);
      at += length;
    }
    this.ends[0] = at;
  }

  /** Takes over what was made, behind `at`. */
  #take(at: number, length: number): void {
    if (this.bytes.length < at + length + BEHIND) {
      const larger = new Uint8Array(2 * (at + length) + BEHIND);
      larger.set(this.bytes.subarray(0, at));
      this.bytes = larger;
      this.view = viewOf(larger);
    }
    this.bytes.set(machine().memory.subarray(TARGET_AT, TARGET_AT + length), at);
  }
}

interface Machine {
  readonly code: ReturnType<typeof escapeCode>;
  readonly memory: Uint8Array<ArrayBuffer>;
  readonly offsets: Int32Array<ArrayBuffer>;
}

let made: Machine | undefined;

function machine(): Machine {
  return made ??= makeMachine();
}

function makeMachine(): Machine {
  const code = escapeCode();
  const buffer = code.memory.buffer as ArrayBuffer;
  const memory = new Uint8Array(buffer);
  for (let bits = 0; bits < 256; bits += 1) {
    const spread = memory.subarray(SPREAD + 32 * bits, SPREAD + 32 * (bits + 1));
    let to = 0;
    for (let byte = 0; byte < 8; byte += 1) {
      if ((bits >> byte & 1) === 1) {
        // No byte goes there, so that the backslash can.
        spread[to] = 0x80;
        spread[16 + to] = BACKSLASH;
        to += 1;
      }
      spread[to] = byte;
      to += 1;
    }
  }
  for (let byte = 0; byte < 0x20; byte += 1) {
    const text = utf8(
      `\\${LETTERS[byte] ?? `u${byte.toString(16).toUpperCase().padStart(4, "0")}`}`,
    );
    memory.set(text, CONTROLS + 8 * byte);
    memory[CONTROLS + 8 * byte + 7] = text.length;
  }
  return { code, memory, offsets: new Int32Array(buffer, OFFSETS_AT, COUNT_MAX + 1) };
}
