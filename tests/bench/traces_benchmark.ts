/** Trace lookup over HTTP with kept connections, on the query server as a process: one trace, searches, name lists. */

import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import {
  buildTraces,
  OPERATIONS,
  SERVICES,
  SPANS_PER_TRACE,
  spanStartNs,
  traceIdOf,
} from "./trace_fixture.ts";

const ROUNDS = 25;
const WARM_UPS = 5;
const TRACE_MS_MAX = 50;
const SEARCH_MS_MAX = 200;
const LIST_MS_MAX = 10;
const LIMIT = 20;

export const TRACES: Benchmark = {
  name: "traces",
  summary: "one trace by its id, newest traces with a tag, name lists",
  sizes: { small: { rows: 500_000, seconds: 0 }, full: { rows: 5_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTraces(rows);
    await using servers = await BenchServers.create("traces");
    const { port } = await servers.startQuery(table.dir);
    const url = `http://127.0.0.1:${port}/api/v1/tracing/traces/api`;
    const over = `${formatCount(rows)} spans in ${table.paths.length} files`;
    const traces = rows / SPANS_PER_TRACE;
    const lines: BenchRow[] = [];
    for (const { what, msMax, path, expected } of lookups(rows)) {
      const times: number[] = [];
      for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
        const startMs = performance.now();
        const { data } = await get(url + path(somewhere(round, traces)));
        if (round >= 0) times.push(performance.now() - startMs);
        if (data.length !== expected) throw new Error(`${what}: ${data.length} in the answer`);
      }
      const ms = median(times);
      lines.push({
        what: `${what}, ${over}`,
        ours: `median ${formatMs(ms)}, slowest of ${ROUNDS} ${formatMs(Math.max(...times))}`,
        reference: "",
        ratio: "",
        target: msMax === undefined ? "for orientation" : `≤ ${msMax} ms warm`,
        reached: msMax === undefined || ms <= msMax,
      });
    }
    return lines;
  },
};

interface Lookup {
  readonly what: string;
  readonly msMax?: number;
  /** `trace`: another number each time. */
  readonly path: (trace: number) => string;
  /** Entries in `data`. */
  readonly expected: number;
}

function lookups(rows: number): readonly Lookup[] {
  const endUs = (span: number) => String(spanStartNs(span) / 1_000n);
  const search = (span: number, tags: Readonly<Record<string, string>>) =>
    `/traces?${new URLSearchParams({
      service: "service-3",
      tags: JSON.stringify(tags),
      limit: String(LIMIT),
      start: endUs(0),
      end: endUs(span),
    })}`;
  return [
    {
      what: `a trace of ${SPANS_PER_TRACE} spans by its id`,
      msMax: TRACE_MS_MAX,
      path: (trace) => `/traces/${traceIdOf(trace)}`,
      expected: 1,
    },
    {
      what: `newest ${LIMIT} traces of a service with a tag`,
      msMax: SEARCH_MS_MAX,
      path: () => search(rows, { error: "true" }),
      expected: LIMIT,
    },
    {
      what: "the same with an attribute, up to somewhere in the table",
      msMax: SEARCH_MS_MAX,
      // Not among the very first.
      path: (trace) =>
        search(Math.max(rows / 10, trace * SPANS_PER_TRACE), {
          "http.response.status_code": "500",
        }),
      expected: LIMIT,
    },
    {
      what: "a search that one trace of the whole table meets",
      path: (trace) => search(rows, { "order.id": String(trace) }),
      expected: 1,
    },
    { what: "services", msMax: LIST_MS_MAX, path: () => "/services", expected: SERVICES },
    {
      what: "operations of a service",
      msMax: LIST_MS_MAX,
      path: () => "/services/service-3/operations",
      expected: OPERATIONS,
    },
  ];
}

/** Far from the last one. */
function somewhere(round: number, traces: number): number {
  return Math.abs(Math.imul(round + WARM_UPS + 1, 0x9e3779b1)) % traces;
}

async function get(url: string): Promise<{ readonly data: readonly unknown[] }> {
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text);
}
