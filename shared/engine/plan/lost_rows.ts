/** Rows that were acknowledged and cannot be read any more: an answer without them says so. */

import { counted } from "../../base/counted.ts";
import type { SetAside } from "../../wal/types.ts";

/** What of a table's WAL is damaged. */
export interface LostRows {
  /** Segments that have damaged bytes, or are damaged as a whole. */
  readonly segments: number;
  /** Bytes that cannot be read. */
  readonly bytes: number;
  /** Rows that lay there; undefined: not known of all of them. */
  readonly rows: number | undefined;
}

/** The sum of some; undefined: nothing is lost. */
export function sumOfLost(all: readonly (LostRows | undefined)[]): LostRows | undefined {
  let sum: LostRows | undefined;
  for (const one of all) {
    if (one === undefined) continue;
    sum = sum === undefined ? one : {
      segments: sum.segments + one.segments,
      bytes: sum.bytes + one.bytes,
      rows: sum.rows === undefined || one.rows === undefined ? undefined : sum.rows + one.rows,
    };
  }
  return sum;
}

/**
 * What was set aside of a lane, without segments that are read where they are, and without those of
 * a table that was dropped since.
 */
export function lostAside(
  setAside: readonly SetAside[],
  { pending, epoch }: { readonly pending: readonly string[]; readonly epoch: number },
): LostRows | undefined {
  return sumOfLost(
    setAside
      .filter((one) => !pending.includes(one.name) && (one.epoch ?? epoch) >= epoch)
      .map(({ bytes, rows }) => ({ segments: 1, bytes, rows })),
  );
}

/** What the caller is told of it. */
export function lostWarning(table: string, { segments, bytes, rows }: LostRows): string {
  const what = rows === undefined ? "an unknown number of rows" : counted(rows, "row");
  const are = rows === 1 ? "is" : "are";
  return `${table}: ${what} of the WAL ${are} damaged and missing in this answer ` +
    `(${counted(bytes, "byte")} of ${counted(segments, "segment")}); svc wal-check says where`;
}
