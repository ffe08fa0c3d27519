/**
 * Statements that cannot be interrupted, and such as take all memory, against a query server under
 * its own permission set. They cost the process that runs them, and nobody else more than a short
 * wait.
 */

import { ok, strictEqual } from "node:assert/strict";
import { makeDataFolders } from "../../../cli/data_folders.ts";
import { processArguments, workspacePath } from "../../../cli/permissions.ts";
import { freePorts } from "../../../shared/testing/free_ports.ts";
import { HANGING } from "../../../shared/testing/hanging_statement.ts";
import { processesBelow, residentBytesOf } from "../../../shared/testing/processes.ts";
import { until } from "../../../shared/testing/until.ts";
import { YIELD_LITTLE } from "../../../shared/testing/yield_little.ts";
import { GROW, HANG, waitAt } from "../../apps/hanging_query_server.ts";

const ignore = Deno.build.os !== "linux";
const HUNG = `SELECT '${HANG}' AS x`;
/** Dear by its price. */
const HUNG_DEAR = `SELECT '${HANG}' AS x, count(*) FROM range(50000000) GROUP BY 1`;
const POOL_BYTES = 2 ** 30;
const LIGHT_TURNS = 6;

interface Server extends AsyncDisposable {
  readonly pid: number;
  /** Such statements as `HUNG` and `HUNG_DEAR`, which take no processor time. */
  readonly waiting: { readonly light: string; readonly dear: string };
  /** One more, and what lets it end. */
  readonly held: { readonly query: string; release(): Promise<void> };
  post(query: string, fields?: Record<string, unknown>): Promise<Response>;
  ready(): Promise<{ readonly status: number; readonly text: string }>;
  metric(series: string): Promise<number>;
  /** Sends a signal; resolves when the process has ended, with what it said. */
  end(signal: Deno.Signal): Promise<string>;
}

const DEAR = "SELECT count(*) AS n FROM range(20000000)";

