/** ClickHouse's engine as the Python package `chdb` has it, behind `chdb_server.py`. */

import { join } from "node:path";
import { freePort } from "../../../../shared/testing/free_ports.ts";
import { installPythonPackage } from "../obtain/python_package.ts";
import { runTool } from "../obtain/run_tool.ts";
import {
  type Answer,
  type Ask,
  idsIn,
  minuteKey,
  type Questions,
  ranked,
  type Scope,
  single,
} from "../question.ts";
import type { MeasuredSystem } from "./system.ts";

const REQUIREMENT = "chdb==4.4.0";
const HERE = import.meta.dirname ?? ".";
const SERVER = join(HERE, "chdb_server.py");

export const CLICKHOUSE: MeasuredSystem = {
  name: "clickhouse",
  title: "ClickHouse (chdb)",
  durability: "nothing is synced",
  settings:
    "The engine in one process behind a thin HTTP port, one statement at a time; the table " +
    "of OpenTelemetry's exporter, one INSERT a request.",
  form: "insert",
  ingestPath: "/",
  obtain: async ({ cache, tell }) => {
    const python = await installPythonPackage(REQUIREMENT, cache, tell);
    const version = await runTool(
      python,
      ["-c", "import chdb; print(chdb.query('SELECT version()', 'TSV'))"],
      { secs: 60 },
    );
    return {
      version: `${version.trim()}, ${REQUIREMENT}`,
      launch: (folder) => {
        const port = freePort();
        return Promise.resolve({
          command: python,
          args: [SERVER, folder, String(port)],
          ingestPort: port,
          askPort: port,
          readyUrls: [`http://127.0.0.1:${port}/`],
        });
      },
    };
  },
  prepare: async (call) =>
    void await call("/", await Deno.readTextFile(join(HERE, "clickhouse_schema.sql"))),
  isSettled: async ({ call }) => {
    const merges = await call("/", "SELECT count() FROM system.merges");
    return Number(rowsOf(merges)[0]?.[0]) === 0;
  },
  liveBytes: async ({ call }) => {
    const bytes = await call(
      "/",
      "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = 'otel_logs'",
    );
    return Number(rowsOf(bytes)[0]?.[0]);
  },
  questions,
  roleOf: () => "server",
};

function questions(scope: Scope): Questions {
  const { subject } = scope;
  const [first, second] = scope.phrase;
  const number = numberAt(subject.number);
  const found = subject.lookup === "trace"
    ? `TraceId = '${scope.traceId}'`
    : `${attribute(subject.lookup.path)} = '${scope.id}'`;
  return {
    range: one(`Timestamp >= ${time(scope.fromMs)} AND Timestamp < ${time(scope.toMs)}`),
    service: each(
      "SELECT ServiceName, count() FROM otel_logs GROUP BY ServiceName",
      ([service, n]) => [[String(service), Number(n)]],
    ),
    minute: each(
      "SELECT toUnixTimestamp(toStartOfMinute(Timestamp)) AS m, SeverityText, count() " +
        "FROM otel_logs GROUP BY m, SeverityText",
      ([secs, severity, n]) => [[minuteKey(Number(secs) * 1_000, String(severity)), Number(n)]],
    ),
    rare: found1(`SELECT Timestamp, Body FROM otel_logs WHERE hasToken(Body, '${scope.rareWord}')`),
    part: one(`Body LIKE '%${scope.part}%'`),
    phrase: one(
      `hasToken(Body, '${first}') AND hasToken(Body, '${second}') AND ` +
        `Body LIKE '%${first} ${second}%'`,
    ),
    newest: found1(
      `SELECT * FROM otel_logs WHERE ServiceName = '${subject.newest.service}' AND ` +
        `SeverityText = '${subject.newest.severity}' ` +
        `ORDER BY Timestamp DESC LIMIT ${scope.newestRows}`,
    ),
    lookup: found1(`SELECT * FROM otel_logs WHERE ${found}`),
    top: read(
      `SELECT ${attribute(subject.top)} AS v, count() AS n FROM otel_logs ` +
        "GROUP BY v ORDER BY n DESC LIMIT 10",
      (text) => ranked(rowsOf(text).map(([, n]) => Number(n))),
    ),
    average: each(
      `SELECT ServiceName, avg(${number}), quantile(0.95)(${number}) ` +
        "FROM otel_logs GROUP BY ServiceName",
      ([service, avg, p95]) => [[`${service} avg`, Number(avg)], [`${service} p95`, Number(p95)]],
    ),
    regex: one(`match(Body, '${scope.regex.replaceAll("\\", "\\\\")}')`),
    rows: read(
      `SELECT * FROM otel_logs LIMIT ${scope.rowsOut}`,
      (text) => single(text.match(/req=[0-9a-z]{16}/g)?.length),
    ),
  };
}

/** The exporter keeps nested attributes as JSON below the name of the outermost. */
function attribute(path: readonly string[]): string {
  return path.length === 1 ? column(path) : `JSONExtractString(${column(path)}, ${inner(path)})`;
}

function numberAt(path: readonly string[]): string {
  return path.length === 1
    ? `toFloat64(${column(path)})`
    : `JSONExtractFloat(${column(path)}, ${inner(path)})`;
}

function column([name = ""]: readonly string[]): string {
  return `LogAttributes['${name}']`;
}

function inner([, ...rest]: readonly string[]): string {
  return rest.map((part) => `'${part}'`).join(", ");
}

function time(ms: number): string {
  return `fromUnixTimestamp64Milli(toInt64(${ms}), 'UTC')`;
}

type Row = readonly unknown[];

function rowsOf(text: string): readonly Row[] {
  return JSON.parse(text).data;
}

function read(statement: string, answer: (text: string) => Answer): Ask {
  return async (call) => {
    const text = await call("/", statement);
    return () => answer(text);
  };
}

function one(condition: string): Ask {
  return read(
    `SELECT count() FROM otel_logs WHERE ${condition}`,
    (text) => single(rowsOf(text)[0]?.[0]),
  );
}

function found1(statement: string): Ask {
  return read(statement, idsIn);
}

function each(
  statement: string,
  entries: (row: Row) => readonly (readonly [string, number])[],
): Ask {
  return read(statement, (text) => new Map(rowsOf(text).flatMap(entries)));
}
