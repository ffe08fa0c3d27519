/**
 * The query server as a process with a pool that is too small for what is asked: 200 statements of
 * all kinds at once, and SIGKILL while statements spill. Two cores may be shared with other work,
 * so times have slack; the measured ones are printed.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { processArguments } from "../../cli/permissions.ts";
import { type LabEvent, WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { residentBytesOf } from "../../shared/testing/processes.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { leastOf } from "../../shared/testing/least_of.ts";

const MIB = 2 ** 20;
const POOL_BYTES = 128 * MIB;
const SPILL_BYTES = 256 * MIB;
const BURST = 200;
const ROWS = 200_000;
const FILES = 4;
const HOSTS = 50;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const READY_MS_MAX = 30_000;
/**
 * The promise is 100 ms, and 36 to 77 ms were the slowest where other work shared the two cores.
 * The slowest has slack, and is that of one burst of five at the least, because a test machine may
 * stand still for longer.
 */
const HEALTH_MEDIAN_MS_MAX = 50;
const HEALTH_MS_MAX = 500;
/**
 * What a second burst may add to what the first left: 19 to 67 MiB were measured, and any leak of
 * the pool is more.
 */
const RESIDENT_GROWTH_MAX = POOL_BYTES;

/** Wide, and no two alike, so that a sort by a hash of it cannot be kept small. */
const rawOf = (n: number) => `${n} ${"abcdefghij".repeat(24)} ${(n * 7_919) % 1_000_003}`;

const SORT = "SELECT count(*) FROM (SELECT raw, row_number() OVER (ORDER BY md5(raw)) AS n " +
  "FROM events) WHERE n % 7 = 0";

class QueryProcess implements AsyncDisposable {
  readonly url: string;
  readonly metricsUrl: string;
  readonly spillDir: string;
  #child: Deno.ChildProcess | undefined;
  readonly #args: readonly string[];

