/** Which of a snapshot's files a shard finds, and what it reads for that. */

import { deepStrictEqual, rejects } from "node:assert/strict";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import { shardRows } from "./shard_rows.ts";

const keyOf = (date: string, name: string) =>
  `svc/events-1/data/timestamp_day=${date}/${name}.parquet`;
const A = keyOf("2026-11-20", "a");
const B = keyOf("2026-11-22", "b");
const DAYS = { minNs: 1_795_132_800_000_000_000n, maxNs: 1_795_391_999_999_999_999n };
const ALL = { minNs: undefined, maxNs: undefined };

/** A snapshot whose files are found by these ranges alone. */
function snapshot(keys: readonly string[], ...found: readonly TimeRange[]) {
  const asked: TimeRange[] = [];
  const live = (range: TimeRange) => {
    asked.push(range);
    const isFound = found.some(({ minNs, maxNs }) =>
      minNs === range.minNs && maxNs === range.maxNs
    );
    return Promise.resolve(isFound ? keys.map((key) => ({ key }) as DataFile) : []);
  };
  return { asked, live };
}

const shardOf = (...keys: readonly string[]) => ({
  table: "events",
  files: keys.map((key) => ({ key })),
  count: 1,
});

Deno.test({
  name: "shardRows asks for the days of its files alone",
  async fn() {
    const { asked, live } = snapshot([A, B, keyOf("2026-11-21", "c")], DAYS);
    const { files } = await shardRows(shardOf(A, B), live);
    deepStrictEqual(files.map(({ key }) => key), [A, B]);
    deepStrictEqual(asked, [DAYS]);
  },
});

Deno.test({
  name: "shardRows asks for all days where a file is not called after its own",
  async fn() {
    const foreign = "svc/events-1/data/c.parquet";
    for (const [keys, ranges] of [[[A, B], [DAYS, ALL]], [[A, foreign], [ALL]]] as const) {
      const { asked, live } = snapshot(keys, ALL);
      const { files } = await shardRows(shardOf(...keys), live);
      deepStrictEqual(files.map(({ key }) => key), keys);
      deepStrictEqual(asked, ranges);
    }
  },
});

Deno.test({
  name: "shardRows a file that is nowhere is shard_pin_unresolved",
  async fn() {
    const { live } = snapshot([A], DAYS, ALL);
    await rejects(shardRows(shardOf(A, B), live), { reason: "shard_pin_unresolved" });
  },
});
