/** The line about an answer, for people: how many rows, who answered, what it took. */

import { formatBytes } from "../../shared/base/bytes.ts";
import { counted } from "../../shared/base/counted.ts";
import type { DryRunBody, RecordsBody, Trailer } from "./client.ts";

/** `3 rows · scan · 12.3 ms server · 2 files · 1,000 rows scanned · 10.2 MiB`, and what was cut. */
export function recordsFooter(body: RecordsBody, serverMicros: number | undefined): string {
  const { stats, cost } = body;
  const files = stats.scan?.files_read ?? cost.files_to_scan;
  const parts = [
    counted(body.row_count, "row"),
    stats.served_by,
    ...serverTime(serverMicros),
    counted(files, "file"),
    `${counted(stats.rows_scanned, "row")} scanned`,
    formatBytes(stats.bytes_scanned),
  ];
  if (stats.spill_bytes > 0) parts.push(`${formatBytes(stats.spill_bytes)} spilled`);
  if (body.truncated) parts.push(cutText(body.max_rows));
  return parts.join(" · ");
}

/** A stream tells no statistics: rows, the server's time to its first row, and its trailer. */
export function streamFooter(
  rows: number,
  serverMicros: number | undefined,
  trailer: Trailer | undefined,
): string {
  const parts = [counted(rows, "row"), ...serverTime(serverMicros)];
  if (trailer?._meta === "truncated") parts.push(cutText(Number(trailer["max_rows"])));
  return parts.join(" · ");
}

/** One `name  value` line per measure. */
export function dryRunLines({ cost, tables, served_by }: DryRunBody): string[] {
  const measures: [string, string][] = [
    ["files to scan", `${number(cost.files_to_scan)} of ${number(cost.files_considered)}`],
    ["estimated bytes", formatBytes(cost.estimated_bytes_scanned)],
    ["estimated rows", number(cost.estimated_rows_processed)],
    ["estimated runtime", `${cost.estimated_runtime_seconds} s`],
    ["complexity", cost.complexity_class],
    ["exact", cost.exact ? "yes" : "no"],
    ["served by", served_by],
    ...tables.map(({ table, snapshot_id, files }): [string, string] => [
      `table ${table}`,
      `snapshot ${snapshot_id ?? "none"}, ${counted(files, "file")}`,
    ]),
    ...cost.warnings.map((warning): [string, string] => ["warning", warning]),
  ];
  const width = Math.max(...measures.map(([name]) => name.length));
  return measures.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

function serverTime(micros: number | undefined): string[] {
  return micros === undefined ? [] : [`${milliseconds(micros / 1000)} server`];
}

/** `0.42 ms`, `12.3 ms`, `1.52 s`. */
export function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`;
  return `${ms.toFixed(ms < 10 ? 2 : 1)} ms`;
}

/** What is said of an answer that has fewer rows than the statement. */
export function cutText(rowsMax: number | null | undefined): string {
  const cap = typeof rowsMax === "number" ? ` at ${counted(rowsMax, "row")}` : "";
  return `truncated${cap}: there are more; raise --max-rows, add LIMIT or ask narrower`;
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
