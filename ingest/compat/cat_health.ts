/**
 * `GET /_cat/health`: one row of a table, for people as aligned text, for programs as JSON. Names,
 * aliases and options are those of search engines. `v` heads the columns, `h` chooses them by name,
 * alias or pattern, `help` tells what there is. `ts=false` leaves the time out, `format` or the
 * header `Accept` asks for JSON. Columns that `h` names and nobody knows are left out, and other
 * options ignored, as in search engines.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { CLUSTER_HEALTH } from "./compat_bodies.ts";
import { compatJson, compatText } from "./compat_reply.ts";

interface Column {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly meaning: string;
  readonly value: (nowMs: number) => string;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
  readonly isTime?: boolean;
}

/** A column as it was asked for: under its alias where it was named by that. */
interface Shown {
  readonly title: string;
  readonly column: Column;
}

const COLUMNS: readonly Column[] = [
  {
    name: "epoch",
    aliases: ["t", "time"],
    meaning: "Unix time in seconds",
    value: (nowMs) => String(Math.floor(nowMs / 1_000)),
    isTime: true,
  },
  {
    name: "timestamp",
    aliases: ["ts", "hms", "hhmmss"],
    meaning: "time of day in UTC, HH:MM:SS",
    value: (nowMs) => new Date(nowMs).toISOString().slice(11, 19),
    isTime: true,
  },
  {
    name: "cluster",
    aliases: ["cl"],
    meaning: "cluster name",
    value: () => CLUSTER_HEALTH.cluster_name,
  },
  { name: "status", aliases: ["st"], meaning: "health", value: () => CLUSTER_HEALTH.status },
  count("node.total", ["nt", "nodeTotal"], "nodes", CLUSTER_HEALTH.number_of_nodes),
  count(
    "node.data",
    ["nd", "nodeData"],
    "nodes that hold data",
    CLUSTER_HEALTH.number_of_data_nodes,
  ),
  count(
    "shards",
    ["t", "sh", "shards.total", "shardsTotal"],
    "shards",
    CLUSTER_HEALTH.active_shards,
  ),
  count(
    "pri",
    ["p", "shards.primary", "shardsPrimary"],
    "primary shards",
    CLUSTER_HEALTH.active_primary_shards,
  ),
  count(
    "relo",
    ["r", "shards.relocating", "shardsRelocating"],
    "shards that move",
    CLUSTER_HEALTH.relocating_shards,
  ),
  count(
    "init",
    ["i", "shards.initializing", "shardsInitializing"],
    "shards that start",
    CLUSTER_HEALTH.initializing_shards,
  ),
  count(
    "unassign",
    ["u", "shards.unassigned", "shardsUnassigned"],
    "shards without a node",
    CLUSTER_HEALTH.unassigned_shards,
  ),
  count("pending_tasks", ["pt", "pendingTasks"], "tasks that wait", 0),
  {
    name: "max_task_wait_time",
    aliases: ["mtwt", "maxTaskWaitTime"],
    meaning: "how long the oldest of them waits",
    value: () => "-",
    isNumber: true,
  },
  {
    name: "active_shards_percent",
    aliases: ["asp", "activeShardsPercent"],
    meaning: "share of shards that are active",
    value: () => "100.0%",
    isNumber: true,
  },
];

/** Errors: `invalid_argument` for a value that an option cannot have. */
export function catHealth(request: Request, query: string, nowMs: number): Response {
  const options = new URLSearchParams(query);
  if (flag(options, "help", false)) return compatText(help());
  const shown = shownColumns(options);
  const values = shown.map(({ column }) => column.value(nowMs));
  if (isJson(options, request.headers.get("accept"))) {
    const row = Object.fromEntries(shown.map(({ title }, at) => [title, values[at]]));
    return compatJson(request, JSON.stringify([row]));
  }
  const titles = shown.map(({ title }) => title);
  const lines = flag(options, "v", false) ? [titles, values] : [values];
  return compatText(aligned(lines, shown.map(({ column }) => column.isNumber === true)));
}

function count(
  name: string,
  aliases: readonly string[],
  meaning: string,
  value: number,
): Column {
  const text = String(value);
  return { name, aliases, meaning: `number of ${meaning}`, value: () => text, isNumber: true };
}

function shownColumns(options: URLSearchParams): Shown[] {
  const wanted = options.getAll("h").flatMap((names) => names.split(",")).map((one) => one.trim());
  if (wanted.some((one) => one !== "")) return wanted.flatMap(named);
  const times = flag(options, "ts", true);
  return COLUMNS.filter(({ isTime }) => times || isTime !== true)
    .map((column) => ({ title: column.name, column }));
}

/** The columns that a part of `h` stands for: a name, else an alias, else a pattern with `*`. */
function named(wanted: string): Shown[] {
  const column = COLUMNS.find(({ name }) => name === wanted) ??
    COLUMNS.find(({ aliases }) => aliases.includes(wanted));
  if (column !== undefined) return [{ title: wanted, column }];
  if (!wanted.includes("*")) return [];
  const parts = wanted.split("*");
  return COLUMNS.filter(({ name }) => fits(name, parts))
    .map((column) => ({ title: column.name, column }));
}

/**
 * Whether `name` begins with the first part, ends with the last, and has the others between them in
 * their order.
 */
function fits(name: string, parts: readonly string[]): boolean {
  const last = parts.at(-1) ?? "";
  let at = 0;
  for (const [i, part] of parts.slice(0, -1).entries()) {
    const found = name.indexOf(part, at);
    if (found < 0 || (i === 0 && found > 0)) return false;
    at = found + part.length;
  }
  return name.endsWith(last) && name.length - last.length >= at;
}

function help(): string {
  const lines = COLUMNS.map(({ name, aliases, meaning }) => [name, aliases.join(","), meaning]);
  return aligned(lines, [], " | ");
}

function aligned(
  lines: readonly (readonly string[])[],
  toTheRight: readonly boolean[],
  between = " ",
): string {
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0))
  );
  const padded = (cell: string, at: number) =>
    toTheRight[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0);
  return lines.map((line) => `${line.map(padded).join(between).trimEnd()}\n`).join("");
}

/** `format`, else the first of the accepted types that there is. */
function isJson(options: URLSearchParams, accept: string | null): boolean {
  const format = options.get("format");
  if (format === "json" || format === "text" || format === "txt") return format === "json";
  if (format !== null && format !== "") throw refusal("format", format, "json or text");
  const known = (accept ?? "").split(",").find((type) => /json|text\/plain|\*\/\*/.test(type));
  return known?.includes("json") ?? false;
}

/** An option that is there without a value is on. */
function flag(options: URLSearchParams, name: string, fallback: boolean): boolean {
  const value = options.get(name);
  if (value === null) return fallback;
  if (value === "" || value === "true") return true;
  if (value === "false") return false;
  throw refusal(name, value, "true or false");
}

function refusal(name: string, value: string, allowed: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `cannot take ${name}=${JSON.stringify(value)} of _cat/health: it is ${allowed}`,
    { reason: "bad_cat_option" },
  );
}
