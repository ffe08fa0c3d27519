/**
 * Statements that 1, 2 and 4 query servers share, each with a link of its own to an object store 20
 * ms away: `range_server.ts` once for each server. Every server has one thread, and every statement
 * finds nothing in a cache. Servers have run the statements over a few other rows before, so that
 * their own code is compiled. Beside the times stand the bytes and processor time of each server:
 * more than two of them have less than a core each on a machine of two.
 */

import { join } from "node:path";
import { present } from "../../shared/base/assert.ts";
import type { Stats } from "../../shared/engine/types.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { until } from "../../shared/testing/until.ts";
import { BenchServers, type RunningRole } from "./bench_servers.ts";
import {
  type Benchmark,
  type BenchRow,
  formatCount,
  formatMs,
  formatRatio,
  median,
} from "./benchmark.ts";
import { processTree, totalCpuSecs } from "./peers/process_tree.ts";
import { withProcessorShares } from "./stolen_time.ts";
import { buildTable, START_NS, type TableFixture } from "./table_fixture.ts";

const WAIT_MS = 20;
/** 1 Gbit/s. */
const LINK_BYTES_PER_SEC = 125_000_000;
/** Four servers have half a core each here, and a sixteenth of the link that eight cores have. */
const SLOW_LINK_SHARE = 16;
const NOISE_BYTES = 32;
/** The bytes of the attribute that a scan over slow links reads. */
const KEY_BYTES = 32;
/** The compactor's default. */
const ATTRIBUTE_COLUMNS = 64;
const COUNTS = [1, 2, 4] as const;
const RATIO_MIN: Readonly<Record<number, number>> = { 2: 1.8, 4: 3.4 };
/**
 * Rows that are read before all others: a server that has run for a while has its code compiled.
 * With a tenth of the rows each of four servers took 0.1 to 0.2 s more than later on.
 */
const FIRST_SHARE = 0.25;
/** Rows that are read over the fast links, with the first ones. */
const FAST_SHARE = 0.85;
const ROUNDS = 3;
/** A smaller table is asked once. */
const ROWS_OF_ROUNDS = 10_000_000;
const OVERHEAD_ROUNDS = 100;
const OVERHEAD_MS_MAX = 2;
const GROUPS = 1_000_000;
const MERGE_ROUNDS = 3;
const MERGE_MS_MAX = 2_000;
const BUCKET = "bench/lake";
const READY_MS_MAX = 60_000;
const POOL_BYTES = 1024 ** 3;
/** Any credentials will do: the store looks at none. */
const ENVIRONMENT = {
  AWS_REGION: "us-east-1",
  AWS_ACCESS_KEY_ID: "a",
  AWS_SECRET_ACCESS_KEY: "b",
  SVC_LOG: "error",
};

interface Scan {
  readonly what: string;
  readonly sql: string;
}

/** Each reads a column that the other does not, so both are cold after one start. */
function scansWhere(condition: string): readonly Scan[] {
  return [
    {
      what: "count with LIKE over raw",
      sql: `SELECT count(*) AS n FROM events WHERE raw LIKE '%in 976 ms%' AND ${condition}`,
    },
    {
      what: "GROUP BY an attribute, with the greatest of another",
      sql: "SELECT attr_get(attributes, 'user.id') AS user, count(*) AS n, " +
        "max(attr_get(attributes, 'request.key')) AS greatest FROM events " +
        `WHERE ${condition} GROUP BY user ORDER BY n DESC, user LIMIT 10`,
    },
  ];
}

/** What a fleet of servers took for one statement. */
interface Taken {
  readonly ms: number;
  readonly answer: string;
  /** Bytes from the store and processor time in milliseconds, of each server. */
  readonly bytes: readonly number[];
  readonly cpuMs: readonly number[];
  /** The share of the machine's processor time that something used meanwhile. */
  readonly busyShare: number;
}

/** Rows that are read over links of one speed. */
interface Part {
  readonly rows: number;
  readonly bytesPerSec: number;
  readonly scans: readonly Scan[];
}

