/**
 * A table of many commits and days, written by this program, is read back by `foreign_reader.ts`,
 * row by row.
 */

import assert from "node:assert/strict";
import { asyncBufferFromUrl, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { DEFAULT_PARSERS } from "hyparquet/src/convert.js";
import { icebergManifests } from "icebird";
import { NS_PER_DAY } from "../../shared/base/time.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import type { CommitDeps } from "../../shared/iceberg/commit_table.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { dataFileKey } from "../../shared/iceberg/locations.ts";
import type { NewDataFile, RewriteCommit, Table } from "../../shared/iceberg/types.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { type Random, uuidV4 } from "../../shared/os/random.ts";
import { writeParquet } from "../../shared/parquet/write_parquet.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { type ForeignMetadata, type ForeignRow, readForeign } from "./foreign_reader.ts";

const IDENT = { namespace: "svc", name: "events" };
const FIRST_DAY = 20_412;
const DAYS = 4;
/** More than the merge's fan-in, so that merged manifests are read as well. */
const COMMITS = 20;
const ROWS_PER_FILE = 300;

Deno.test({
  name: "icebird and hyparquet read every row of a table of several commits over several days",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "iceberg_readers_" });
    try {
      const rows = await writeTable(dir);
      const read = await readElsewhere(`${dir}/catalog.db`);
      assert.equal(read.length, COMMITS * ROWS_PER_FILE);
      assert.deepEqual(read.toSorted(byTime), rows.map(withDate).toSorted(byTime));
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "icebird and hyparquet read the rows that a merge and deletes leave",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "iceberg_readers_" });
    try {
      const rows = await writeTable(dir);
      const dayOf = (row: RowObject) => Number(row.timestamp_ns as bigint / NS_PER_DAY);
      await rewriteDay(dir, "merge", rows.filter((row) => dayOf(row) === FIRST_DAY));
      await rewriteDay(dir, "retention", [], FIRST_DAY + 1);
      const kept = rows.filter((row, i) => dayOf(row) === FIRST_DAY + 2 && i % 7 !== 0);
      await rewriteDay(dir, "delete", kept);
      const left = [
        ...rows.filter((row) => dayOf(row) === FIRST_DAY || dayOf(row) > FIRST_DAY + 2),
        ...kept,
      ];
      const { metadata, rows: read } = await readForeign(`${dir}/catalog.db`, IDENT);
      assert.deepEqual(read.toSorted(byTime), left.map(withDate).toSorted(byTime));
      const operations = (metadata.snapshots ?? []).slice(-3).map((one) => one.summary?.operation);
      assert.deepEqual(operations, ["replace", "delete", "overwrite"]);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

function byTime(a: ForeignRow, b: ForeignRow): number {
  return (a.timestamp_ns as bigint) < (b.timestamp_ns as bigint) ? -1 : 1;
}

/** icebird gives a Date, so milliseconds; `checkMicros` looks at the rest. */
function withDate(row: RowObject): ForeignRow {
  return { ...row, timestamp: new Date(Number(row.timestamp as bigint / 1_000n)) };
}

/** Replaces all files of one day by one of `rows`, or by none. */
async function rewriteDay(
  dir: string,
  kind: RewriteCommit["kind"],
  rows: readonly RowObject[],
  day = Number(rows[0]?.timestamp_ns as bigint / NS_PER_DAY),
): Promise<void> {
  await using deps = await openDeps(dir, day);
  const table = await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  const { files } = await new IcebergReader(deps.store).selectFiles(table);
  const result = await commitRewrite(deps, {
    ident: IDENT,
    tableUuid: table.uuid,
    kind,
    replaced: files.filter((file) => file.day === day),
    files: rows.length === 0 ? [] : [await writeFile(deps, table, rows.toSorted(byTime))],
  });
  assert.equal(result.outcome, "committed");
}

async function openDeps(dir: string, seed: number): Promise<CommitDeps & AsyncDisposable> {
  const catalog = await openSqliteCatalog({ path: `${dir}/catalog.db` });
  return {
    store: openLocalStore(new DenoFileSystem(), `${dir}/warehouse`),
    catalog,
    clock: new SystemClock(),
    random: new SeededRandom(seed),
    [Symbol.asyncDispose]: () => catalog.close(),
  };
}

/** Stores one file of `rows`, which are of one day and in order. */
async function writeFile(
  { store, random }: CommitDeps,
  table: Table,
  rows: readonly RowObject[],
): Promise<NewDataFile> {
  const parquet = writeParquet([batchOfRows(EVENTS_SCHEMA, rows)], {
    schema: EVENTS_SCHEMA,
    rowGroupRowsMax: 100,
  });
  const timestampNsMin = rows[0]?.timestamp_ns as bigint;
  const day = Number(timestampNsMin / NS_PER_DAY);
  const key = dataFileKey(table, day, uuidV4(random));
  await store.putNew(key, parquet.bytes);
  return {
    ...parquet,
    key,
    day,
    byteLength: parquet.bytes.byteLength,
    timestampNsMin,
    timestampNsMax: rows.at(-1)?.timestamp_ns as bigint,
    sortOrderId: table.sortOrderId,
  };
}

/** Commits the rows of each file and returns all of them. */
async function writeTable(dir: string): Promise<RowObject[]> {
  await using deps = await openDeps(dir, 11);
  const table = await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
  const all: RowObject[] = [];
  for (let commit = 0; commit < COMMITS; commit += 1) {
    const day = FIRST_DAY + commit % DAYS;
    const rows = rowsOf(day, commit, deps.random);
    const result = await commitAppend(deps, {
      ident: IDENT,
      schema: EVENTS_SCHEMA,
      files: [await writeFile(deps, table, rows)],
      consumed: [`segment-${commit}`],
    });
    assert.equal(result.outcome, "committed");
    all.push(...rows);
  }
  return all;
}

/**
 * Rows of one file: sorted by time, unique over all files, with text that needs escaping somewhere.
 */
function rowsOf(day: number, commit: number, random: Random): RowObject[] {
  return Array.from({ length: ROWS_PER_FILE }, (_, i) => {
    const ns = BigInt(day) * NS_PER_DAY + BigInt(i) * 1_000_003n + BigInt(commit);
    return {
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      host: `host-${Math.floor(random.float() * 9)}`,
      source: [..."é😀\u{10ffff}a"].slice(0, i % 5).join(""),
      sourcetype: "otel",
      index: "main",
      raw: `line ${i} "quoted" \\ \n ${"x".repeat(i % 90)}`,
      attributes: i % 3 === 0 ? null : JSON.stringify({ commit, i }),
    };
  });
}

async function readElsewhere(catalogPath: string): Promise<readonly ForeignRow[]> {
  const { metadata, rows } = await readForeign(catalogPath, IDENT);
  await checkManifests(metadata);
  return rows;
}

/** What a planner of another engine relies on: counts, days and bounds that enclose the rows. */
async function checkManifests(metadata: ForeignMetadata): Promise<void> {
  const manifests = await icebergManifests(metadata);
  assert.ok(manifests.length > 1 && manifests.length < COMMITS, `${manifests.length} manifests`);
  const files = manifests.flatMap(({ entries }) => entries.map((entry) => entry.data_file));
  assert.equal(files.length, COMMITS);
  for (const file of files) {
    assert.equal(file.record_count, BigInt(ROWS_PER_FILE));
    const partition = file.partition as unknown as { timestamp_day: Date };
    const day = BigInt(partition.timestamp_day.getTime()) * 1_000_000n / NS_PER_DAY;
    const [lower, upper] = [file.lower_bounds, file.upper_bounds].map((bounds) => {
      const list = bounds as unknown as { key: number; value: Uint8Array }[];
      const bytes = list.find(({ key }) => key === 2)?.value;
      assert.ok(bytes !== undefined);
      return new DataView(bytes.buffer, bytes.byteOffset, 8).getBigInt64(0, true);
    });
    await checkMicros(file.file_path, Number(file.file_size_in_bytes));
    assert.ok(lower !== undefined && upper !== undefined);
    assert.equal(lower / NS_PER_DAY, day);
    assert.equal(upper - lower, BigInt(ROWS_PER_FILE - 1) * 1_000_003n);
  }
}

/** `timestamp` is `timestamp_ns` without its last three digits, to the microsecond. */
async function checkMicros(url: string, byteLength: number): Promise<void> {
  const same = (value: unknown) => value as Date;
  const rows = await parquetReadObjects({
    file: await asyncBufferFromUrl({ url, byteLength }),
    compressors,
    columns: ["timestamp", "timestamp_ns"],
    parsers: { ...DEFAULT_PARSERS, timestampFromMicroseconds: same },
  });
  assert.equal(rows.length, ROWS_PER_FILE);
  for (const row of rows) assert.equal(row.timestamp, row.timestamp_ns / 1_000n);
}
