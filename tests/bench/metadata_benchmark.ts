/**
 * Statements that count, group and measure, answered from summaries: in one engine, warm and cold, over 200 files of ten
 * days, and beside the same statement with every row read.
 */

import { assert } from "../../shared/base/assert.ts";
import type { ColumnBatch, ColumnData } from "../../shared/columns/batch.ts";
import { StringColumnBuilder } from "../../shared/columns/column_builders.ts";
import type { Deriver } from "../../shared/derived/deriver.ts";
import { writeSidecar } from "../../shared/derived/sidecar.ts";
import { summaryBlobs } from "../../shared/derived/summary/build_summary.ts";
import { openEngine } from "../../shared/engine/open_engine.ts";
import type { Engine, Stats } from "../../shared/engine/types.ts";
import type { TableSchema } from "../../shared/event/schema.ts";
import { DEFAULT_NAMESPACE, DEFAULT_TENANT } from "../../shared/event/tenant.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { sweepRollups } from "../../shared/maintenance/rollup_sweep.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { buildTableOf, START_NS, type TableFixture } from "./table_fixture.ts";

const FILES = 200;
const DAYS = 10n;
const NS_PER_DAY = 86_400_000_000_000n;
const ROUNDS = 15;
const SCAN_ROUNDS = 3;

export const METADATA: Benchmark = {
  name: "metadata",
  summary: "counts, groups and histograms from summaries",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    const filesWanted = Number(Deno.env.get("SVC_BENCH_FILES") ?? FILES);
    await using table = await buildTableOf(source(rows), {
      rows,
      rowsPerFile: Math.ceil(rows / filesWanted),
      deriver: SUMMARIES_ONLY,
    });
    const figures: BenchRow[] = [];
    for (const figure of FIGURES) figures.push(await measure(figure, table));
    await rollUp(table);
    for (const figure of FIGURES.filter(({ coldMsMax }) => coldMsMax !== undefined)) {
      figures.push(await measureCold(figure, table));
    }
    return figures;
  },
};

const SPANS_TABLE = "spans";
const SPANS: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "host", type: "string", required: true },
    { id: 4, name: "service", type: "string", required: true },
    { id: 5, name: "level", type: "string", required: true },
    { id: 6, name: "status", type: "int", required: false },
    { id: 7, name: "duration_nanos", type: "long", required: true },
    { id: 8, name: "raw", type: "string", required: true },
    { id: 9, name: "customer", type: "string", required: true },
  ],
  tags: ["host", "service", "level", "customer"],
};

interface Figure {
  readonly what: string;
  readonly sql: string;
  readonly warmMsMax: number;
  /** A first request of a new server. */
  readonly coldMsMax?: number;
}

/** Within the third day, not at a minute. */
const FROM = instantOf(2n * NS_PER_DAY + 3_723_500_000_000n);
const TO = instantOf(3n * NS_PER_DAY + 5_023_500_000_000n);

const FIGURES: readonly Figure[] = [
  { what: "count(*)", sql: "SELECT count(*) FROM spans", warmMsMax: 5 },
  {
    what: "count(*) of a range that cuts minutes",
    sql: `SELECT count(*) FROM spans WHERE timestamp >= '${FROM}' AND timestamp < '${TO}'`,
    warmMsMax: 5,
  },
  {
    what: "GROUP BY a tag",
    sql: "SELECT host, count(*) AS n FROM spans GROUP BY host ORDER BY n DESC LIMIT 10",
    warmMsMax: 10,
    coldMsMax: 300,
  },
  {
    what: "histogram by minute of a day",
    sql: "SELECT date_trunc('minute', timestamp) AS t, count(*) FROM spans " +
      `WHERE timestamp >= '${instantOf(NS_PER_DAY)}' AND timestamp < '${
        instantOf(2n * NS_PER_DAY)
      }' ` +
      "GROUP BY t ORDER BY t",
    warmMsMax: 10,
    coldMsMax: 300,
  },
  {
    what: "histogram by minute of a day × level",
    sql: "SELECT date_trunc('minute', timestamp) AS t, level, count(*) FROM spans " +
      `WHERE timestamp >= '${instantOf(NS_PER_DAY)}' AND timestamp < '${
        instantOf(2n * NS_PER_DAY)
      }' ` +
      "GROUP BY ALL ORDER BY ALL",
    warmMsMax: 10,
    coldMsMax: 300,
  },
  {
    what: "avg(duration_nanos) GROUP BY status",
    sql: "SELECT status, avg(duration_nanos) FROM spans GROUP BY status",
    warmMsMax: 20,
  },
  {
    what: "top 100 of a column with a million values",
    sql: "SELECT customer, count(*) AS n FROM spans GROUP BY customer ORDER BY n DESC LIMIT 100",
    warmMsMax: 150,
  },
  {
    what: "count(DISTINCT) of a column with a million values",
    sql: "SELECT count(DISTINCT customer) FROM spans",
    warmMsMax: 1_000,
  },
];