async function startServer(entry = "tests/apps/hanging_query_server.ts"): Promise<Server> {
  const dataDir = await Deno.makeTempDir({ prefix: "hung-statement-" });
  await makeDataFolders(dataDir);
  const pipe = `${dataDir}/warehouse/pipe`;
  const held = `${dataDir}/warehouse/held`;
  strictEqual((await new Deno.Command("mkfifo", { args: [pipe, held] }).output()).code, 0);
  const [port, metricsPort] = freePorts(2);
  const args = processArguments("query", dataDir, [
    ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
    ...["--threads", "2", "--memory-pool-bytes", String(POOL_BYTES), "--dear-wait-ms", "20000"],
    ...YIELD_LITTLE,
  ]).map((word) => word === workspacePath("query/main.ts") ? workspacePath(entry) : word);
  // The entry lies among the tests, whose packages the role may not read.
  args.splice(1, 0, "--config", workspacePath("deno.json"));
  const process = new Deno.Command(Deno.execPath(), {
    args,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const said = new Response(process.stderr).text();
  const url = `http://127.0.0.1:${port}`;
  const ready = async () => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) });
    return { status: response.status, text: await response.text() };
  };
  await until(async () => (await ready().catch(() => undefined))?.status === 200);
  let hasEnded = false;
  const end = async (signal: Deno.Signal) => {
    if (!hasEnded) process.kill(signal);
    hasEnded = true;
    await process.status;
    return await said;
  };
  const server: Server = {
    pid: process.pid,
    waiting: {
      light: HUNG.replace(HANG, waitAt(pipe)),
      dear: HUNG_DEAR.replace(HANG, waitAt(pipe)),
    },
    held: {
      query: HUNG_DEAR.replace(HANG, waitAt(held)),
      // DuckDB renders a row so.
      release: () => Deno.writeTextFile(held, '["released"],'),
    },
    ready,
    end,
    post: (query, fields = {}) =>
      fetch(`${url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query, ...fields }),
        signal: AbortSignal.timeout(200_000),
      }),
    async metric(series) {
      const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
      const line = page.split("\n").find((line) => line.startsWith(`${series} `));
      return Number(line?.slice(series.length + 1) ?? 0);
    },
    async [Symbol.asyncDispose]() {
      await end("SIGKILL");
      await Deno.remove(dataDir, { recursive: true });
    },
  };
  // The process of expensive statements is there from the first of them on.
  await (await server.post(DEAR)).text();
  return server;
}

/** Asks again and again until `over`; all answers are 200, or say when to come back. */
async function askMeanwhile(server: Server, over: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  void over.finally(() => isOver = true);
  const statuses: number[] = [];
  while (!isOver) {
    const response = await server.post("SELECT 42", { limits: { timeout_seconds: 30 } });
    const text = await response.text();
    statuses.push(response.status);
    const passes = [429, 503].includes(response.status) && response.headers.has("retry-after");
    ok(response.status === 200 || passes, `${response.status} ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return statuses;
}

/** What `/readyz` says until `over`, each text once. */
async function readyMeanwhile(server: Server, over: Promise<unknown>): Promise<Set<string>> {
  let isOver = false;
  void over.finally(() => isOver = true);
  const told = new Set<string>();
  while (!isOver) {
    const { status, text } = await server.ready();
    told.add(status === 200 ? "ready" : text);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return told;
}

/** Each `fn` leaves a server that is ready, with whole processes, to the next one. */
interface Step {
  readonly name: string;
  readonly fn: (server: Server) => Promise<void>;
}

const restartsOf = (engine: string) =>
  `svc_query_engine_restarts_total{engine="${engine}",reason="deadline"}`;

const HANG_ALONE: readonly Step[] = ([
  ["light", HUNG, LIGHT_TURNS],
  ["dear", HUNG_DEAR, 2],
] as const).map(([engine, query, count]) => ({
  name:
    `${count} ${engine} statements that cannot be interrupted cost their process, not the server`,
  fn: async (server) => {
    const restarts = await server.metric(restartsOf(engine));
    const hung = Promise.all(
      Array.from({ length: count }, async () => {
        const response = await server.post(query, { limits: { timeout_seconds: 1 } });
        return [response.status, (await response.json()).reason];
      }),
    );
    const [ends, statuses, told] = await Promise.all([
      hung,
      askMeanwhile(server, hung),
      readyMeanwhile(server, hung),
    ]);
    for (const end of ends) strictEqual(String(end), "504,timeout");
    ok(statuses.length > 0);
    const reasons = [...told].join("\n");
    ok(/being replaced|past their deadlines/.test(reasons), reasons);
    // They are over, and so is what they cost.
    await until(async () => (await server.ready()).status === 200);
    const after = await server.post("SELECT 42");
    strictEqual(after.status, 200, await after.text());
    const dear = await server.post(DEAR);
    strictEqual((await dear.json()).rows?.[0]?.[0], 20_000_000);
    ok(await server.metric(restartsOf(engine)) > restarts);
  },
}));

const ROWS = 300_000;
/**
 * It takes longer than the process of the one beside it lives, which is some 3 s, and its rows come
 * all the while.
 */
const LONG = `SELECT ${"md5(".repeat(50)}i::VARCHAR${")".repeat(50)} AS m FROM range(${ROWS}) t(i)`;

const ASKED_AGAIN: readonly Step[] = ["before its first row", "between its rows"].map((when) => ({
  name: `a statement beside one that cannot be interrupted is asked again ${when}, and never knows`,
  fn: async (server) => {
    const restarts = await server.metric(restartsOf("dear"));
    const hung = server.post(server.waiting.dear, { limits: { timeout_seconds: 1 } });
    const isHeld = when === "before its first row";
    const asked = server.post(isHeld ? server.held.query : LONG, {
      limits: { timeout_seconds: 180, max_rows_returned: ROWS },
    });
    if (isHeld) {
      // It cannot end before its process is gone.
      await until(async () => await server.metric(restartsOf("dear")) > restarts);
      await server.held.release();
    }
    const beside = await asked;
    const { rows } = await beside.json();
    strictEqual(beside.status, 200);
    strictEqual(new Set(rows.flat()).size, isHeld ? 1 : ROWS);
    strictEqual((await hung).status, 504);
    await (await hung).body?.cancel();
    strictEqual(await server.metric(restartsOf("dear")), restarts + 1);
  },
}));

const CUT_STREAM: Step = {
  name: "a stream beside a statement that cannot be interrupted ends with 503 once it has begun",
  fn: async (server) => {
    const restarts = await server.metric(restartsOf("dear"));
    const hung = server.post(server.waiting.dear, { limits: { timeout_seconds: 1 } });
    const beside = await server.post("SELECT md5(i::VARCHAR) AS m FROM range(20000000) t(i)", {
      format: "ndjson",
      limits: { timeout_seconds: 180, max_rows_returned: 20_000_000 },
    });
    strictEqual(beside.status, 200);
    // Nobody reads its rows until its process is gone, so it cannot end before.
    await until(async () => await server.metric(restartsOf("dear")) > restarts);
    const lines = (await beside.text()).trimEnd().split("\n");
    const { _meta, code, retry_after_secs } = JSON.parse(lines.at(-1) ?? "");
    strictEqual(String([_meta, code, retry_after_secs]), "error,503,1");
    ok(lines.length > 1);
    await (await hung).body?.cancel();
  },
};

const REPLACED: Step = {
  name: "a process of DuckDB that stops, or is killed, is replaced, and /readyz tells",
  fn: async (server) => {
    for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
      for (const pid of await processesBelow(server.pid)) {
        Deno.kill(pid, signal);
        await until(async () => (await server.ready()).status === 503, { pollMs: 1 });
        await until(async () => (await server.ready()).status === 200);
        const after = await server.post(DEAR);
        strictEqual((await after.json()).rows?.[0]?.[0], 20_000_000);
      }
    }
  },
};

const ENDED: Step = {
  name: "SIGTERM ends a server within its bound whatever statements do, and leaves no process",
  fn: async (server) => {
    const { light, dear } = server.waiting;
    const hung = [light, light, dear].map((query) =>
      server.post(query, { limits: { timeout_seconds: 300 } }).then(
        (response) => response.body?.cancel(),
        () => {},
      )
    );
    await until(async () => await server.metric("svc_query_in_flight") === hung.length);
    const children = await processesBelow(server.pid);
    strictEqual(children.length, 2);
    const startMs = performance.now();
    const said = await server.end("SIGTERM");
    ok(performance.now() - startMs < 25_000);
    await Promise.all(hung);
    for (const pid of children) strictEqual(await isAlive(pid), false);
    ok(/statement [0-9a-f]{16} of tenant/.test(said), said);
    ok(!said.includes("wait at"), "the log has no statement");
  },
};

// They share a server: it goes on after each, as it must.
Deno.test({
  name: "statements that cannot be interrupted, one after the other at one server",
  ignore,
  fn: async (t) => {
    await using server = await startServer();
    for (const { name, fn } of [...HANG_ALONE, ...ASKED_AGAIN, CUT_STREAM, REPLACED, ENDED]) {
      const passed = await t.step(name, async () => {
        await until(async () => (await server.ready()).status === 200);
        await (await server.post(DEAR)).text();
        await fn(server);
      });
      // What follows would say nothing.
      if (!passed) return;
    }
  },
});

Deno.test({
  name: "SIGKILL of a server leaves none of its processes, also while a statement hangs",
  ignore,
  fn: async () => {
    await using server = await startServer();
    const hung = server.post(server.waiting.light, { limits: { timeout_seconds: 300 } })
      .catch(() => undefined);
    await until(async () => await server.metric("svc_query_in_flight") === 1);
    const children = await processesBelow(server.pid);
    strictEqual(children.length, 2);
    await server.end("SIGKILL");
    await hung;
    await until(async () => (await Promise.all(children.map(isAlive))).every((alive) => !alive));
  },
});

Deno.test({
  name: "statements that take memory beyond the pool are 503 before the machine is out of it",
  ignore,
  fn: async () => {
    await using server = await startServer();
    let most = 0;
    const grown = Promise.all(
      [1, 2].map(async () => {
        const response = await server.post(`SELECT '${GROW}' AS x`);
        return [
          response.status,
          response.headers.get("retry-after"),
          (await response.json()).reason,
        ];
      }),
    );
    let isOver = false;
    void grown.finally(() => isOver = true);
    while (!isOver) {
      most = Math.max(most, await residentBytesOf(server.pid));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    for (const end of await grown) strictEqual(String(end), "503,5,pool_exhausted");
    // Two processes of 0.25 and 0.75 GiB, 0.5 GiB each beyond the pool, and what they are without.
    ok(most < 3 * 2 ** 30, `${most} bytes`);
    const trips = 'svc_query_breaker_trips_total{breaker="resident_memory"}';
    const ends = 'svc_query_engine_restarts_total{engine="light",reason="memory"}';
    ok(await server.metric(trips) + await server.metric(ends) >= 1);
    await until(async () => (await server.post("SELECT 42")).status === 200);
  },
});

Deno.test({
  name: "the query server as it is outlives LIKE patterns that nothing interrupts",
  ignore,
  fn: async () => {
    await using server = await startServer("query/main.ts");
    const asked = Array.from({ length: LIGHT_TURNS }, async () => {
      const response = await server.post(HANGING, { limits: { timeout_seconds: 1 } });
      await response.body?.cancel();
      return response.status;
    });
    // Linear patterns would answer.
    for (const status of await Promise.all(asked)) ok([200, 400, 429, 503, 504].includes(status));
    await until(async () => (await server.ready()).status === 200);
    strictEqual((await server.post("SELECT 42")).status, 200);
  },
});

async function isAlive(pid: number): Promise<boolean> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`).catch(() => "State:\tZ");
  return !/^State:\s*Z/m.test(status);
}
