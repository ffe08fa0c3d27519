/** The words of some rows of a file as a column chunk: its dictionary is there already. */

import { utf8 } from "../../base/bytes.ts";
import type { WordsColumn } from "../../schema/row_words.ts";
import type { ChunkSource } from "./column_chunk.ts";

/** Rows of a file. */
interface Rows {
  readonly from: number;
  readonly to: number;
}

/** What a chunk of these rows is made of. */
export function wordsChunk({ ids, sets }: WordsColumn, { from, to }: Rows): ChunkSource {
  const own = new Int32Array(to - from);
  const validity = new Uint8Array(Math.ceil((to - from) / 8));
  /** By set: one more than its place in the chunk's dictionary. */
  const placeOf = new Uint32Array(sets.length);
  const used: string[] = [];
  let count = 0;
  for (let row = from; row < to; row += 1) {
    const id = ids[row] as number;
    if (id === 0) continue;
    const byte = (row - from) >> 3;
    validity[byte] = (validity[byte] as number) | 1 << ((row - from) & 7);
    const place = placeOf[id - 1] || (placeOf[id - 1] = used.push(sets[id - 1] as string));
    own[count++] = place - 1;
  }
  const nullCount = to - from - count;
  return {
    data: {
      nullCount,
      validity: nullCount === 0 ? null : validity,
      offsets: null,
      values: new Uint8Array(),
    },
    values: textValues(used),
    dictionary: {
      ids: own.subarray(0, count),
      firsts: Int32Array.from(used, (_, place) => place),
    },
  };
}

function textValues(texts: readonly string[]): ChunkSource["values"] {
  const all = texts.map(utf8);
  const offsets = new Int32Array(texts.length + 1);
  all.forEach((text, at) => offsets[at + 1] = (offsets[at] as number) + text.byteLength);
  const bytes = new Uint8Array(offsets[texts.length] as number);
  all.forEach((text, at) => bytes.set(text, offsets[at]));
  return { type: "string", count: texts.length, bytes, offsets, width: 0 };
}