async function measure(figure: Figure, table: TableFixture): Promise<BenchRow> {
  const { what, sql, warmMsMax, coldMsMax } = figure;
  const warm: number[] = [];
  const scanned: number[] = [];
  const engine = await openOver(table);
  let cold: number;
  let stats: Stats;
  try {
    [cold, stats] = await asked(engine, sql);
    for (let round = -3; round < ROUNDS; round += 1) {
      const [ms] = await asked(engine, sql);
      if (round >= 0) warm.push(ms);
    }
    for (let round = 0; round < SCAN_ROUNDS; round += 1) {
      scanned.push((await asked(engine, sql, { fastPaths: false }))[0]);
    }
  } finally {
    await engine.close();
  }
  assert(stats.served_by !== "scan", `${what} is answered from summaries`);
  const ms = median(warm);
  const coldReached = coldMsMax === undefined || cold <= coldMsMax;
  return {
    what: `${what}, ${formatCount(table.rows)} rows in ${table.paths.length} files`,
    ours: `${formatMs(ms)}, first ${formatMs(cold)}, ${stats.served_by}, ` +
      `${formatCount(stats.rows_scanned)} rows read`,
    reference: `scan ${formatMs(median(scanned))}`,
    ratio: `${(median(scanned) / ms).toFixed(1)}×`,
    target: `≤ ${warmMsMax} ms${coldMsMax === undefined ? "" : `, first ≤ ${coldMsMax} ms`}`,
    reached: ms <= warmMsMax && coldReached,
  };
}

/** What a compactor makes a few minutes after the files. */
async function rollUp({ store, catalog }: TableFixture): Promise<void> {
  const ident = { namespace: DEFAULT_NAMESPACE, name: SPANS_TABLE };
  const location = await catalog.metadataLocation(ident);
  assert(location !== undefined, "the table was committed");
  const reader = new IcebergReader(store);
  const loaded = await reader.loadTable(ident, location);
  const { files } = await reader.selectFiles(loaded, { minNs: undefined, maxNs: undefined });
  const deps = { store, clock: new SystemClock(), random: new SystemRandom() };
  await sweepRollups(deps, { table: loaded, files });
}

async function measureCold(figure: Figure, table: TableFixture): Promise<BenchRow> {
  const { what, sql, coldMsMax = Infinity } = figure;
  const cold: number[] = [];
  for (let round = 0; round < SCAN_ROUNDS; round += 1) {
    const engine = await openOver(table);
    try {
      cold.push((await asked(engine, sql))[0]);
    } finally {
      await engine.close();
    }
  }
  const ms = median(cold);
  return {
    what: `${what}, first of a new server, summaries of ${table.paths.length} files rolled up`,
    ours: formatMs(ms),
    reference: "",
    ratio: "",
    target: `≤ ${coldMsMax} ms`,
    reached: ms <= coldMsMax,
  };
}