  constructor(dataDir: string) {
    const [port, metricsPort] = freePorts(2);
    this.url = `http://127.0.0.1:${port}`;
    this.metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`;
    this.spillDir = join(dataDir, "query-cache/engine/engine/p1/spill");
    this.#args = processArguments("query", dataDir, [
      ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
      ...["--memory-pool-bytes", String(POOL_BYTES), "--spill-max-bytes", String(SPILL_BYTES)],
      // Waits are long, so that the load stays on the pool instead of being refused before it.
      ...["--admission-wait-ms", "30000", "--dear-wait-ms", "30000"],
      ...["--threads", "2", "--audit-disabled"],
    ]);
  }

  async start(): Promise<void> {
    this.#child = new Deno.Command(Deno.execPath(), {
      args: [...this.#args],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    await eventually("it is ready", READY_MS_MAX, async () => {
      const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok === true;
    });
  }

  async end(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#child?.kill(signal);
    await this.#child?.status;
    this.#child = undefined;
  }

  ask(body: Record<string, unknown>, init: RequestInit = {}): Promise<Response> {
    return fetch(`${this.url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    });
  }

  async pool(): Promise<PoolReport> {
    return await (await fetch(`${this.url}/debug/memory-pool`)).json();
  }

  /** Sum of `svc_query_requests_total` by outcome. */
  async outcomes(): Promise<Record<string, number>> {
    const page = await (await fetch(this.metricsUrl)).text();
    const pattern = /^svc_query_requests_total\{.*outcome="(\w+)"\} (\d+)$/gm;
    const sums: Record<string, number> = {};
    for (const [, outcome = "", count] of page.matchAll(pattern)) {
      sums[outcome] = (sums[outcome] ?? 0) + Number(count);
    }
    return sums;
  }

  /** Resident memory of the server and of its DuckDB, which is in a process of its own. */
  residentBytes(): Promise<number> {
    return residentBytesOf(this.#child?.pid ?? 0);
  }

  async spillFiles(): Promise<string[]> {
    const names: string[] = [];
    try {
      for await (const { name } of Deno.readDir(this.spillDir)) names.push(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
    return names;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGTERM");
  }
}

interface PoolReport {
  readonly reserved_bytes: number;
  readonly spill_bytes: number;
  readonly admission: { readonly reserved_bytes: number; readonly waiting: number };
  readonly top_consumers: readonly { readonly tag: string; readonly bytes: number }[];
}

interface Kind {
  readonly body: Record<string, unknown>;
  /** Statuses it may end with, besides those of overload for what reads rows. */
  readonly statuses: readonly number[];
  /** The client goes away after this many milliseconds. */
  readonly leavesMs?: number;
  /** Checks the text of a 200. */
  check?(text: string): void;
}

const OVERLOAD = [429, 503];
const rowsOf = (text: string) => JSON.parse(text).rows;
const SEVENS =
  Array.from({ length: ROWS }, (_, n) => rawOf(n)).filter((raw) => raw.includes("77")).length;

const KINDS: readonly Kind[] = [
  {
    body: { query: "SELECT * FROM events LIMIT 100" },
    statuses: [200, ...OVERLOAD],
    check: (text) => assert.equal(JSON.parse(text).row_count, 100),
  },
  {
    body: { query: "SELECT raw FROM events", limits: { max_rows_returned: 50 } },
    statuses: [413, ...OVERLOAD],
  },
  {
    body: { query: "SELECT raw FROM events LIMIT 2000", format: "ndjson" },
    statuses: [200, ...OVERLOAD],
    check: checkStream,
  },
  {
    body: { query: "SELECT count(*) FROM events WHERE raw LIKE '%77%'" },
    statuses: [200, ...OVERLOAD],
    check: (text) => assert.deepEqual(rowsOf(text), [[SEVENS]]),
  },
  {
    body: { query: "SELECT host, count(*) FROM events GROUP BY host ORDER BY host" },
    statuses: [200, ...OVERLOAD],
    check: (text) => {
      const rows: [string, number][] = rowsOf(text);
      assert.equal(rows.length, HOSTS);
      assert(rows.every(([, count]) => count === ROWS / HOSTS));
    },
  },
  {
    body: { query: SORT },
    statuses: [200, ...OVERLOAD],
    check: (text) => assert.deepEqual(rowsOf(text), [[Math.floor(ROWS / 7)]]),
  },
  { body: { query: "SELECT no_such_column FROM events" }, statuses: [400, ...OVERLOAD] },
  {
    body: {
      query: "SELECT count(*) FROM range(900000000) a, range(900) b WHERE a.range + b.range < 0",
      limits: { timeout_seconds: 0.5 },
    },
    statuses: [504, ...OVERLOAD],
  },
  { body: { query: SORT }, statuses: [200, 499, ...OVERLOAD], leavesMs: 150 },
  {
    body: { query: "SELECT raw FROM events LIMIT 90000", format: "ndjson" },
    statuses: [200, 499, ...OVERLOAD],
    leavesMs: 400,
  },
];

/** Whole rows, or rows and a trailer that says that the pool was full. */
function checkStream(text: string): void {
  const lines = text.trimEnd().split("\n");
  const last = JSON.parse(lines.at(-1) ?? "");
  if (last._meta === undefined) return assert.equal(lines.length, 2000);
  assert.deepEqual([last._meta, last.code, last.retry_after_secs], ["error", 503, 5]);
}

Deno.test({
  name: "200 statements at once with a tight pool end as specified, and leave nothing behind",
  async fn() {
    await withQuery(async (server) => {
      // Allocators keep what a first burst needed; a leak shows in the second.
      await burst(server);
      await idle(server);
      const residentBefore = await server.residentBytes();
      let resident = residentBefore;

      const slowestMs = await leastOf(HEALTH_MS_MAX, async () => {
        const countsBefore = await server.outcomes();
        using probe = probeHealth(server.url);
        const startedMs = performance.now();
        const ends = await burst(server);
        const tookMs = performance.now() - startedMs;
        const healthMs = await probe.stop();
        const medianMs = healthMs[Math.floor(healthMs.length / 2)] ?? Infinity;

        const counted = await idle(server);
        const tally = tallyOf(ends);
        resident = await server.residentBytes();
        print(
          `200 statements in ${Math.round(tookMs)} ms: ${JSON.stringify(tally)}; ` +
            `${healthMs.length} /healthz, median ${Math.round(medianMs)}, ` +
            `slowest ${healthMs.slice(-5).map(Math.round)} ms; ` +
            `resident ${mib(residentBefore)} MiB, then ${mib(resident)} MiB`,
        );
        assert((tally["200"] ?? 0) >= 40, "the server went on answering");
        const total = Object.values(counted).reduce((sum, count) => sum + count, 0) -
          Object.values(countsBefore).reduce((sum, count) => sum + count, 0);
        assert.equal(total, BURST, "each one is counted once");
        const left = (counted["cancelled"] ?? 0) - (countsBefore["cancelled"] ?? 0);
        // Who leaves while the last byte is on its way was answered, as the server sees it.
        assert(left > 0 && left <= (tally["499"] ?? 0), `${left} left, as the server sees it`);
        assert(medianMs < HEALTH_MEDIAN_MS_MAX, `/healthz took ${medianMs} ms in the median`);
        return healthMs.at(-1) ?? Infinity;
      });
      assert(slowestMs < HEALTH_MS_MAX, `/healthz took ${slowestMs} ms`);
      assert(resident - residentBefore < RESIDENT_GROWTH_MAX, `${mib(resident)} MiB resident`);
      assert.deepEqual(await server.spillFiles(), []);
    });
  },
});

Deno.test({
  name: "SIGKILL while statements spill leaves files that the next start removes",
  async fn() {
    await withQuery(async (server) => {
      const sorts = Array.from(
        { length: 3 },
        () =>
          server.ask({ query: SORT }).then((response) => response.body?.cancel()).catch(() => {}),
      );
      await eventually(
        "a statement spills",
        20_000,
        async () => (await server.spillFiles()).length > 0,
      );
      await server.end("SIGKILL");
      await Promise.all(sorts);
      assert.notDeepEqual(await server.spillFiles(), [], "the kill came while it spilled");
      await server.start();
      assert.deepEqual(await server.spillFiles(), []);
      const counted = await server.ask({ query: "SELECT count(*) FROM events" });
      assert.deepEqual((await counted.json()).rows, [[ROWS]]);
    });
  },
});

async function withQuery(test: (server: QueryProcess) => Promise<void>): Promise<void> {
  await using lab = await WarehouseLab.open();
  await makeDataFolders(lab.dir);
  for (let file = 0; file < FILES; file++) {
    const first = file * ROWS / FILES;
    const rows: LabEvent[] = Array.from({ length: ROWS / FILES }, (_, at) => ({
      ns: START_NS + BigInt(first + at) * 1_000_000n,
      host: `host-${(first + at) % HOSTS}`,
      raw: rawOf(first + at),
    }));
    await lab.commit(rows);
  }
  await using server = new QueryProcess(lab.dir);
  await server.start();
  await test(server);
}

function burst(server: QueryProcess): Promise<number[]> {
  return Promise.all(
    Array.from({ length: BURST / KINDS.length }, () => KINDS).flat().map(
      (kind) => askOne(server, kind),
    ),
  );
}

/** The status it ended with; 499 when the client left first. */
async function askOne(server: QueryProcess, kind: Kind): Promise<number> {
  const leaving = new AbortController();
  const timer = kind.leavesMs === undefined
    ? undefined
    : setTimeout(() => leaving.abort(), kind.leavesMs);
  let status = 499;
  try {
    const response = await server.ask(kind.body, { signal: leaving.signal });
    const text = await response.text();
    status = response.status;
    if (status === 200) kind.check?.(text);
    if (OVERLOAD.includes(status)) checkRefusal(response, text);
  } catch (error) {
    if (!leaving.signal.aborted || error instanceof assert.AssertionError) throw error;
  } finally {
    clearTimeout(timer);
  }
  assert(kind.statuses.includes(status), `${status} for ${JSON.stringify(kind.body)}`);
  return status;
}

function checkRefusal(response: Response, text: string): void {
  const { reason, code } = JSON.parse(text);
  assert.equal(code, response.status);
  assert.equal(reason, response.status === 429 ? "admission_full" : "pool_exhausted");
  assert.equal(response.headers.get("retry-after"), response.status === 429 ? "1" : "5");
}

/**
 * Waits until nothing is reserved, held or spilled; what DuckDB keeps of files is no
 * reservation.
 */
async function idle(server: QueryProcess): Promise<Record<string, number>> {
  let report = await server.pool();
  await eventually(() => `nothing is held: ${JSON.stringify(report)}`, 5_000, async () => {
    report = await server.pool();
    const cached = report.top_consumers
      .filter(({ tag }) => tag === "external_file_cache" || tag === "object_cache")
      .reduce((sum, { bytes }) => sum + bytes, 0);
    const { reserved_bytes, waiting } = report.admission;
    return reserved_bytes + waiting + report.spill_bytes === 0 &&
      report.reserved_bytes - cached < MIB;
  });
  return await server.outcomes();
}

/** Asks for `/healthz` from a thread of its own: the clients of the load keep this one busy. */
function probeHealth(url: string) {
  const code = `
    const timesMs = [];
    let over = false;
    self.onmessage = () => over = true;
    while (!over) {
      const startedMs = performance.now();
      const response = await fetch("${url}/healthz");
      await response.body?.cancel();
      timesMs.push(response.ok ? performance.now() - startedMs : Infinity);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    self.postMessage(timesMs);`;
  const worker = new Worker(`data:text/javascript,${encodeURIComponent(code)}`, { type: "module" });
  return {
    /** Ends it; its times in ascending order. */
    async stop(): Promise<number[]> {
      const answered = Promise.withResolvers<number[]>();
      worker.onmessage = (event: MessageEvent<number[]>) => answered.resolve(event.data);
      worker.postMessage("over");
      return (await answered.promise).toSorted((a, b) => a - b);
    },
    [Symbol.dispose]: () => worker.terminate(),
  };
}

function tallyOf(statuses: readonly number[]): Record<string, number> {
  const tally: Record<string, number> = {};
  for (const status of statuses) tally[status] = (tally[status] ?? 0) + 1;
  return tally;
}

const print = (line: string) => Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
const mib = (bytes: number) => Math.round(bytes / MIB);

async function eventually(
  what: string | (() => string),
  ms: number,
  holds: () => Promise<boolean>,
): Promise<void> {
  const startedMs = performance.now();
  while (!await holds()) {
    if (performance.now() - startedMs > ms) {
      assert.fail(`still not so: ${typeof what === "string" ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
