/** Grafana Loki, built from its Go module, as one process over files. */

import { join } from "node:path";
import { freePorts } from "../../../../shared/testing/free_ports.ts";
import { folderBytes } from "../folder_bytes.ts";
import { buildGoProgram } from "../obtain/go_program.ts";
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
import type { InstalledSystem, MeasuredSystem } from "./system.ts";

const SOURCE = { module: "github.com/grafana/loki/v3", version: "v3.7.8", package: "cmd/loki" };
const SETTINGS = join(import.meta.dirname ?? ".", "loki.yaml");
const MINUTE_MS = 60_000;
const ALL = '{service_name=~".+"}';

export const LOKI: MeasuredSystem = {
  name: "loki",
  title: "Loki",
  durability: "its WAL is written, not synced",
  settings: "One process over files; limits raised that would refuse the load (`loki.yaml`).",
  form: "otlp",
  ingestPath: "/otlp/v1/logs",
  obtain: async ({ cache, tell }) => {
    const program = await buildGoProgram(SOURCE, cache, tell);
    return { version: SOURCE.version, launch: (folder) => launch(program, folder) };
  },
  // Chunks stay in memory for half an hour unless it is asked for them.
  flush: async (call) => void await call("/flush", ""),
  isSettled: async ({ call }) => {
    const queued = (await call("/metrics")).split("\n")
      .filter((line) => line.startsWith("loki_ingester_flush_queue_length "))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
    return queued === 0;
  },
  liveBytes: async ({ folder }) => {
    const parts = ["chunks", "tsdb-shipper-active"].map((part) => folderBytes(join(folder, part)));
    return (await Promise.all(parts)).reduce((sum, bytes) => sum + bytes, 0);
  },
  questions,
  visibleUnasked: "it shows rows with times of long ago only once they are flushed",
  roleOf: () => "server",
};

async function launch(
  program: string,
  folder: string,
): ReturnType<InstalledSystem["launch"]> {
  const [http = 0, grpc = 0, gossip = 0] = freePorts(3);
  const places: Readonly<Record<string, string>> = {
    HTTP_PORT: String(http),
    GRPC_PORT: String(grpc),
    GOSSIP_PORT: String(gossip),
    FOLDER: folder,
  };
  const text = (await Deno.readTextFile(SETTINGS))
    .replace(/\$\{(\w+)\}/g, (place, name: string) => places[name] ?? place);
  const settings = join(folder, "loki.yaml");
  await Deno.writeTextFile(settings, text);
  return {
    command: program,
    args: [`-config.file=${settings}`],
    ingestPort: http,
    askPort: http,
    readyUrls: [`http://127.0.0.1:${http}/ready`],
  };
}

function questions(scope: Scope): Questions {
  const { subject } = scope;
  const whole = `${scope.dataEndMs - scope.dataBeginMs}ms`;
  const counted = (stages: string) => `sum(count_over_time(${ALL} ${stages}[${whole}]))`;
  const number = `${ALL} | unwrap ${label(subject.number)} [${whole}]`;
  const found = subject.lookup === "trace"
    ? `trace_id="${scope.traceId}"`
    : `${label(subject.lookup.path)}="${scope.id}"`;
  const severity = `severity_text="${subject.newest.severity}"`;
  const at = instant(scope.dataEndMs);
  const phrase = scope.phrase.join(" ");
  return {
    range: one(
      `sum(count_over_time(${ALL}[${scope.toMs - scope.fromMs}ms]))`,
      instant(scope.toMs),
    ),
    service: vector(
      `sum by (service_name) (count_over_time(${ALL}[${whole}]))`,
      at,
      ({ metric, value }) => [
        [String(metric["service_name"]), Number(value[1])],
      ],
    ),
    minute: minutes(scope),
    rare: lines(`${ALL} |= "${scope.rareWord}"`, scope, 100),
    part: one(counted(`|= "${scope.part}" `), at),
    phrase: one(counted(`|= "${phrase}" |~ ${"`"}\\b${phrase}\\b${"`"} `), at),
    newest: lines(
      `{service_name="${subject.newest.service}"} | ${severity}`,
      scope,
      scope.newestRows,
    ),
    lookup: lines(`${ALL} | ${found}`, scope, 100),
    top: async (call) => {
      const counts = `sum by (${label(subject.top)}) (count_over_time(${ALL}[${whole}]))`;
      const text = await ask(call, "query", { query: `topk(10, ${counts})`, ...at });
      return () => ranked(resultOf(text).map(({ value }) => Number(value[1])));
    },
    // It has no function that gives both: two questions.
    average: async (call) => {
      const by = "by (service_name)";
      const [avg, p95] = [
        await ask(call, "query", { query: `avg_over_time(${number}) ${by}`, ...at }),
        await ask(call, "query", { query: `quantile_over_time(0.95, ${number}) ${by}`, ...at }),
      ];
      return () => new Map([...byService(avg, "avg"), ...byService(p95, "p95")]);
    },
    regex: one(counted(`|~ ${"`"}${scope.regex}${"`"} `), at),
    rows: async (call) => {
      const text = await ask(call, "query_range", linesQuery(ALL, scope, scope.rowsOut));
      return () => single(text.match(/req=[0-9a-z]{16}/g)?.length);
    },
  };
}

