/** VictoriaLogs, built from source. */

import { freePort } from "../../../../shared/testing/free_ports.ts";
import { buildGoProgram } from "../obtain/go_program.ts";
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
import { folderBytes } from "../folder_bytes.ts";
import type { MeasuredSystem } from "./system.ts";

/**
 * The last release of the module that VictoriaLogs was a part of: its own module is newer and not
 * on the module proxy. Its changelog has VictoriaLogs v1.24.0 as the release before.
 */
const SOURCE = {
  module: "github.com/VictoriaMetrics/VictoriaMetrics",
  version: "v1.121.0",
  package: "app/victoria-logs",
};
const SOURCE_VERSION = "v1.24.0 and later changes, of VictoriaMetrics v1.121.0";
/** Parts that are not written to disk yet, which they are within seconds. */
const IN_MEMORY = 'vl_storage_parts{type="storage/inmemory"}';
const QUERY = "/select/logsql/query";

export const VICTORIA_LOGS: MeasuredSystem = {
  name: "victoria-logs",
  title: "VictoriaLogs",
  durability: "nothing is synced; rows are in memory for up to a second",
  settings: "Its defaults, with a retention of 100 years.",
  form: "otlp",
  ingestPath: "/insert/opentelemetry/v1/logs",
  obtain: async ({ cache, executable, tell }) => {
    const program = executable ?? await buildGoProgram(SOURCE, cache, tell);
    const version = executable === undefined
      ? SOURCE_VERSION
      : (await runTool(executable, ["-version"], { secs: 10 })).trim() || executable;
    return {
      version,
      launch: (folder) => {
        const port = freePort();
        return Promise.resolve({
          command: program,
          args: [
            `-httpListenAddr=127.0.0.1:${port}`,
            `-storageDataPath=${folder}`,
            "-retentionPeriod=100y",
          ],
          ingestPort: port,
          askPort: port,
          readyUrls: [`http://127.0.0.1:${port}/health`],
        });
      },
    };
  },
  isSettled: async ({ call }) => {
    const busy = (await call("/metrics")).split("\n")
      .filter((line) => line.startsWith("vl_active_merges") || line.startsWith(IN_MEMORY))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    return busy === 0;
  },
  liveBytes: ({ folder }) => folderBytes(folder),
  questions,
  roleOf: () => "server",
};

function questions(scope: Scope): Questions {
  const { subject } = scope;
  const severity = `severity:=${subject.newest.severity}`;
  const number = name(subject.number);
  const found = subject.lookup === "trace"
    ? `trace_id:=${scope.traceId}`
    : `${name(subject.lookup.path)}:=${scope.id}`;
  const range = `_time:[${iso(scope.fromMs)}, ${iso(scope.toMs)})`;
  return {
    range: one(`${range} | count() n`),
    service: each(
      '* | stats by ("service.name") count() n',
      (row) => [[String(row["service.name"]), Number(row["n"])]],
    ),
    minute: each("* | stats by (_time:1m, severity) count() n", (row) => [
      [minuteKey(Date.parse(String(row["_time"])), String(row["severity"])), Number(row["n"])],
    ]),
    rare: found1(`${scope.rareWord} | fields _time, _msg`),
    part: one(`~"${scope.part}" | count() n`),
    phrase: one(`"${scope.phrase.join(" ")}" | count() n`),
    newest: found1(
      `{"service.name"="${subject.newest.service}"} ${severity} | ` +
        `sort by (_time desc) limit ${scope.newestRows}`,
    ),
    lookup: found1(found),
    top: read(
      `* | top 10 by (${name(subject.top)})`,
      (text) => ranked(rowsOf(text).map((row) => Number(row["hits"]))),
    ),
    average: each(
      `* | stats by ("service.name") avg(${number}) a, quantile(0.95, ${number}) p`,
      (row) => {
        const service = String(row["service.name"]);
        return [[`${service} avg`, Number(row["a"])], [`${service} p95`, Number(row["p"])]];
      },
    ),
    regex: one(`~${JSON.stringify(scope.regex)} | count() n`),
    rows: read(
      `* | limit ${scope.rowsOut}`,
      (text) => single(text.split("\n").filter((line) => line.includes("req=")).length),
    ),
  };
}

function name(path: readonly string[]): string {
  return `"${path.join(".")}"`;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

type Row = Readonly<Record<string, unknown>>;

function rowsOf(text: string): readonly Row[] {
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

function read(query: string, answer: (text: string) => Answer): Ask {
  return async (call) => {
    const form = new URLSearchParams({ query }).toString();
    const text = await call(QUERY, form, "application/x-www-form-urlencoded");
    return () => answer(text);
  };
}

function one(query: string): Ask {
  return read(query, (text) => single(rowsOf(text)[0]?.["n"]));
}

function found1(query: string): Ask {
  return read(query, idsIn);
}

function each(query: string, entries: (row: Row) => readonly (readonly [string, number])[]): Ask {
  return read(query, (text) => new Map(rowsOf(text).flatMap(entries)));
}
