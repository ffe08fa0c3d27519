/** Holds column chunks of one data file against the sums of its footer, once. */

import { crc32 } from "../../../base/bytes.ts";
import { damagedFile } from "../../../base/damaged_file.ts";
import type { SummedGroup } from "../../../parquet/sums.ts";
import { type CheckedPlace, damageOf } from "../../../parquet/summed_places.ts";
import type { Column } from "../../../schema/schema.ts";
import type { ReadSteps } from "../../../storage/read_steps.ts";
import { SUM_BLOCK_BYTES, sumSteps } from "../../../storage/sum_of_range.ts";
import type { RowRange } from "../../plan/plan.ts";
import type { VerifiedColumns } from "./verified_columns.ts";

/** What a scan wants of one data file. */
export interface WantedChunks {
  readonly columns: readonly Column[];
  readonly rows: RowRange;
}

/** The file, its row groups with their sums, and what was verified of it. */
export interface VerifiedFile {
  readonly key: string;
  readonly groups: readonly SummedGroup[];
  readonly verified: VerifiedColumns;
}

/** Chunks so near to each other are read at once: a read takes as long as so many bytes. */
const GAP_BYTES_MAX = 32 * 1024;

/**
 * Verifies what is wanted and was not verified yet, and remembers it. A chunk without a sum counts
 * as verified: nobody can say more of it. Errors: `damaged_file`.
 */
export function* verifyChunks(file: VerifiedFile, wanted: WantedChunks): ReadSteps<void> {
  const places: CheckedPlace[] = [];
  const found: { readonly fieldId: number; readonly rows: RowRange }[] = [];
  file.groups.forEach((group, at) => {
    const rows = { first: group.firstRow, end: group.firstRow + group.rows };
    if (rows.first >= wanted.rows.end || rows.end <= wanted.rows.first) return;
    for (const { id, name } of wanted.columns) {
      if (file.verified.holds(id, rows)) continue;
      found.push({ fieldId: id, rows });
      const chunk = group.chunk(id);
      const what = `the chunk of column ${name} of row group ${at}`;
      if (chunk !== undefined) places.push({ ...chunk, what });
    }
  });
  for (const run of runsOf(places)) yield* checkRun(file, run);
  for (const { fieldId, rows } of found) file.verified.add(fieldId, rows);
}

/** Places near to each other, in runs that are one block of bytes, or one place. */
function runsOf(places: readonly CheckedPlace[]): CheckedPlace[][] {
  const runs: CheckedPlace[][] = [];
  let [start, end] = [-Infinity, -Infinity];
  for (const place of places.toSorted((a, b) => a.offset - b.offset)) {
    const placeEnd = place.offset + place.byteLength;
    if (place.offset - end <= GAP_BYTES_MAX && placeEnd - start <= SUM_BLOCK_BYTES) {
      runs.at(-1)?.push(place);
    } else {
      runs.push([place]);
      start = place.offset;
    }
    end = placeEnd;
  }
  return runs;
}

function* checkRun({ key }: VerifiedFile, run: readonly CheckedPlace[]): ReadSteps<void> {
  const [first] = run;
  const last = run.at(-1);
  if (first === undefined || last === undefined) return;
  if (first.byteLength > SUM_BLOCK_BYTES) {
    const { sum, byteLength } = yield* sumSteps(first);
    if (sum !== first.sum || byteLength !== first.byteLength) {
      throw damagedFile(key, damageOf(first));
    }
    return;
  }
  const length = last.offset + last.byteLength - first.offset;
  const bytes = yield { offset: first.offset, length };
  for (const place of run) {
    const from = place.offset - first.offset;
    const own = bytes.subarray(from, from + place.byteLength);
    if (own.byteLength === place.byteLength && crc32(own) === place.sum) continue;
    throw damagedFile(key, damageOf(place));
  }
}