function openOver(table: TableFixture): Promise<Engine> {
  return openEngine({
    store: table.store,
    catalog: table.catalog,
    files: new DenoFileSystem(),
    cacheDir: `${table.dir}/cache`,
    memoryBytesMax: 2 * 1024 ** 3,
    spillBytesMax: 1024 ** 3,
    clock: new SystemClock(),
    random: new SystemRandom(),
  });
}

/** Milliseconds from the request to its last row. */
async function asked(
  engine: Engine,
  sql: string,
  { fastPaths = true }: { readonly fastPaths?: boolean } = {},
): Promise<[ms: number, stats: Stats]> {
  const start = performance.now();
  await using prepared = await engine.prepare({
    ...{ sql, fastPaths, namespace: DEFAULT_NAMESPACE, tenant: DEFAULT_TENANT },
    ...{ defaultOrder: true, rowsMax: 10_000, deadlineMs: 120_000 },
  });
  await using running = await prepared.run();
  for await (const chunk of running.chunks("arrays")) chunk.bytes();
  return [performance.now() - start, await running.stats()];
}

/** Indexes of words take longer to make than all of the rest. */
const SUMMARIES_ONLY: Deriver = {
  derive: (file, subject) => Promise.resolve(writeSidecar(summaryBlobs(file), subject)),
  [Symbol.dispose]() {},
};

function source(rows: number) {
  const stepNs = DAYS * NS_PER_DAY / BigInt(rows);
  return {
    name: SPANS_TABLE,
    schema: SPANS,
    batch: (first: number, records: number) => batchOf(first, { records, stepNs }),
  };
}

function batchOf(
  first: number,
  { records, stepNs }: { readonly records: number; readonly stepNs: bigint },
): ColumnBatch {
  const at = (row: number) => START_NS + BigInt(first + row) * stepNs;
  const columns = [
    longs(records, (row) => at(row) / 1_000n),
    longs(records, at),
    texts(records, (row) => `web-${mixed(first + row) % 50}.example.com`),
    texts(records, (row) => `service-${mixed(first + row + 7) % 20}`),
    texts(records, (row) => LEVELS[mixed(first + row + 13) % LEVELS.length] ?? ""),
    ints(records, (row) => STATUSES[mixed(first + row + 29) % STATUSES.length] ?? 0),
    longs(records, (row) => BigInt(mixed(first + row + 31) % 1_000_000_000)),
    texts(records, (row) => `GET /item/${mixed(first + row + 37) % 100_000} took a while`),
    texts(records, (row) => `customer-${customerOf(first + row)}`),
  ];
  return { schema: SPANS, rows: records, columns };
}

/** Of a million; every other row is of one of the first thousand. */
function customerOf(row: number): number {
  return mixed(row + 41) % (row % 2 === 0 ? 1_000 : 1_000_000);
}

const LEVELS = ["info", "info", "info", "warn", "error"];
const STATUSES = [200, 200, 201, 404, 500];

function mixed(value: number): number {
  const hash = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  return (Math.imul(hash ^ (hash >>> 12), 0x297a2d39) ^ (hash >>> 15)) >>> 0;
}

function longs(rows: number, valueOf: (row: number) => bigint): ColumnData {
  const values = BigInt64Array.from({ length: rows }, (_, row) => valueOf(row));
  return { validity: null, nullCount: 0, offsets: null, values: new Uint8Array(values.buffer) };
}

function ints(rows: number, valueOf: (row: number) => number): ColumnData {
  const values = Int32Array.from({ length: rows }, (_, row) => valueOf(row));
  return { validity: null, nullCount: 0, offsets: null, values: new Uint8Array(values.buffer) };
}

function texts(rows: number, valueOf: (row: number) => string): ColumnData {
  const builder = new StringColumnBuilder();
  for (let row = 0; row < rows; row += 1) builder.text(valueOf(row));
  return builder.finish();
}

function instantOf(sinceStartNs: bigint): string {
  return new Date(Number((START_NS + sinceStartNs) / 1_000_000n)).toISOString();
}
