/**
 * PostgreSQL's protocol beside HTTP and the engine itself. What a small statement costs, how fast a
 * binary COPY streams, how soon a large answer begins, and what an idle session holds.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { frame, PgWireClient, zero } from "../doubles/pg_wire_client.ts";
import {
  type Benchmark,
  type BenchRow,
  formatCount,
  formatMs,
  formatRatio,
  median,
} from "./benchmark.ts";
import { BenchServers } from "./bench_servers.ts";
import { EnginePair } from "./engine_pair.ts";
import { buildTable, type TableFixture } from "./table_fixture.ts";

const SMALL = "SELECT 1";
const SMALL_ROUNDS = 200;
const SMALL_MS_MAX = 1;
/** Rows of an answer that a session may have by default: DuckDB streams them. */
const SESSION_ROWS_MAX = 1_000_000;
const COPY_ROUNDS = 3;
const COPY_RATIO_MIN = 0.7;
const FIRST_ROUNDS = 15;
/** Machines are noisy: an answer that begins a tenth later begins as soon. */
const FIRST_RATIO_MAX = 1.1;
const SESSIONS = 1_000;
/**
 * Open before the sessions that are counted, and statements that were run. Else what the code and
 * the heap of any busy server take would be taken for what sessions do.
 */
const SESSIONS_BEFORE = 500;
const STATEMENTS_BEFORE = 3_000;
const SESSION_KIB_MAX = 20;
const READ_BYTES = 1_048_576;
const HEADER_BYTES = 5;

interface Sides {
  readonly http: number;
  readonly pg: number;
  readonly pid: number;
  readonly table: TableFixture;
}

export const PG: Benchmark = {
  name: "pg",
  summary: "PostgreSQL's protocol beside HTTP, the engine and DuckDB's own COPY",
  sizes: { small: { rows: 200_000, seconds: 0 }, full: { rows: 1_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTable(rows);
    await using servers = await BenchServers.create("pg");
    const [pg = 0] = freePorts(1);
    const { port, pid } = await servers.startQuery(table.dir, [
      ...["--pg-listen", `127.0.0.1:${pg}`, "--max-connections-per-address", "0"],
      ...["--pg-max-sessions", String(2 * (SESSIONS + SESSIONS_BEFORE))],
    ]);
    const sides = { http: port, pg, pid, table };
    return [
      ...await small(sides),
      ...await copies(sides),
      await firstRow(sides),
      await idleSessions(sides),
    ];
  },
};

/**
 * One statement in turn: by each protocol, and by an engine that is asked as a session asks its
 * own, with a DuckDB in a process of its own.
 */
async function small({ http, pg, table }: Sides): Promise<BenchRow[]> {
  await using pair = await EnginePair.open(table, { name: "pg-bench", processes: {} });
  using client = await PgWireClient.start(pg);
  const ways = {
    engine: () => pair.ask(SMALL, SESSION_ROWS_MAX),
    http: () => httpRows(http),
    simple: () => client.simple(SMALL),
    extended: () => client.extended(SMALL),
  };
  const took: Record<string, number[]> = {};
  for (let round = -SMALL_ROUNDS / 4; round < SMALL_ROUNDS; round += 1) {
    for (const [name, ask] of Object.entries(ways)) {
      const ms = await timed(ask);
      if (round >= 0) (took[name] ??= []).push(ms);
    }
  }
  const middle = (name: keyof typeof ways) => median(took[name] ?? []);
  return (["simple", "extended"] as const).map((name) => {
    const more = middle(name) - middle("engine");
    return {
      what: `${SMALL}, ${name} query`,
      ours: `median ${formatMs(middle(name))}`,
      reference: `engine ${formatMs(middle("engine"))}, HTTP ${formatMs(middle("http"))}`,
      ratio: `${formatMs(more)} more than the engine`,
      target: `≤ ${SMALL_MS_MAX} ms more`,
      reached: more <= SMALL_MS_MAX,
    };
  });
}

async function httpRows(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: SMALL }),
  });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  await response.json();
}

/** All rows as a binary COPY, in turn with DuckDB's COPY of the same files to CSV and Parquet. */
async function copies({ pg, table }: Sides): Promise<BenchRow[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const raw = await instance.connect();
  try {
    const files = table.paths.map((path) => `'${path}'`).join(", ");
    const duckdb = (format: string) => () =>
      raw.run(`COPY (SELECT * FROM read_parquet([${files}])) TO '/dev/null' (FORMAT ${format})`);
    const copy = `COPY (SELECT * FROM events) TO STDOUT (FORMAT binary)`;
    const took = { ours: [] as number[], csv: [] as number[], parquet: [] as number[] };
    let bytes = 0;
    for (let round = -1; round < COPY_ROUNDS; round += 1) {
      const oursMs = await timed(async () => bytes = await copied(pg, copy, table.rows));
      const csvMs = await timed(duckdb("csv"));
      const parquetMs = await timed(duckdb("parquet"));
      if (round < 0) continue;
      took.ours.push(oursMs);
      took.csv.push(csvMs);
      took.parquet.push(parquetMs);
    }
    const rate = (ms: readonly number[]) => table.rows / median(ms) * 1_000;
    return (["csv", "parquet"] as const).map((format) => {
      const ratio = rate(took.ours) / rate(took[format]);
      return {
        what: `binary COPY of ${formatCount(table.rows)} rows, ${formatCount(bytes / 1e6)} MB`,
        ours: `${formatCount(rate(took.ours))} rows/s`,
        reference: `DuckDB's COPY to ${format} ${formatCount(rate(took[format]))} rows/s`,
        ratio: formatRatio(ratio),
        // Parquet is smaller than what it is read from here: it stands there for orientation.
        target: format === "csv" ? `≥ ${formatRatio(COPY_RATIO_MIN)}` : "",
        reached: format !== "csv" || ratio >= COPY_RATIO_MIN,
      };
    });
  } finally {
    raw.closeSync();
    instance.closeSync();
  }
}

