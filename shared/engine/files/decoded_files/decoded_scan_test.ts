/**
 * Statements over decoded copies of data files: what they answer, what they count, what they still
 * ask the store for.
 */

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { EngineLab, type EngineLabOptions, type LabEvent } from "../../../testing/engine_lab.ts";
import { RemoteStore } from "../../../testing/remote_store.ts";

const START_NS = 1_790_000_000_000_000_000n;
const FILES = 3;
const ROWS = 3_000;
const LARGE = { bytesMax: 2 ** 26, entriesMax: 100 };
const SUM = "SELECT sum(length(raw)), max(host) FROM events";

/** The cache, and a way to wait until it holds so many copies. */
async function openLab(options: EngineLabOptions = {}, scanFileCache = LARGE) {
  let [entries, failed] = [0, 0];
  const lab = await EngineLab.open({
    ...options,
    engine: {
      scanFileCache,
      scanFileCacheMeter: {
        lookedUp() {},
        held: (_, count) => entries = count,
        evicted() {},
        failed: () => failed += 1,
      },
    },
  });
  for (let file = 0; file < FILES; file += 1) {
    const rows = Array.from({ length: ROWS }, (_, n): LabEvent => ({
      ns: START_NS + BigInt(file * ROWS + n) * 1_000_000_000n,
      host: `h${n % 7}`,
      raw: n % 50 === 0 ? "" : `line ${file * ROWS + n} is Žofie's 東京`,
      attributes: n % 3 === 0 ? null : `{"n":${n}}`,
    }));
    await lab.commit(rows, { rowGroupRowsMax: 1_000 });
  }
  return {
    lab,
    failed: () => failed,
    holds: (count: number) => eventually(`${count} copies are held`, () => entries === count),
    [Symbol.asyncDispose]: () => lab[Symbol.asyncDispose](),
  };
}

const cacheOf = ({ stats: { scan } }: Awaited<ReturnType<EngineLab["query"]>>) => [
  scan?.file_cache_hits,
  scan?.file_cache_misses,
];

Deno.test("decoded copies serve the same rows, and are counted in stats.scan", async () => {
  await using opened = await openLab();
  const { lab, holds } = opened;
  const missed = await lab.query(SUM);
  deepStrictEqual(cacheOf(missed), [undefined, FILES]);
  await holds(FILES);
  const hit = await lab.query(SUM);
  deepStrictEqual(hit.texts, missed.texts);
  deepStrictEqual(cacheOf(hit), [FILES, undefined]);
  const [before, now] = [missed.stats, hit.stats];
  deepStrictEqual(now.rows_scanned, before.rows_scanned);
  deepStrictEqual(now.bytes_scanned, before.bytes_scanned);
  deepStrictEqual(now.scan?.files_read, before.scan?.files_read);
  deepStrictEqual(now.scan?.row_groups_considered, before.scan?.row_groups_considered);

  deepStrictEqual(cacheOf(await lab.query("SELECT max(host) FROM events")), [FILES, undefined]);
  deepStrictEqual(cacheOf(await lab.query("SELECT max(source) FROM events")), [undefined, FILES]);
  await holds(2 * FILES);
  const all = await lab.query("SELECT * FROM events ORDER BY timestamp_ns");
  await holds(FILES); // Copies of fewer columns made way.
  const again = await lab.query("SELECT * FROM events ORDER BY timestamp_ns");
  ok((again.stats.scan?.file_cache_hits ?? 0) > 0);
  deepStrictEqual(again.texts, all.texts);
  deepStrictEqual(again.types, all.types);
});

Deno.test("decoded copies are read in part where the statement needs no more", async () => {
  await using opened = await openLab();
  const { lab, holds } = opened;
  await lab.query("SELECT max(timestamp), max(timestamp_ns), max(raw) FROM events");
  await holds(FILES);
  // So many are not read out of their pages.
  const limit = 4_100;
  const newest = `SELECT raw FROM events ORDER BY timestamp DESC, timestamp_ns DESC LIMIT ${limit}`;
  const { rows, stats } = await lab.query(newest);
  strictEqual(rows[0]?.[0], `line ${FILES * ROWS - 1} is Žofie's 東京`);
  deepStrictEqual([stats.scan?.file_cache_hits, stats.scan?.file_cache_misses], [2, undefined]);
  strictEqual(stats.scan?.ordering, "advertised");
  strictEqual(stats.rows_scanned, limit);
});

Deno.test("decoded copies spare an object store, and none is made of what is read in small part", async () => {
  const store = new RemoteStore();
  await using opened = await openLab({ store });
  const { lab, holds } = opened;
  const first = await lab.query(SUM);
  await holds(FILES);
  store.reads.length = 0;
  const second = await lab.query(SUM);
  deepStrictEqual(second.texts, first.texts);
  deepStrictEqual(store.dataReads, []);
  deepStrictEqual(cacheOf(second), [FILES, undefined]);

  const few = "SELECT attributes FROM events ORDER BY timestamp LIMIT 5";
  for (let times = 0; times < 3; times += 1) {
    const { stats } = await lab.query(few);
    deepStrictEqual(stats.scan?.file_cache_hits, undefined);
  }
  await holds(FILES);
});

Deno.test("decoded copies give a fast path the rows that no summary has", async () => {
  await using opened = await openLab();
  const { lab } = opened;
  const summarized = [{ ns: START_NS + 1n, host: "h0" }, { ns: START_NS + 90_000_000_000n }];
  await lab.commit(summarized, { derived: true });
  const groups = "SELECT host, count(*), max(timestamp) FROM events GROUP BY host ORDER BY host";
  const minutes = "SELECT host, count(*) FROM events WHERE " +
    `timestamp >= '${new Date(Number(START_NS / 1_000_000n) + 30_500).toISOString()}' ` +
    "GROUP BY host ORDER BY host";
  for (const sql of [groups, minutes]) {
    const wanted = await lab.query(sql, { fastPaths: false });
    await eventually("the fast path reads copies", async () => {
      const { texts, stats } = await lab.query(sql);
      deepStrictEqual(texts, wanted.texts);
      strictEqual(stats.served_by, "materialized");
      return (stats.scan?.file_cache_hits ?? 0) >= FILES;
    });
  }
});

Deno.test("decoded copies are made of what a statement that failed read, not of what one that is explained would", async () => {
  await using opened = await openLab();
  const { lab, failed, holds } = opened;
  await using prepared = await lab.prepare(SUM);
  ok((await prepared.explain()).includes("READ_PARQUET"));
  await rejects(lab.query("SELECT error(raw), host FROM events"));
  await holds(FILES);
  strictEqual((await lab.query(SUM)).stats.scan?.file_cache_hits, FILES);
  strictEqual(failed(), 0);
});

Deno.test("decoded copies are off unless both bytes and entries are given", async () => {
  for (const limits of [{ bytesMax: 0, entriesMax: 9 }, { bytesMax: 9_999, entriesMax: 0 }]) {
    await using opened = await openLab({}, limits);
    for (let times = 0; times < 2; times += 1) {
      deepStrictEqual(cacheOf(await opened.lab.query(SUM)), [undefined, undefined]);
    }
  }
});

async function eventually(
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadlineMs = Date.now() + 20_000;
  while (!await holds()) {
    if (Date.now() > deadlineMs) throw new Error(`not in 20 s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
