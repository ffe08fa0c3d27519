/**
 * Clients of three kinds at once on one query server. Clients that browse the newest rows or count
 * a short range must not wait long for those that search the whole table.
 *
 * Twice: clients that look at an answer before they ask again, as people and dashboards do; and
 * clients that ask again at once. The latter keep the server busy whatever it does: with 24 of them
 * on two cores a cheap statement waits for eleven others.
 *
 * The bar is that of the cheap statements together. The figure of each kind is for orientation. A
 * count in memory takes less than a browse that comes before it, and three times its own p99 is
 * less than two such browses.
 */

import type { BenchSize } from "./benchmark.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, percentile } from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { buildTable, START_NS } from "./table_fixture.ts";

const CLIENTS = 32;
/** Mean time that a client looks at an answer. */
const PAUSE_MS = 250;
const IDLE_ROUNDS = 200;
const WARM_ROUNDS = 20;
const RATIO_MAX = 3;
const NS_PER_MS = 1_000_000n;

/** Among four clients two browse, one counts, one searches. */
const KINDS = ["browse", "count", "browse", "search"] as const;
type Kind = typeof KINDS[number];
const CHEAP = ["browse", "count"] as const satisfies readonly Kind[];

export const MIXED: Benchmark = {
  name: "mixed",
  summary: `${CLIENTS} clients that browse, count and search`,
  sizes: { small: { rows: 2_000_000, seconds: 8 }, full: { rows: 10_000_000, seconds: 30 } },
  async run({ rows, seconds }: BenchSize): Promise<BenchRow[]> {
    await using table = await buildTable(rows);
    await using servers = await BenchServers.create("mixed");
    const { port } = await servers.startQuery(table.dir);
    const statements = statementsOver(rows);
    const idle = new Map<Kind, number[]>();
    for (const kind of CHEAP) {
      for (let round = 0; round < WARM_ROUNDS; round += 1) await ask(port, statements[kind]);
      const rounds = IDLE_ROUNDS * KINDS.filter((one) => one === kind).length;
      idle.set(kind, await repeat(rounds, () => ask(port, statements[kind])));
    }
    const lines: BenchRow[] = [];
    for (const pauseMs of [PAUSE_MS, 0]) {
      const loaded = await load(port, statements, { seconds, pauseMs });
      const searches = (loaded.get("search")?.length ?? 0) / seconds;
      for (const kinds of [CHEAP, ...CHEAP.map((kind) => [kind])]) {
        const own = kinds.flatMap((kind) => loaded.get(kind) ?? []);
        const idleMs = percentile(kinds.flatMap((kind) => idle.get(kind) ?? []), 0.99);
        const loadedMs = percentile(own, 0.99);
        const hasBar = kinds === CHEAP && pauseMs > 0;
        const asking = pauseMs === 0 ? "at once" : `after ${pauseMs} ms`;
        lines.push({
          what:
            `${kinds.join(" and ")} among ${CLIENTS} clients that ask again ${asking}, ${
              formatCount(rows)
            } ` +
            `rows; ${searches.toFixed(1)} searches/s beside`,
          ours: `p99 ${formatMs(loadedMs)}, median ${formatMs(percentile(own, 0.5))}`,
          reference: `idle p99 ${formatMs(idleMs)}`,
          ratio: `${(loadedMs / idleMs).toFixed(1)}×`,
          target: hasBar ? `≤ ${RATIO_MAX}×` : "for orientation",
          reached: !hasBar || loadedMs <= RATIO_MAX * idleMs,
        });
      }
    }
    return lines;
  },
};

function statementsOver(rows: number): Readonly<Record<Kind, string>> {
  // A row a millisecond: `table_fixture.ts`.
  const from = new Date(Number((START_NS + BigInt(rows - 10_000) * NS_PER_MS) / NS_PER_MS));
  return {
    browse: "SELECT timestamp, host, raw FROM events ORDER BY timestamp DESC LIMIT 100",
    count: `SELECT count(*) FROM events WHERE timestamp >= '${from.toISOString()}'`,
    // No index tells: every row has such pieces.
    search: "SELECT count(*) FROM events WHERE raw LIKE '%re_u%9_9%'",
  };
}

/** Milliseconds of each answer, by kind. */
async function load(
  port: number,
  statements: Readonly<Record<Kind, string>>,
  { seconds, pauseMs }: { readonly seconds: number; readonly pauseMs: number },
): Promise<Map<Kind, number[]>> {
  const until = performance.now() + seconds * 1_000;
  const taken = new Map<Kind, number[]>();
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    const kind = KINDS[client % KINDS.length] ?? "browse";
    const own = taken.get(kind) ?? [];
    taken.set(kind, own);
    while (performance.now() < until) {
      // Spread, or all would ask in step.
      if (pauseMs > 0) await wait(pauseMs * (0.5 + Math.random()));
      own.push(await ask(port, statements[kind]));
    }
  }));
  return taken;
}

async function repeat(times: number, action: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let at = 0; at < times; at += 1) values.push(await action());
  return values;
}

/** A refused statement is asked again, and its wait counts: a client would do the same. */
async function ask(port: number, query: string): Promise<number> {
  const start = performance.now();
  for (;;) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    });
    const text = await response.text();
    if (response.status === 200) return performance.now() - start;
    if (response.status !== 429 && response.status !== 503) throw new Error(text);
    await wait(50);
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
