/**
 * Servers that share statements, under fire: workers are killed, stopped and started while clients
 * ask. Every answer is the right one, and none fails but for the coordinator's own loss.
 */

import assert from "node:assert/strict";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { leastOf } from "../../shared/testing/least_of.ts";
import { processorMsOf } from "../../shared/testing/processes.ts";
import { until } from "../../shared/testing/until.ts";
import { QueryFleet } from "./query_fleet.ts";

const START_NS = 1_795_132_800_000_000_000n;
const FILES = 12;
const ROWS_A_FILE = 4_000;
const CLIENTS = 8;
const ARGS = ["--threads", "1", "--memory-pool-bytes", String(256 * 2 ** 20)];

const STATEMENTS = [
  "SELECT length(raw) AS n, count(*) AS c, max(timestamp_ns)::VARCHAR AS t FROM events GROUP BY 1 ORDER BY 1",
  "SELECT raw FROM events WHERE raw LIKE '%77%' ORDER BY timestamp_ns DESC LIMIT 50",
  "SELECT count(DISTINCT raw) AS d, sum(length(raw)) AS s FROM events WHERE raw LIKE '%1%'",
];

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  for (let file = 0; file < FILES; file += 1) {
    await lab.commit(Array.from({ length: ROWS_A_FILE }, (_, at) => ({
      ns: START_NS + BigInt(file * ROWS_A_FILE + at) * 1_000_000n,
      raw: `row ${file * ROWS_A_FILE + at} ${"x".repeat(at % 9)}`,
    })));
  }
  return lab;
}

interface Told {
  readonly rows: unknown;
  readonly stats: {
    readonly phases: { readonly distributed?: { readonly mode: string; readonly reason?: string } };
  };
}

async function ask(url: string, path: string, query: string, signal?: AbortSignal): Promise<Told> {
  const response = await fetch(`${url}/api/v1/sql${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, default_order: false }),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  if (response.status === 429) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    return await ask(url, path, query, signal);
  }
  assert.equal(response.status, 200, `${query}: ${text}`);
  return JSON.parse(text);
}

Deno.test({
  name: "POST /api/v1/sql/distributed answers right while workers are killed and stopped",
  async fn() {
    await using lab = await openLab();
    await using fleet = await QueryFleet.start({ dataDir: lab.dir, count: 3, args: ARGS });
    const { url } = fleet.at(0);
    const expected = new Map<string, unknown>();
    for (const sql of STATEMENTS) expected.set(sql, (await ask(url, "/local", sql)).rows);
    let isOver = false;
    const modes = new Map<string, number>();
    const client = async (first: number) => {
      for (let at = first; !isOver; at += 1) {
        const sql = STATEMENTS[at % STATEMENTS.length] ?? "";
        const { rows, stats } = await ask(url, "/distributed", sql);
        assert.deepEqual(rows, expected.get(sql), sql);
        const mode = stats.phases.distributed?.mode ?? "none";
        modes.set(mode, (modes.get(mode) ?? 0) + 1);
      }
    };
    const asking = Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at)));
    const pause = (ms: number) =>
      Promise.race([asking, new Promise((resolve) => setTimeout(resolve, ms))]);
    await pause(1_500);
    fleet.signal(1, "SIGKILL");
    await pause(2_000);
    await fleet.restart(1);
    await fleet.ready(2, [fleet.at(0)]);
    fleet.signal(2, "SIGSTOP");
    await pause(3_000);
    fleet.signal(2, "SIGCONT");
    await pause(1_500);
    isOver = true;
    await asking;
    const shared = [...modes].filter(([mode]) => mode !== "local" && mode !== "none");
    assert.equal(shared.length, 2, JSON.stringify([...modes]));
    for (const server of fleet.servers) await until(async () => await inFlight(server) === 0);
  },
});

Deno.test({
  name: "a caller that leaves ends its statement on all servers within 1 s of their processor time",
  async fn() {
    await using lab = await openLab();
    await using fleet = await QueryFleet.start({ dataDir: lab.dir, count: 3, args: ARGS });
    const calls = Array.from({ length: 24 }, (_, at) => `md5(repeat(raw, ${150 + at}))`);
    const slow = `SELECT max(${calls.join(" || ")}) FROM events`;
    const workedMs = async () => {
      const all = fleet.servers.map(({ process }) => processorMsOf(process.pid));
      return (await Promise.all(all)).reduce((sum, ms) => sum + ms, 0);
    };
    // What they do besides counts, too: of some tries the least.
    const tookMs = await leastOf(1_000, async () => {
      const caller = new AbortController();
      const asked = ask(fleet.at(0).url, "/distributed", slow, caller.signal);
      const begun = Promise.all(
        fleet.servers.map((server) => until(async () => await inFlight(server) > 0)),
      );
      await Promise.race([begun, asked.then(() => assert.fail("it ended before"))]);
      const startMs = await workedMs();
      caller.abort();
      for (const server of fleet.servers) {
        await until(async () => await inFlight(server) === 0, { msMax: 30_000 });
      }
      const tookMs = await workedMs() - startMs;
      await assert.rejects(asked);
      return tookMs;
    });
    assert(tookMs < 1_000, `${tookMs} ms`);
  },
});

Deno.test({
  name: "two servers that share statements with each other at once both answer",
  async fn() {
    await using lab = await openLab();
    await using fleet = await QueryFleet.start({ dataDir: lab.dir, count: 2, args: ARGS });
    const sql = STATEMENTS[0] ?? "";
    const { rows } = await ask(fleet.at(0).url, "/local", sql);
    const asked = Array.from(
      { length: 48 },
      (_, at) => ask(fleet.at(at % 2).url, "/distributed", sql),
    );
    for (const answer of await Promise.all(asked)) {
      assert.deepEqual(answer.rows, rows);
      assert.equal(answer.stats.phases.distributed?.mode, "aggregate");
    }
  },
});

async function inFlight({ metricsUrl }: { readonly metricsUrl: string }): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^svc_query_in_flight (\d+)$/m.exec(text)?.[1] ?? Number.NaN);
}
