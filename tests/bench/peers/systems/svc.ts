/** This service: `svc dev` of the checkout, three processes under their permissions. */

import { join } from "node:path";
import { OperatingError } from "../../../../shared/base/errors.ts";
import { VERSION } from "../../../../shared/base/version.ts";
import { freePorts } from "../../../../shared/testing/free_ports.ts";
import {
  type Ask,
  idsIn,
  minuteKey,
  type Questions,
  ranked,
  type Scope,
  single,
} from "../question.ts";
import { runTool } from "../obtain/run_tool.ts";
import type { Launch, MeasuredSystem, RunningSystem } from "./system.ts";

const ROOT = join(import.meta.dirname ?? ".", "../../../..");
const CLI = ["run", "--quiet", "--no-prompt", "-P=cli", "--allow-run", "cli/main.ts"];
const INFO_SECS_MAX = 60;
const SQL = "/api/v1/sql";

export const SVC: MeasuredSystem = {
  name: "svc",
  title: "svc",
  durability: "rows are synced to the WAL",
  settings: "`svc dev` with its defaults: ingest, compactor and query as three processes.",
  form: "otlp",
  ingestPath: "/v1/logs",
  obtain: async () => ({ version: await describeCheckout(), launch }),
  isSettled: async (running, rows) => {
    const info = await tableInfo(running);
    return Number(info?.["rows"]) === rows && info?.["merges due"] === "0";
  },
  liveBytes: async (running) => {
    const info = await tableInfo(running) ?? {};
    return Number(info["live bytes"]) + Number(info["index bytes"]);
  },
  questions,
  roleOf: ({ words }) => /(ingest|compactor|query)\/main\.ts/.exec(words.join(" "))?.[1] ?? "dev",
};

async function describeCheckout(): Promise<string> {
  const commit = await runTool("git", ["-C", ROOT, "describe", "--always", "--dirty"], { secs: 10 })
    .catch(() => "");
  return [VERSION, commit.trim()].filter((part) => part !== "").join(", ");
}

function launch(folder: string): Promise<Launch> {
  const [ingest = 0, grpc = 0, query = 0, ...metrics] = freePorts(6);
  const [ingestMetrics = 0, compactorMetrics = 0, queryMetrics = 0] = metrics;
  const binds = {
    "ingest-bind": ingest,
    "otlp-grpc-listen": grpc,
    "query-bind": query,
    "ingest-metrics-bind": ingestMetrics,
    "compactor-metrics-bind": compactorMetrics,
    "query-metrics-bind": queryMetrics,
  };
  return Promise.resolve({
    command: Deno.execPath(),
    args: [
      ...["run", "--quiet", "--no-prompt", "-P=dev", "cli/main.ts", "dev", "--data-dir", folder],
      ...["--pg-listen", "none"],
      ...Object.entries(binds).flatMap(([flag, port]) => [`--${flag}`, `127.0.0.1:${port}`]),
    ],
    cwd: ROOT,
    ingestPort: ingest,
    askPort: query,
    readyUrls: [ingest, query, compactorMetrics].map((port) => `http://127.0.0.1:${port}/readyz`),
  });
}

/** What `svc table-info` says of the table of events. */
async function tableInfo(
  { folder }: RunningSystem,
): Promise<Readonly<Record<string, string>> | undefined> {
  const args = [...CLI, "--data-dir", folder, "table-info"];
  const text = await runTool(Deno.execPath(), args, { cwd: ROOT, secs: INFO_SECS_MAX });
  const rows = text.split("\n").filter((line) => line.includes("|"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
  const [names = []] = rows;
  const events = rows.find(([table]) => table?.endsWith(".events"));
  return events && Object.fromEntries(names.map((name, i) => [name, events[i] ?? ""]));
}

function questions(scope: Scope): Questions {
  const { subject } = scope;
  const between = `timestamp >= '${iso(scope.fromMs)}' AND timestamp < '${iso(scope.toMs)}'`;
  const severity = attribute(["severity_text"]);
  const number = `${attribute(subject.number)}::DOUBLE`;
  const found = subject.lookup === "trace"
    ? `${attribute(["trace_id"])} = '${scope.traceId}'`
    : `${attribute(subject.lookup.path)} = '${scope.id}'`;
  return {
    range: number1(`SELECT count(*) FROM events WHERE ${between}`),
    service: sql("SELECT source, count(*) AS n FROM events GROUP BY source", ([source, n]) => [
      [String(source), Number(n)],
    ]),
    minute: sql(
      `SELECT date_trunc('minute', timestamp) AS m, ${severity} AS s, count(*) AS n ` +
        "FROM events GROUP BY ALL",
      ([minute, text, n]) => [[minuteKey(Date.parse(String(minute)), String(text)), Number(n)]],
    ),
    rare: rows(`SELECT timestamp, raw FROM events WHERE match_terms(raw, '${scope.rareWord}')`),
    part: number1(`SELECT count(*) FROM events WHERE raw LIKE '%${scope.part}%'`),
    phrase: number1(
      `SELECT count(*) FROM events WHERE match_phrase(raw, '${scope.phrase.join(" ")}')`,
    ),
    newest: rows(
      `SELECT * FROM events WHERE source = '${subject.newest.service}' AND ` +
        `${severity} = '${subject.newest.severity}' ` +
        `ORDER BY timestamp DESC LIMIT ${scope.newestRows}`,
    ),
    lookup: rows(`SELECT * FROM events WHERE ${found}`),
    top: async (call) => {
      const text = await ask(
        call,
        `SELECT ${attribute(subject.top)} AS v, count(*) AS n FROM events ` +
          "GROUP BY ALL ORDER BY n DESC LIMIT 10",
      );
      return () => ranked(rowsOf(text).map(([, n]) => Number(n)));
    },
    average: sql(
      `SELECT source, avg(${number}), approx_quantile(${number}, 0.95) FROM events GROUP BY source`,
      ([source, avg, p95]) => [[`${source} avg`, Number(avg)], [`${source} p95`, Number(p95)]],
    ),
    regex: number1(`SELECT count(*) FROM events WHERE regexp_matches(raw, '${scope.regex}')`),
    rows: async (call) => {
      const text = await ask(call, `SELECT * FROM events LIMIT ${scope.rowsOut}`, {
        format: "ndjson",
        limits: { max_rows_returned: scope.rowsOut },
      });
      return () => single(text.split("\n").filter((line) => line.includes("req=")).length);
    },
  };
}

/** A name may have dots in it; a path of several leads into nested objects. */
function attribute(path: readonly string[]): string {
  const [name = "", ...rest] = path;
  return rest.length === 0
    ? `attr_get(attributes, '${name}')`
    : `(attributes->>'$.${path.join(".")}')`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function number1(statement: string): Ask {
  return sql(statement, ([n]) => [["", Number(n)]]);
}

function rows(statement: string): Ask {
  return async (call) => {
    const text = await ask(call, statement);
    return () => idsIn(text);
  };
}

type Row = readonly unknown[];

function sql(statement: string, read: (row: Row) => readonly (readonly [string, number])[]): Ask {
  return async (call) => {
    const text = await ask(call, statement);
    return () => new Map(rowsOf(text).flatMap(read));
  };
}

function ask(call: Parameters<Ask>[0], query: string, more: object = {}): Promise<string> {
  return call(SQL, JSON.stringify({ query, ...more }), "application/json");
}

function rowsOf(text: string): readonly Row[] {
  const { rows } = JSON.parse(text);
  if (Array.isArray(rows)) return rows;
  throw new OperatingError("internal", `Cannot read the answer ${text.slice(0, 200)}: no rows`);
}