/** Structured metadata has no dots in its names. */
function label(path: readonly string[]): string {
  return path.join("_").replaceAll(".", "_");
}

/** A range ends with its moment and begins behind its beginning: so a nanosecond before. */
function instant(ms: number): Readonly<Record<string, string>> {
  return { time: String(BigInt(ms) * 1_000_000n - 1n) };
}

/**
 * A step counts the minute that ends with it, its last moment included. Steps lie on whole minutes,
 * whatever is asked. So the minute is moved by a millisecond, in the last of which there is no row.
 */
function minutes(scope: Scope): Ask {
  const nanoseconds = (ms: number) => String(BigInt(ms) * 1_000_000n);
  return async (call) => {
    const text = await ask(call, "query_range", {
      query: `sum by (severity_text) (count_over_time(${ALL}[1m] offset 1ms))`,
      start: nanoseconds(scope.dataBeginMs + MINUTE_MS),
      end: nanoseconds(scope.dataEndMs),
      step: "60",
    });
    return () => new Map(resultOf(text).flatMap(minuteEntries));
  };
}

function minuteEntries({ metric, values }: Series): readonly (readonly [string, number])[] {
  return values.map(([secs, n]) => [
    minuteKey(secs * 1_000 - MINUTE_MS, String(metric["severity_text"])),
    Number(n),
  ]);
}

function linesQuery(query: string, scope: Scope, limit: number): Readonly<Record<string, string>> {
  return {
    query,
    start: String(BigInt(scope.dataBeginMs) * 1_000_000n),
    end: String(BigInt(scope.dataEndMs) * 1_000_000n),
    limit: String(limit),
    direction: "backward",
  };
}

function lines(query: string, scope: Scope, limit: number): Ask {
  return async (call) => {
    const text = await ask(call, "query_range", linesQuery(query, scope, limit));
    return () => idsIn(text);
  };
}

interface Series {
  readonly metric: Readonly<Record<string, unknown>>;
  readonly value: readonly [number, string];
  readonly values: readonly (readonly [number, string])[];
}

function resultOf(text: string): readonly Series[] {
  return JSON.parse(text).data.result;
}

function one(query: string, at: Readonly<Record<string, string>>): Ask {
  return async (call) => {
    const text = await ask(call, "query", { query, ...at });
    return () => single(resultOf(text)[0]?.value[1] ?? 0);
  };
}

function vector(
  query: string,
  at: Readonly<Record<string, string>>,
  entries: (series: Series) => readonly (readonly [string, number])[],
): Ask {
  return async (call) => {
    const text = await ask(call, "query", { query, ...at });
    return (): Answer => new Map(resultOf(text).flatMap(entries));
  };
}

function byService(text: string, what: string): readonly (readonly [string, number])[] {
  return resultOf(text).map(({ metric, value }) =>
    [`${metric["service_name"]} ${what}`, Number(value[1])] as const
  );
}

function ask(
  call: Parameters<Ask>[0],
  kind: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return call(`/loki/api/v1/${kind}?${new URLSearchParams(parameters)}`);
}