export const DISTRIBUTED: Benchmark = {
  name: "distributed",
  summary: "statements that 1, 2 and 4 query servers share, over links of their own",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTable(rows, {
      ...{ noiseBytes: NOISE_BYTES, keyBytes: KEY_BYTES, attributeColumnsMax: ATTRIBUTE_COLUMNS },
      rootUri: `s3://${BUCKET}`,
    });
    await Deno.mkdir(join(table.dir, "bench"));
    await Deno.symlink(join(table.dir, "warehouse"), join(table.dir, BUCKET));
    tell(`${formatCount(rows)} rows in ${table.paths.length} files`);
    const rounds = rows >= ROWS_OF_ROUNDS ? ROUNDS : 1;
    return [...await scans(table, rounds), ...await onFour(table)];
  },
};

/** Each part of the rows is read once in the life of a server. The last is kept for slow links. */
function partsOf({ rows }: TableFixture): { readonly first: Part; readonly measured: Part[] } {
  const ends = [0, FIRST_SHARE, FAST_SHARE, 1].map((share) => Math.floor(rows * share));
  const at = (row = 0) => START_NS + BigInt(row) * 1_000_000n;
  const [first, fast, slow] = ends.slice(1).map((end, part) => {
    const begin = ends[part] ?? 0;
    return {
      rows: end - begin,
      bytesPerSec: LINK_BYTES_PER_SEC,
      scans: scansWhere(`timestamp_ns >= ${at(begin)} AND timestamp_ns < ${at(end)}`),
    };
  });
  const slowly = { ...present(slow), bytesPerSec: LINK_BYTES_PER_SEC / SLOW_LINK_SHARE };
  return { first: present(first), measured: [present(fast), slowly] };
}

/** The statements by fleets in turn, each fleet started anew for each round. */
async function scans(table: TableFixture, rounds: number): Promise<BenchRow[]> {
  const { first, measured: parts } = partsOf(table);
  const taken = new Map<string, Taken[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const count of COUNTS) {
      await using fleet = await Fleet.start(table, count);
      for (const { sql } of first.scans) await fleet.warmUp(sql);
      for (const { bytesPerSec, scans } of parts) {
        await fleet.limit(bytesPerSec);
        for (const { sql } of scans) {
          const key = `${count} ${sql}`;
          const one = await fleet.take(sql);
          taken.set(key, [...taken.get(key) ?? [], one]);
          tell(`${count} servers, ${formatMs(one.ms)}: ${sql.slice(0, 40)}`);
        }
      }
    }
  }
  return parts.flatMap((part) =>
    part.scans.flatMap(({ what, sql }) => {
      const of = (count: number) => taken.get(`${count} ${sql}`) ?? [];
      const about = `${what}, ${formatCount(part.rows)} rows, links of ${
        formatCount(part.bytesPerSec / 1e6)
      } MB/s`;
      return COUNTS.slice(1).map((count) =>
        scanRow(`${about}: ${count} servers`, { alone: of(1), shared: of(count), count })
      );
    })
  );
}

/** Progress: a run takes minutes. */
function tell(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`distributed: ${text}\n`));
}

function scanRow(
  what: string,
  { alone, shared, count }: {
    readonly alone: readonly Taken[];
    readonly shared: readonly Taken[];
    readonly count: number;
  },
): BenchRow {
  checkSame([...alone, ...shared]);
  const ratio = msOf(alone) / msOf(shared);
  const bar = RATIO_MIN[count] ?? 0;
  return {
    what,
    ours: `${formatMs(msOf(shared))}; each ${eachOf(shared)}`,
    reference: `one server ${formatMs(msOf(alone))}; ${eachOf(alone)}`,
    ratio: formatRatio(ratio),
    target: `≥ ${formatRatio(bar)}`,
    reached: ratio >= bar,
  };
}

function msOf(taken: readonly Taken[]): number {
  return median(taken.map(({ ms }) => ms));
}

