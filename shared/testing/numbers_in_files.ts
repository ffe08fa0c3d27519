/** What data files of numbered rows hold, read by a reader that is not ours. */

import { parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import type { ReadableStore } from "../storage/object_store.ts";

/** The numbers in column `raw` of the files, ascending. */
export async function numbersIn(
  store: Pick<ReadableStore, "get">,
  keys: readonly string[],
): Promise<number[]> {
  const numbers: number[] = [];
  for (const key of keys) {
    const file = (await store.get(key)).buffer;
    const rows = await parquetReadObjects({ file, compressors, columns: ["raw"] });
    numbers.push(...rows.map((row) => Number(row.raw)));
  }
  return numbers.sort((a, b) => a - b);
}
