/** A column of texts as what is derived of a data file sees it. */

import { utf8 } from "../base/bytes.ts";
import type { ColumnPart } from "../derived/text/collect_words.ts";

/** Rows of these texts. */
export function textPart(texts: readonly (string | null)[]): ColumnPart {
  const bytes = texts.map((text) => utf8(text ?? ""));
  const offsets = new Int32Array(texts.length + 1);
  const validity = new Uint8Array((texts.length + 7) >> 3);
  bytes.forEach(({ length }, at) => {
    offsets[at + 1] = (offsets[at] as number) + length;
    if (texts[at] !== null) validity[at >> 3] = (validity[at >> 3] as number) | 1 << (at & 7);
  });
  const values = new Uint8Array(offsets[texts.length] as number);
  bytes.forEach((one, at) => values.set(one, offsets[at]));
  const nullCount = texts.filter((text) => text === null).length;
  return { rows: texts.length, data: { validity, nullCount, offsets, values } };
}
