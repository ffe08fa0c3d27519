/**
 * Statements that count, group and measure, answered from summaries. One engine answers them, warm
 * and cold, over 200 files of ten days, beside the same statement with every row read. It answers
 * them over 10,000 small files, too, with the memory that warm answers take. Over the 200 files
 * come pages in order of time: of rows that one in a hundred meets, and far into a walk.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { assert } from "../../shared/base/assert.ts";
import { NS_PER_DAY } from "../../shared/base/time.ts";
import { openEngine } from "../../shared/engine/open_engine.ts";
import type { Engine, Stats } from "../../shared/engine/types.ts";
import { DEFAULT_NAMESPACE, DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { sweepRollups } from "../../shared/upkeep/rollup_sweep.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { instantOf, source, SPANS_TABLE, stepNsOf, SUMMARIES_ONLY } from "./spans_table.ts";
import { buildTableOf, START_NS, type TableFixture } from "./table_fixture.ts";

const FILES = 200;
const ROUNDS = 15;
const SCAN_ROUNDS = 3;
const MANY_FILES = 10_000;
const ROWS_A_SMALL_FILE = 30;
const MANY_MS_MAX = 30;
const WARM_BYTES_MAX = 200;
const FILTERED_MS_MAX = 60;
const PAGE_ROWS = 100;
const DEEP_PAGE = 1_000;
const PAGE_RATIO_MAX = 1.5;

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
    figures.push(...await inOrder(table));
    return [...figures, ...await ofManyFiles()];
  },
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
  const { files } = await reader.selectFiles(loaded);
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

/** Pages of rows, newest first. */
async function inOrder(table: TableFixture): Promise<BenchRow[]> {
  const engine = await openOver(table);
  try {
    const page = (where: string, order = "timestamp DESC, timestamp_ns DESC") =>
      `SELECT timestamp, timestamp_ns::VARCHAR, host, raw FROM spans WHERE ${where} ` +
      `ORDER BY ${order} LIMIT ${PAGE_ROWS}`;
    const filtered = await inTurn(engine, [page("duration_nanos % 100 = 7", "timestamp DESC")]);
    const stepNs = stepNsOf(table.rows);
    const before = (rows: number) => {
      const ns = START_NS + BigInt(table.rows - rows - 1) * stepNs;
      return page(`timestamp <= '${instantOf(ns - START_NS)}' AND timestamp_ns <= ${ns}`);
    };
    const [first = NaN, deep = NaN] = await inTurn(engine, [
      before(0),
      before((DEEP_PAGE - 1) * PAGE_ROWS),
    ]);
    return [{
      what: "newest 100 of rows that 1 % meet",
      ours: formatMs(filtered[0] ?? NaN),
      ...{ reference: "", ratio: "", target: `≤ ${FILTERED_MS_MAX} ms` },
      reached: (filtered[0] ?? NaN) <= FILTERED_MS_MAX,
    }, {
      what: `page ${formatCount(DEEP_PAGE)} of a walk, ${PAGE_ROWS} rows a page`,
      ours: formatMs(deep),
      reference: `page 1 ${formatMs(first)}`,
      ratio: `${(deep / first).toFixed(2)}×`,
      target: `≤ ${PAGE_RATIO_MAX}×`,
      reached: deep <= PAGE_RATIO_MAX * first,
    }];
  } finally {
    await engine.close();
  }
}

/** Median milliseconds of each statement, asked one after the other; each gives a page. */
async function inTurn(engine: Engine, statements: readonly string[]): Promise<number[]> {
  const taken = statements.map((): number[] => []);
  for (let round = -3; round < ROUNDS; round += 1) {
    for (const [at, sql] of statements.entries()) {
      const [ms, , rows] = await asked(engine, sql);
      assert(rows === PAGE_ROWS, `a page has ${PAGE_ROWS} rows`);
      if (round >= 0) taken[at]?.push(ms);
    }
  }
  return taken.map(median);
}

/** The statements of a table of many small files, and what the answers to all of them take. */
async function ofManyFiles(): Promise<BenchRow[]> {
  const rows = MANY_FILES * ROWS_A_SMALL_FILE;
  await using table = await buildTableOf(source(rows), {
    rows,
    rowsPerFile: ROWS_A_SMALL_FILE,
    deriver: SUMMARIES_ONLY,
  });
  const engine = await openOver(table);
  try {
    // What is known of files, whoever asks.
    await asked(engine, "SELECT count(*) FROM spans", { fastPaths: false });
    const before = await heldBytes();
    const figures: BenchRow[] = [];
    for (const { what, sql } of FIGURES.filter(({ warmMsMax }) => warmMsMax <= MANY_MS_MAX)) {
      const [first, stats] = await asked(engine, sql);
      assert(stats.served_by !== "scan", `${what} is answered from summaries`);
      const warm: number[] = [];
      for (let round = -3; round < ROUNDS; round += 1) {
        const [ms] = await asked(engine, sql);
        if (round >= 0) warm.push(ms);
      }
      figures.push({
        what: `${what}, ${formatCount(MANY_FILES)} files`,
        ours: `${formatMs(median(warm))}, first ${formatMs(first)}, ${stats.served_by}`,
        ...{ reference: "", ratio: "", target: `≤ ${MANY_MS_MAX} ms` },
        reached: median(warm) <= MANY_MS_MAX,
      });
    }
    const bytes = (await heldBytes() - before) / MANY_FILES / COLUMNS_ASKED;
    return [...figures, {
      what: `warm answers to these, ${formatCount(MANY_FILES)} files, ${COLUMNS_ASKED} columns`,
      ours: `${bytes.toFixed(0)} bytes a file and column`,
      ...{ reference: "", ratio: "", target: `≤ ${WARM_BYTES_MAX} bytes` },
      reached: bytes <= WARM_BYTES_MAX,
    }];
  } finally {
    await engine.close();
  }
}

/** `timestamp`, `host`, `level`, `status`, `duration_nanos`. */
const COLUMNS_ASKED = 5;

/** Bytes that are in use after a collection. */
async function heldBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round += 1) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
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
): Promise<[ms: number, stats: Stats, rows: number]> {
  const start = performance.now();
  await using prepared = await engine.prepare({
    ...{ sql, fastPaths, namespace: DEFAULT_NAMESPACE, tenant: DEFAULT_TENANT },
    ...{ defaultOrder: true, rowsMax: 10_000, deadlineMs: 120_000 },
  });
  await using running = await prepared.run();
  let rows = 0;
  for await (const chunk of running.chunks("arrays")) {
    chunk.bytes();
    rows += chunk.rowCount;
  }
  return [performance.now() - start, await running.stats(), rows];
}
