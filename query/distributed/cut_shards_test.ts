import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { SpreadFile } from "../../shared/engine/shards/spread.ts";
import { type CutShard, cutShards, rankedNodes } from "./cut_shards.ts";

const MIB = 1024 * 1024;
const GROUP = 122_880;

function fileOf(key: string, bytes: number, groups = 1): SpreadFile {
  return {
    key,
    bytes,
    rows: groups * GROUP,
    groups: Array.from(
      { length: groups },
      (_, at) => ({ first: at * GROUP, end: (at + 1) * GROUP }),
    ),
  };
}

/** Each row of each file, as often as the shards have it: runs of whole row groups. */
function rowsOf(shards: readonly CutShard[], files: readonly SpreadFile[]): Map<string, number[]> {
  const byKey = new Map(files.map((file) => [file.key, file]));
  const seen = new Map<string, number[]>();
  for (const { key, rows } of shards.flatMap((shard) => shard.files)) {
    const { first, end } = rows ?? { first: 0, end: byKey.get(key)?.rows ?? 0 };
    const groups = Array.from({ length: (end - first) / GROUP }, (_, at) => first / GROUP + at);
    seen.set(key, [...seen.get(key) ?? [], ...groups].sort((a, b) => a - b));
  }
  return seen;
}

const FILES = fc.array(
  fc.record({
    bytes: fc.integer({ min: 0, max: 900 * MIB }),
    groups: fc.integer({ min: 1, max: 40 }),
  }),
  { minLength: 1, maxLength: 60 },
).map((all) => all.map(({ bytes, groups }, at) => fileOf(`f${at}`, bytes, groups)));
const NODES = fc.integer({ min: 1, max: 9 }).map((count) =>
  Array.from({ length: count }, (_, at) => `10.0.0.${at}:8089`)
);

Deno.test({
  name: "cutShards each row group is in one shard, whatever the files and servers",
  fn() {
    fc.assert(
      fc.property(FILES, NODES, (files, nodes) => {
        const seen = rowsOf(cutShards(files, nodes), files);
        for (const { key, groups } of files) {
          deepStrictEqual(seen.get(key), groups.map((_, at) => at), key);
        }
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "cutShards gives the same shards whatever the order of files and servers",
  fn() {
    fc.assert(fc.property(FILES, NODES, (files, nodes) => {
      deepStrictEqual(
        cutShards(files.toReversed(), nodes.toReversed()),
        cutShards(files, nodes),
      );
    }));
  },
});

Deno.test({
  name: "cutShards gives no server more than 1.04 times its share of many files",
  fn() {
    for (const count of [2, 3, 5, 8]) {
      const nodes = Array.from({ length: count }, (_, at) => `query-${at}:8089`);
      const files = Array.from(
        { length: 400 },
        (_, at) => fileOf(`data/${at}`, (1 + at % 7) * MIB),
      );
      const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
      const loads = Map.groupBy(cutShards(files, nodes), ({ node }) => node).values()
        .map((own) => own.reduce((sum, { bytes }) => sum + bytes, 0)).toArray();
      strictEqual(loads.length, count);
      ok(Math.max(...loads) <= 1.04 * total / count, `${count}: ${loads.join()}`);
    }
  },
});

Deno.test({
  name: "cutShards gives each shard of a server files of its own days, and twice its share at most",
  fn() {
    const days = 90;
    const files = Array.from({ length: days * 40 }, (_, at) => {
      const day = new Date(86_400_000 * (20_000 + at % days)).toISOString().slice(0, 10);
      return fileOf(`data/timestamp_day=${day}/${at}.parquet`, (50 + at % 7 * 50) * MIB);
    });
    const dayOf = (key: string) => key.split("/")[1] ?? "";
    const shards = cutShards(files, ["a:1", "b:1", "c:1"]);
    const mean = shards.reduce((sum, { bytes }) => sum + bytes, 0) / shards.length;
    ok(shards.length >= 3 * 15 && shards.length <= 3 * 18, `${shards.length} shards`);
    for (const { files, bytes } of shards) {
      const own = new Set(files.map(({ key }) => dayOf(key)));
      ok(own.size <= days / 8, `${own.size} days`);
      ok(bytes < 2 * mean, `${bytes} of ${mean}`);
    }
  },
});

Deno.test({
  name: "cutShards one large file keeps all servers at work",
  fn() {
    const nodes = ["a:1", "b:1", "c:1", "d:1"];
    const shards = cutShards([fileOf("one", 800 * MIB, 80)], nodes);
    strictEqual(new Set(shards.map(({ node }) => node)).size, 4);
  },
});

Deno.test({
  name: "rankedNodes one server more moves its own part of the files and no other",
  fn() {
    const nodes = Array.from({ length: 9 }, (_, at) => `query-${at}:8089`);
    const keys = Array.from({ length: 10_000 }, (_, at) => `svc/events/data/${at}.parquet`);
    const first = (key: string, of: readonly string[]) => rankedNodes(key, of)[0];
    const moved = keys.filter((key) => first(key, nodes) !== first(key, [...nodes, "new:8089"]));
    ok(moved.every((key) => first(key, [...nodes, "new:8089"]) === "new:8089"));
    ok(Math.abs(moved.length - 1_000) < 150, `${moved.length} of 10,000 moved`);
  },
});
