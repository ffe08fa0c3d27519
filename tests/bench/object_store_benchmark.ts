/**
 * Statements over an object store 20 ms away. What a cold one makes of the store's bandwidth, what
 * it fetches, and what the same one costs when all of it is in the range cache.
 */

import { openEngine } from "../../shared/engine/open_engine.ts";
import type { Engine, ScanStats } from "../../shared/engine/types.ts";
import { DEFAULT_NAMESPACE, DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { readFooter } from "../../shared/parquet/footer.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { HttpStore } from "./http_store.ts";
import { buildTable, type TableFixture } from "./table_fixture.ts";

const WAIT_MS = 20;
/** So that rows take about as many bytes as those of real logs. */
const NOISE_BYTES = 32;
/** 1 Gbit/s. */
const LINK_BYTES_PER_SEC = 125_000_000;
const LINK_ROUNDS = 3;
const ROUNDS = 5;
const WARM_ROUNDS = 15;
const BANDWIDTH_SHARE_MIN = 0.6;
const FETCHED_RATIO_MAX = 1.2;
const WARM_RATIO_MAX = 1.2;
const MEMORY_BYTES = 4 * 1024 ** 3;
const CACHE_BYTES = 16 * 1024 ** 3;
/** What the yardstick asks for at a time, and side by side. */
const PIECE_BYTES = 4 * 1024 ** 2;
const PIECES_AT_ONCE = 16;

const SCAN =
  "SELECT count(raw), count(attributes), count(host), count(source), count(sourcetype), " +
  "count(timestamp_ns), count(timestamp) FROM events WHERE length(raw) >= 0";
/** No summary tells this. */
const GROUP = "SELECT host, max(length(raw)) AS longest FROM events GROUP BY host ORDER BY longest";

export const OBJECT_STORE: Benchmark = {
  name: "object-store",
  summary: "statements over an object store 20 ms away, cold and warm",
  sizes: { small: { rows: 4_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTable(rows, { noiseBytes: NOISE_BYTES });
    const warehouse = `${table.dir}/warehouse`;
    await using store = await HttpStore.start(warehouse, { waitMs: WAIT_MS });
    const limits = { waitMs: WAIT_MS, bytesPerSec: LINK_BYTES_PER_SEC };
    await using linked = await HttpStore.start(warehouse, limits);
    return [
      ...await coldScan(table, store),
      await linkedScan(table, linked),
      ...await fewColumns(table, store),
      await warmScan(table, store),
    ];
  },
};

/**
 * A store on this machine, whose bandwidth is what its processors leave: what computes takes it
 * from the store.
 */
async function coldScan(table: TableFixture, store: HttpStore): Promise<BenchRow[]> {
  const { fetching, whole, most } = await coldRates(table, store, ROUNDS);
  const row = (what: string, rate: number, isBar: boolean): BenchRow => ({
    what,
    ours: formatRate(rate),
    reference: `${PIECES_AT_ONCE} connections ${formatRate(most)}`,
    ratio: `${(rate / most).toFixed(2)}×`,
    target: isBar ? `≥ ${BANDWIDTH_SHARE_MIN}×` : "for orientation",
    reached: !isBar || rate / most >= BANDWIDTH_SHARE_MIN,
  });
  const over = `${formatCount(table.rows)} rows in ${table.paths.length} files`;
  return [
    row(`cold scan of all columns until all is at hand, ${over}`, fetching, true),
    row("the same to its end, computing included", whole, false),
  ];
}

/** A store whose bandwidth is that of a network: to the statement's end. */
async function linkedScan(table: TableFixture, store: HttpStore): Promise<BenchRow> {
  const { whole, most } = await coldRates(table, store, LINK_ROUNDS);
  return {
    what: `the same to its end over a link of ${formatRate(LINK_BYTES_PER_SEC / 1_000)}`,
    ours: formatRate(whole),
    reference: `${PIECES_AT_ONCE} connections ${formatRate(most)}`,
    ratio: `${(whole / most).toFixed(2)}×`,
    target: `≥ ${BANDWIDTH_SHARE_MIN}×`,
    reached: whole / most >= BANDWIDTH_SHARE_MIN,
  };
}

/** Medians of bytes a millisecond: until all is at hand, to the end, and of plain reads. */
async function coldRates(table: TableFixture, store: HttpStore, rounds: number) {
  const fetching: number[] = [];
  const whole: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await using engine = await openOver(table, store, "cold");
    const { ms, startedMs, scan } = await run(engine, SCAN);
    const bytes = scan?.fetched_bytes ?? 0;
    fetching.push(bytes / startedMs);
    whole.push(bytes / ms);
    plain.push(await plainBandwidth(table, store));
  }
  return { fetching: median(fetching), whole: median(whole), most: median(plain) };
}

/** Bytes a millisecond when the same files are just read, side by side. */
async function plainBandwidth(table: TableFixture, store: HttpStore): Promise<number> {
  const pieces: (() => Promise<number>)[] = [];
  for await (const { key, size } of table.store.list("")) {
    if (!key.endsWith(".parquet")) continue;
    for (let start = 0; start < size; start += PIECE_BYTES) {
      const length = Math.min(PIECE_BYTES, size - start);
      pieces.push(async () => (await store.getRange(key, start, length)).byteLength);
    }
  }
  const startMs = performance.now();
  let bytes = 0;
  const work = pieces.values();
  await Promise.all(Array.from({ length: PIECES_AT_ONCE }, async () => {
    for (const piece of work) {
      const count = await piece();
      bytes += count;
    }
  }));
  return bytes / (performance.now() - startMs);
}

/** Two columns of the time of one row group: bytes and rounds of requests. */
async function fewColumns(table: TableFixture, store: HttpStore): Promise<BenchRow[]> {
  const data = (await Array.fromAsync(table.store.list(""))).filter(({ key }) =>
    key.endsWith(".parquet")
  );
  const [file] = data;
  if (file === undefined) throw new Error("the table has no data file");
  const footer = await readFooter(table.store, file.key, file.size);
  const group = footer.rowGroups.at(-1);
  const at = ((group?.timestampMin ?? 0n) + (group?.timestampMax ?? 0n)) / 2n;
  const time = new Date(Number(at / 1_000n)).toISOString();
  await using engine = await openOver(table, store, "few");
  const sql = `SELECT raw, timestamp FROM events WHERE timestamp = '${time}'`;
  store.startRounds();
  const { scan } = await run(engine, sql);
  const chunks = (group?.columns ?? []).filter(({ name }) => ["raw", "timestamp"].includes(name));
  const needed = chunks.reduce((sum, chunk) => sum + chunk.byteLength, footer.byteLength);
  const fetched = (scan?.fetched_bytes ?? 0) - (scan?.bytes_other ?? 0);
  return [
    {
      what: "two of eight columns of one row group",
      ours: `${formatCount(fetched)} bytes fetched`,
      reference: `${formatCount(needed)} bytes of chunks and footer`,
      ratio: `${(fetched / needed).toFixed(2)}×`,
      target: `≤ ${FETCHED_RATIO_MAX}×`,
      reached: fetched <= FETCHED_RATIO_MAX * needed,
    },
    {
      what: "rounds of requests of it, table metadata aside",
      ours: `${store.rounds}`,
      reference: "",
      ratio: "",
      target: "≤ 3",
      reached: store.rounds <= 3,
    },
  ];
}

async function warmScan(table: TableFixture, store: HttpStore): Promise<BenchRow> {
  await using local = await openOver(table, table.store, "local");
  await using remote = await openOver(table, store, "warm");
  const times = { local: [] as number[], remote: [] as number[] };
  let requests = 0;
  for (let round = -2; round < WARM_ROUNDS; round += 1) {
    const ours = await run(remote, GROUP);
    const theirs = await run(local, GROUP);
    if (round < 0) continue;
    times.remote.push(ours.ms);
    times.local.push(theirs.ms);
    requests += ours.scan?.object_store_reads ?? 0;
  }
  const [ours, theirs] = [median(times.remote), median(times.local)];
  return {
    what: `the longest line of each host again, ${formatCount(requests)} requests`,
    ours: formatMs(ours),
    reference: `local ${formatMs(theirs)}`,
    ratio: `${(ours / theirs).toFixed(2)}×`,
    target: `≤ ${WARM_RATIO_MAX}×, no request`,
    reached: ours / theirs <= WARM_RATIO_MAX && requests === 0,
  };
}

function openOver(table: TableFixture, store: ReadableStore, name: string): Promise<Engine> {
  return openEngine({
    store,
    catalog: table.catalog,
    files: new DenoFileSystem(),
    cacheDir: `${table.dir}/cache-${name}`,
    memoryBytesMax: MEMORY_BYTES,
    spillBytesMax: CACHE_BYTES,
    objectCacheBytesMax: CACHE_BYTES,
    clock: new SystemClock(),
    random: new SystemRandom(),
  });
}

interface RunTimes {
  readonly ms: number;
  /** When DuckDB began: what it reads was planned and fetched. */
  readonly startedMs: number;
  readonly scan: ScanStats | undefined;
}

async function run(
  engine: Engine,
  sql: string,
): Promise<RunTimes> {
  const startMs = performance.now();
  await using prepared = await engine.prepare({
    sql,
    namespace: DEFAULT_NAMESPACE,
    tenant: DEFAULT_TENANT,
    defaultOrder: false,
    rowsMax: 10_000,
    deadlineMs: 300_000,
  });
  await using running = await prepared.run();
  const startedMs = performance.now() - startMs;
  for await (const chunk of running.chunks("arrays")) chunk.bytes();
  const ms = performance.now() - startMs;
  return { ms, startedMs, scan: (await running.stats()).scan };
}

function formatRate(bytesPerMs: number): string {
  return `${(bytesPerMs / 1_000).toFixed(0)} MB/s`;
}
