/**
 * The query server as a process, over HTTP with kept connections. What a request costs beyond raw
 * DuckDB, how fast rows stream, and how few files of a large table a time range opens.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { DuckDBInstance } from "@duckdb/node-api";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import type { Stats } from "../../shared/engine/types.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { buildTable, START_NS, type TableFixture } from "./table_fixture.ts";

const ROUNDS = 100;
const STREAM_ROUNDS = 3;
const OVERHEAD_MS_MAX = 3;
/** A full row is larger, so an answer that was cut or refused does not pass for one. */
const ROW_BYTES_MIN = 400;
const READ_BYTES = 1_048_576;
const STREAM_RATIO_MIN = 0.6;
const FILES = 1_000;
const ROWS_PER_FILE = 100;
const PLAN_MS_MAX = 10;

export const QUERY: Benchmark = {
  name: "query",
  summary: "requests over HTTP beside raw DuckDB on the same files",
  sizes: { small: { rows: 200_000, seconds: 0 }, full: { rows: 1_000_000, seconds: 0 } },
  async run({ rows }) {
    return [...await overHttp(rows), await planning()];
  },
};

async function overHttp(rows: number): Promise<BenchRow[]> {
  await using table = await buildTable(rows);
  await using servers = await BenchServers.create("query");
  const { port } = await servers.startQuery(table.dir);
  const instance = await DuckDBInstance.create(":memory:");
  const raw = await instance.connect();
  try {
    const bound = `timestamp > '${instantOf(table.rows - 10)}'`;
    return [
      await overhead("SELECT 1", { port, raw, table }),
      await overhead(`SELECT count(*) FROM events WHERE ${bound}`, { port, raw, table }),
      await streaming({ port, raw, table }),
    ];
  } finally {
    raw.closeSync();
    instance.closeSync();
  }
}

interface Sides {
  readonly port: number;
  readonly raw: DuckDBConnection;
  readonly table: TableFixture;
}

async function overhead(sql: string, { port, raw, table }: Sides): Promise<BenchRow> {
  const ours: number[] = [];
  const theirs: number[] = [];
  const rawSql = sql.replace("events", relationOf(table));
  for (let round = -ROUNDS / 4; round < ROUNDS; round += 1) {
    const oursMs = await timed(async () => await (await post(port, { query: sql })).json());
    const rawMs = await timed(async () => (await raw.runAndReadAll(rawSql)).getRowsJson());
    if (round < 0) continue;
    ours.push(oursMs);
    theirs.push(rawMs);
  }
  const more = median(ours) - median(theirs);
  return {
    what: `request over HTTP: ${sql.replace(/'.*'/, "…")}`,
    ours: `median ${formatMs(median(ours))}`,
    reference: `DuckDB ${formatMs(median(theirs))}`,
    ratio: `${formatMs(more)} more`,
    target: `≤ ${OVERHEAD_MS_MAX} ms more`,
    reached: more <= OVERHEAD_MS_MAX,
  };
}

async function streaming({ port, raw, table }: Sides): Promise<BenchRow> {
  const ours: number[] = [];
  const theirs: number[] = [];
  const copy = `COPY (SELECT * FROM ${relationOf(table)}) TO '/dev/null' (FORMAT json)`;
  const asked = {
    query: "SELECT * FROM events",
    format: "ndjson",
    default_order: false,
    limits: { max_rows_returned: table.rows },
  };
  let bytes = 0;
  for (let round = -1; round < STREAM_ROUNDS; round += 1) {
    const rawMs = await timed(() => raw.run(copy));
    const oursMs = await timed(async () => bytes = await answerBytes(port, asked));
    if (round < 0) continue;
    ours.push(oursMs);
    theirs.push(rawMs);
  }
  if (bytes < table.rows * ROW_BYTES_MIN) throw new Error(`${bytes} bytes are not all rows`);
  const ratio = median(theirs) / median(ours);
  return {
    what: `NDJSON of ${formatCount(table.rows)} full rows, ${formatCount(bytes / 1e6)} MB`,
    ours: `${formatCount(table.rows / median(ours) * 1_000)} rows/s`,
    reference: `DuckDB's COPY to JSON ${formatCount(table.rows / median(theirs) * 1_000)} rows/s`,
    ratio: `${ratio.toFixed(2)}×`,
    target: `≥ ${STREAM_RATIO_MIN}×`,
    reached: ratio >= STREAM_RATIO_MIN,
  };
}

/** A time range of ten of the table's files. */
async function planning(): Promise<BenchRow> {
  await using table = await buildTable(FILES * ROWS_PER_FILE, { rowsPerFile: ROWS_PER_FILE });
  await using servers = await BenchServers.create("planning");
  const { port } = await servers.startQuery(table.dir);
  const from = instantOf(500 * ROWS_PER_FILE);
  const to = instantOf(510 * ROWS_PER_FILE);
  // No summary counts this column, so that the files are opened.
  const query =
    `SELECT count(raw) FROM events WHERE timestamp >= '${from}' AND timestamp < '${to}'`;
  const planMs: number[] = [];
  let opened = 0;
  for (let round = -3; round < 20; round += 1) {
    const answer = await (await post(port, { query })).json() as { rows: number[][]; stats: Stats };
    if (answer.rows[0]?.[0] !== 10 * ROWS_PER_FILE) {
      throw new Error(`a time range of ten files has ${answer.rows[0]?.[0]} rows`);
    }
    opened = answer.stats.scan?.files_read ?? 0;
    if (round >= 0) planMs.push(answer.stats.phases.plan_micros / 1_000);
  }
  return {
    what: `time range of 10 of ${formatCount(table.paths.length)} files`,
    ours: `planned in ${formatMs(median(planMs))}, ${opened} files opened`,
    reference: "",
    ratio: "",
    target: `≤ ${PLAN_MS_MAX} ms, 10 files`,
    reached: median(planMs) <= PLAN_MS_MAX && opened === 10,
  };
}

/** When row `row` was: see `table_fixture.ts`. */
function instantOf(row: number): string {
  return new Date(Number(START_NS / 1_000_000n) + row).toISOString();
}

function relationOf(table: TableFixture): string {
  return `read_parquet([${table.paths.map((path) => `'${path}'`).join(", ")}])`;
}

async function post(port: number, body: unknown): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`the server answered ${response.status}: ${await response.text()}`);
  }
  return response;
}

/**
 * Bytes of the answer, head included, read by a consumer that does nothing else: `fetch` costs more
 * than rendering.
 */
async function answerBytes(port: number, body: unknown): Promise<number> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const content = utf8(JSON.stringify(body));
  const head = `POST /api/v1/sql HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n` +
    `content-type: application/json\r\ncontent-length: ${content.byteLength}\r\n\r\n`;
  await connection.write(concatBytes([utf8(head), content]));
  const room = new Uint8Array(READ_BYTES);
  let bytes = 0;
  for (;;) {
    const read = await connection.read(room);
    if (read === null) return bytes;
    bytes += read;
  }
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}