/** The least and the most of the servers, in the run with the median time. */
function eachOf(taken: readonly Taken[]): string {
  const { bytes, cpuMs, busyShare } =
    taken.toSorted((a, b) => a.ms - b.ms)[(taken.length - 1) >> 1] ??
      { bytes: [], cpuMs: [], busyShare: NaN };
  return `${rangeOf(bytes.map((one) => one / 1e6))} MB and ${rangeOf(cpuMs)} ms of processor ` +
    `time, the machine ${formatCount(100 * busyShare)} % busy`;
}

function rangeOf(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map(formatCount);
  return least === most ? `${least}` : `${least} to ${most}`;
}

function checkSame(taken: readonly Taken[]): void {
  const answers = new Set(taken.map(({ answer }) => answer));
  if (answers.size !== 1) throw new Error(`answers differ: ${[...answers].join(" and ")}`);
}

/** What sharing costs where it gains nothing, and what a merge of many groups takes. */
async function onFour(table: TableFixture): Promise<BenchRow[]> {
  await using fleet = await Fleet.start(table, 4);
  // Links as fast as they can be.
  await fleet.limit(0);
  const end = START_NS + BigInt(GROUPS) * 1_000_000n;
  const groups = (aggregates: string) =>
    `SELECT timestamp_ns, ${aggregates} FROM events WHERE timestamp_ns < ${end} ` +
    "GROUP BY timestamp_ns ORDER BY 2 DESC, 1 LIMIT 10";
  return [
    await overhead(fleet),
    await merge(fleet, {
      what: "count, sum, min and an average",
      sql: groups("count(*) AS n, sum(length(raw)) AS s, min(host) AS h, avg(length(raw)) AS a"),
    }),
    await merge(fleet, {
      what: "an average beyond 2^52",
      sql: groups("avg(timestamp_ns) AS a"),
    }),
  ];
}

async function overhead(fleet: Fleet): Promise<BenchRow> {
  const sql = "SELECT count(*) AS n FROM events";
  const shared: number[] = [];
  const alone: number[] = [];
  for (let round = -OVERHEAD_ROUNDS / 4; round < OVERHEAD_ROUNDS; round += 1) {
    const distributed = await fleet.ask("/distributed", sql);
    const local = await fleet.ask("/local", sql);
    if (local.stats.served_by === "scan") throw new Error("no summary answers the count");
    if (round < 0) continue;
    shared.push(distributed.ms);
    alone.push(local.ms);
  }
  const more = median(shared) - median(alone);
  return {
    what: "count that a summary answers, through /sql/distributed of 4 servers",
    ours: `median ${formatMs(median(shared))}`,
    reference: `/sql/local ${formatMs(median(alone))}`,
    ratio: `${formatMs(more)} more`,
    target: `≤ ${OVERHEAD_MS_MAX} ms more`,
    reached: more <= OVERHEAD_MS_MAX,
  };
}

async function merge(fleet: Fleet, { what, sql }: Scan): Promise<BenchRow> {
  const mergeMs: number[] = [];
  let rows = 0;
  for (let round = 0; round < MERGE_ROUNDS; round += 1) {
    const { stats: { phases: { distributed } } } = await fleet.ask("/distributed", sql);
    rows = (distributed?.shards ?? []).reduce((sum, shard) => sum + shard.rows, 0);
    mergeMs.push((distributed?.merge_micros ?? NaN) / 1_000);
  }
  return {
    what: `merge of ${formatCount(rows)} partial groups: ${what}`,
    ours: formatMs(median(mergeMs)),
    reference: "",
    ratio: "",
    target: `≤ ${formatMs(MERGE_MS_MAX)}`,
    reached: rows >= GROUPS && median(mergeMs) <= MERGE_MS_MAX,
  };
}

interface Answer {
  readonly ms: number;
  readonly rows: unknown;
  readonly stats: Stats;
}

/** Query servers that know each other, each with a store of its own over the same files. */
class Fleet implements AsyncDisposable {
  private constructor(
    private readonly processes: BenchServers,
    private readonly servers: readonly RunningRole[],
    /** Ports of their stores. */
    private readonly stores: readonly number[],
  ) {}