/** Bytes of a COPY, of which all rows came, read by a consumer that looks at headers alone. */
async function copied(port: number, sql: string, rows: number): Promise<number> {
  using client = await PgWireClient.start(port);
  await client.write(frame("Q", zero(sql)));
  const counts = new Map<number, number>();
  let bytes = 0;
  let rest: Uint8Array<ArrayBufferLike> = new Uint8Array();
  const room = new Uint8Array(READ_BYTES);
  for (let toPass = 0; !counts.has("Z".charCodeAt(0));) {
    const read = await client.conn.read(room);
    if (read === null) throw new Error("the server closed the connection");
    bytes += read;
    const came = rest.byteLength === 0
      ? room.subarray(0, read)
      : concatBytes([rest, room.subarray(0, read)]);
    const view = new DataView(came.buffer, came.byteOffset, came.byteLength);
    let at = Math.min(toPass, came.byteLength);
    toPass -= at;
    while (toPass === 0 && at + HEADER_BYTES <= came.byteLength) {
      const code = view.getUint8(at);
      counts.set(code, (counts.get(code) ?? 0) + 1);
      const end = at + 1 + view.getInt32(at + 1);
      toPass = Math.max(0, end - came.byteLength);
      at = Math.min(end, came.byteLength);
    }
    rest = came.slice(at);
  }
  // The signature and the end are messages, too.
  const found = (counts.get("d".charCodeAt(0)) ?? 0) - 2;
  if (found !== rows) throw new Error(`a copy of ${rows} rows has ${found}`);
  return bytes;
}

/** From the statement to the first byte of its first row, then the answer is given up. */
async function firstRow({ http, pg, table }: Sides): Promise<BenchRow> {
  const sql = "SELECT timestamp, raw FROM events WHERE length(raw) > 0";
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = -2; round < FIRST_ROUNDS; round += 1) {
    const pgMs = await firstOfPg(pg, sql);
    const httpMs = await firstOfHttp(http, sql, table.rows);
    if (round < 0) continue;
    ours.push(pgMs);
    theirs.push(httpMs);
  }
  const ratio = median(ours) / median(theirs);
  return {
    what: `first of ${formatCount(table.rows)} rows`,
    ours: `median ${formatMs(median(ours))}`,
    reference: `HTTP, NDJSON ${formatMs(median(theirs))}`,
    ratio: formatRatio(ratio),
    target: `≤ ${formatRatio(FIRST_RATIO_MAX)}`,
    reached: ratio <= FIRST_RATIO_MAX,
  };
}

async function firstOfPg(port: number, sql: string): Promise<number> {
  using client = await PgWireClient.start(port);
  const startMs = performance.now();
  await client.write(frame("Q", zero(sql)));
  for (let next = await client.read(); next?.code !== "D"; next = await client.read()) {
    if (next === undefined || next.code === "E") throw new Error("the statement gave no row");
  }
  return performance.now() - startMs;
}

async function firstOfHttp(port: number, query: string, rows: number): Promise<number> {
  using conn = await Deno.connect({ hostname: "127.0.0.1", port });
  const asked = { query, format: "ndjson", limits: { max_rows_returned: rows } };
  const body = utf8(JSON.stringify(asked));
  const head = `POST /api/v1/sql HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.byteLength}\r\n\r\n`;
  const startMs = performance.now();
  await conn.write(concatBytes([utf8(head), body]));
  const room = new Uint8Array(READ_BYTES);
  for (let text = ""; !/\r\n\r\n[^]*\{/.test(text);) {
    const read = await conn.read(room);
    if (read === null) throw new Error("the statement gave no row");
    text += new TextDecoder().decode(room.subarray(0, read));
    if (!text.startsWith("HTTP/1.1 200")) throw new Error(text.slice(0, 200));
  }
  return performance.now() - startMs;
}

/** What sessions add to the server's resident memory, each behind a statement. */
async function idleSessions({ pg, pid }: Sides): Promise<BenchRow> {
  using clients = new DisposableStack();
  const open = async (count: number) => {
    for (let at = 0; at < count; at += 1) {
      const client = clients.use(await PgWireClient.start(pg));
      await client.simple(SMALL);
    }
  };
  await open(SESSIONS_BEFORE);
  const busy = clients.use(await PgWireClient.start(pg));
  for (let at = 0; at < STATEMENTS_BEFORE; at += 1) await busy.simple(SMALL);
  const before = residentKib(pid);
  await open(SESSIONS);
  const kib = (residentKib(pid) - before) / SESSIONS;
  return {
    what: `an idle session, of ${formatCount(SESSIONS)} behind ${formatCount(SESSIONS_BEFORE)}`,
    ours: `${kib.toFixed(1)} KiB`,
    reference: "",
    ratio: "",
    target: `≤ ${SESSION_KIB_MAX} KiB`,
    reached: kib <= SESSION_KIB_MAX,
  };
}

function residentKib(pid: number): number {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`)) ?? [];
  return Number(kib);
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await action();
  return performance.now() - startMs;
}
