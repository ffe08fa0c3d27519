/** The files of a shard among those of its snapshot. */

import { OperatingError } from "../../base/errors.ts";
import { NS_PER_DAY } from "../../base/time.ts";
import { dayOfKey } from "../../iceberg/locations.ts";
import { ALL_TIME, type DataFile, type TimeRange } from "../../iceberg/types.ts";
import type { RowRange, TablePlan } from "../plan/plan.ts";
import type { Shard } from "./shard.ts";

/** Reason of the error for a shard whose files this server does not find. */
export const PIN_UNRESOLVED = "shard_pin_unresolved";

/**
 * What a table's plan has of a shard's committed rows. `live` gives the files of the snapshot that
 * can have rows in a range of time. Errors: `unavailable` (`shard_pin_unresolved`) when a file of
 * the shard is not among them: rows would be missing.
 */
export async function shardRows(
  { files: wanted }: Shard,
  live: (range: TimeRange) => Promise<readonly DataFile[]>,
): Promise<Pick<TablePlan, "committed" | "files" | "considered" | "cuts">> {
  const keys = new Set(wanted.map(({ key }) => key));
  const among = async (range: TimeRange) => (await live(range)).filter(({ key }) => keys.has(key));
  let files = keys.size === 0 ? [] : await among(daysOf(keys));
  // Another engine may call a file after another day than that of its rows.
  if (files.length !== keys.size) files = await among(ALL_TIME);
  if (files.length !== keys.size) throw unresolved(keys, files);
  const cuts = new Map<string, RowRange[]>();
  for (const { key, rows } of wanted) {
    if (rows !== undefined) cuts.set(key, [...cuts.get(key) ?? [], rows]);
  }
  return {
    // Summaries are of whole tables.
    committed: { kind: "none" },
    files,
    considered: files.length,
    ...(cuts.size === 0 ? {} : { cuts }),
  };
}

/** The days of files, so that manifests of other days are not read. */
function daysOf(keys: ReadonlySet<string>): TimeRange {
  let [first, last] = [Infinity, -Infinity];
  for (const key of keys) {
    const day = dayOfKey(key);
    if (day === undefined) return ALL_TIME;
    first = Math.min(first, day);
    last = Math.max(last, day);
  }
  return { minNs: BigInt(first) * NS_PER_DAY, maxNs: BigInt(last + 1) * NS_PER_DAY - 1n };
}

function unresolved(keys: ReadonlySet<string>, files: readonly DataFile[]): OperatingError {
  const found = new Set(files.map(({ key }) => key));
  const [missing] = [...keys].filter((key) => !found.has(key));
  return new OperatingError(
    "unavailable",
    `Cannot read a shard: ${missing} is no file of the pinned snapshot here; ask another server`,
    { reason: PIN_UNRESOLVED },
  );
}

/**
 * The error for a table of a shard's statement whose damaged files this server leaves out. The
 * coordinator's own plan has them, so the shard is another server's.
 */
export function damagedForShard(lacking: readonly string[]): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot read a shard: ${lacking.join("; ")}; ask another server`,
    { reason: PIN_UNRESOLVED },
  );
}