  static async start(table: TableFixture, count: number): Promise<Fleet> {
    const processes = await BenchServers.create("distributed");
    try {
      const ports = freePorts(count);
      const peers = ports.map((port) => `127.0.0.1:${port}`).join(",");
      const stores = await Promise.all(
        ports.map(() => processes.startStore(table.dir, { waitMs: WAIT_MS })),
      );
      const servers = await Promise.all(ports.map(async (port, at) => {
        return await processes.startQuery(table.dir, [
          ...["--warehouse-url", `s3://${BUCKET}`, "--peers", peers, "--audit-disabled"],
          ...["--cache-dir", join(processes.dir, `cache-${at}`)],
          ...["--threads", "1", "--memory-pool-bytes", String(POOL_BYTES)],
        ], {
          port,
          env: { ...ENVIRONMENT, AWS_ENDPOINT_URL: `http://127.0.0.1:${stores[at]}` },
        });
      }));
      const fleet = new Fleet(processes, servers, stores);
      await Promise.all(
        servers.map(({ port }) =>
          until(() => knowsOthers(port, count - 1), { msMax: READY_MS_MAX })
        ),
      );
      return fleet;
    } catch (error) {
      await processes[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** From now on each store sends so many bytes a second. */
  async limit(bytesPerSec: number): Promise<void> {
    for (const port of this.stores) {
      const url = `http://127.0.0.1:${port}/?rate=${bytesPerSec}`;
      await (await fetch(url, { method: "PUT" })).body?.cancel();
    }
  }

  /** Asks each server for the statement alone, and then to share it. */
  async warmUp(query: string): Promise<void> {
    const isFleet = this.servers.length > 1;
    for (const path of ["/local", ...isFleet ? ["/distributed"] : []]) {
      for (const at of this.servers.keys()) await this.ask(path, query, at);
    }
  }

  /** Asks the first server, or another one. Errors: any answer but 200. */
  async ask(path: string, query: string, at = 0): Promise<Answer> {
    const startMs = performance.now();
    const response = await fetch(`http://127.0.0.1:${this.servers[at]?.port}/api/v1/sql${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query, default_order: false }),
    });
    const text = await response.text();
    const ms = performance.now() - startMs;
    if (!response.ok) throw new Error(`${response.status}: ${text}`);
    return { ms, ...JSON.parse(text) };
  }

  /** The statement by all of them; one alone is asked alone. */
  async take(sql: string): Promise<Taken> {
    const before = await Promise.all(this.servers.map(useOf));
    const path = this.servers.length === 1 ? "/local" : "/distributed";
    const { value: { ms, rows, stats }, busyShare } = await withProcessorShares(
      () => this.ask(path, sql),
    );
    if (stats.served_by !== "scan") throw new Error(`${stats.served_by} answers ${sql}`);
    const { distributed } = stats.phases;
    if (this.servers.length > 1 && distributed?.shards === undefined) {
      throw new Error(`it was not shared: ${distributed?.reason}`);
    }
    const after = await Promise.all(this.servers.map(useOf));
    const growth = (of: keyof Use) => after.map((use, at) => use[of] - (before[at]?.[of] ?? 0));
    const answer = JSON.stringify(rows);
    return { ms, answer, busyShare, bytes: growth("bytes"), cpuMs: growth("cpuMs") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.processes[Symbol.asyncDispose]();
  }
}

interface Use {
  readonly bytes: number;
  readonly cpuMs: number;
}

/** What a server and its DuckDB have used so far. */
async function useOf({ pid, metricsPort }: RunningRole): Promise<Use> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const fetched = text.matchAll(/^svc_query_object_store_fetched_bytes_total\S* (\S+)$/gm);
  return {
    bytes: fetched.reduce((sum, [, value]) => sum + Number(value), 0),
    cpuMs: 1_000 * totalCpuSecs(processTree(pid)),
  };
}

async function knowsOthers(port: number, count: number): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/debug/peers`);
  const { peers } = await response.json() as { readonly peers: readonly { state: string }[] };
  return peers.filter(({ state }) => state === "ready").length === count;
}
