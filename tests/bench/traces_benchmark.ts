/**
 * Trace lookup over HTTP with kept connections, on the query server as a process: one trace,
 * searches, name lists. It runs in turn with raw DuckDB that scans the same files for the same
 * rows.
 */

import { DuckDBInstance } from "@duckdb/node-api";
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

const ROUNDS = 15;
const WARM_UPS = 3;
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
    const instance = await DuckDBInstance.create(":memory:");
    const raw = await instance.connect();
    const files = `read_parquet([${table.paths.map((path) => `'${path}'`).join(", ")}])`;
    const over = `${formatCount(rows)} spans in ${table.paths.length} files`;
    const traces = rows / SPANS_PER_TRACE;
    const lines: BenchRow[] = [];
    try {
      for (const { what, msMax, path, sql, expected } of lookups(rows)) {
        const ours: number[] = [];
        const theirs: number[] = [];
        for (let round = -WARM_UPS; round < ROUNDS; round += 1) {
          const trace = somewhere(round, traces);
          const oursMs = await timed(async () => {
            const { data } = await get(url + path(trace));
            if (data.length !== expected) throw new Error(`${what}: ${data.length} in the answer`);
          });
          const rawMs = await timed(() => raw.runAndReadAll(sql(trace, files)));
          if (round < 0) continue;
          ours.push(oursMs);
          theirs.push(rawMs);
        }
        const ms = median(ours);
        lines.push({
          what: `${what}, ${over}`,
          ours: `median ${formatMs(ms)}`,
          reference: `DuckDB ${formatMs(median(theirs))}`,
          ratio: `${(median(theirs) / ms).toFixed(1)}× faster`,
          target: msMax === undefined ? "for orientation" : `≤ ${msMax} ms warm`,
          reached: msMax === undefined || ms <= msMax,
        });
      }
    } finally {
      raw.closeSync();
      instance.closeSync();
    }
    return lines;
  },
};

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await work();
  return performance.now() - startMs;
}

interface Lookup {
  readonly what: string;
  readonly msMax?: number;
  /** `trace`: another number each time. */
  readonly path: (trace: number) => string;
  /** The statement that gives the same rows from `files`. */
  readonly sql: (trace: number, files: string) => string;
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
  const newest = (span: number, tag: string, files: string) =>
    `SELECT * FROM ${files} WHERE trace_id IN (SELECT trace_id FROM ${files} WHERE ` +
    `service = 'service-3' AND timestamp_ns <= ${spanStartNs(span)} AND ${tag} ` +
    `GROUP BY trace_id ORDER BY max(timestamp_ns) DESC LIMIT ${LIMIT})`;
  const attribute = (name: string, value: string) =>
    `json_extract_string(attributes, '$."${name}"') = '${value}'`;
  // Not among the very first.
  const upTo = (trace: number) => Math.max(rows / 10, trace * SPANS_PER_TRACE);
  return [
    {
      what: `a trace of ${SPANS_PER_TRACE} spans by its id`,
      msMax: TRACE_MS_MAX,
      path: (trace) => `/traces/${traceIdOf(trace)}`,
      sql: (trace, files) => `SELECT * FROM ${files} WHERE trace_id = '${traceIdOf(trace)}'`,
      expected: 1,
    },
    {
      what: `newest ${LIMIT} traces of a service with a tag`,
      msMax: SEARCH_MS_MAX,
      path: () => search(rows, { error: "true" }),
      sql: (_, files) => newest(rows, "status_code = 'STATUS_CODE_ERROR'", files),
      expected: LIMIT,
    },
    {
      what: "the same with an attribute, up to somewhere in the table",
      msMax: SEARCH_MS_MAX,
      path: (trace) => search(upTo(trace), { "http.response.status_code": "500" }),
      sql: (trace, files) =>
        newest(upTo(trace), attribute("http.response.status_code", "500"), files),
      expected: LIMIT,
    },
    {
      what: "a search that one trace of the whole table meets",
      path: (trace) => search(rows, { "order.id": String(trace) }),
      sql: (trace, files) => newest(rows, attribute("order.id", String(trace)), files),
      expected: 1,
    },
    {
      what: "services",
      msMax: LIST_MS_MAX,
      path: () => "/services",
      sql: (_, files) => `SELECT DISTINCT service FROM ${files}`,
      expected: SERVICES,
    },
    {
      what: "operations of a service",
      msMax: LIST_MS_MAX,
      path: () => "/services/service-3/operations",
      sql: (_, files) => `SELECT DISTINCT name FROM ${files} WHERE service = 'service-3'`,
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
