/**
 * `svc search [SEARCH]`: the newest rows that a search finds, one line each, oldest first.
 * shared/search/README.md has the language.
 */

import { counted } from "../../shared/base/counted.ts";
import { UsageError } from "../../shared/base/errors.ts";
import { formatMicros, NS_PER_MS, NS_PER_US } from "../../shared/base/time.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import { SearchError } from "../../shared/search/search_error.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { rowText } from "../search/row_text.ts";
import { searchTimeNs } from "../search/search_time.ts";
import { searchedTable } from "../search/searched_table.ts";
import { type RecordsBody, SqlClient } from "../sql/client.ts";
import { displayWidth, printable } from "../sql/display_width.ts";
import { milliseconds } from "../sql/statement_report.ts";
import { OPTIONS as SQL_OPTIONS } from "./sql.ts";

const OPTIONS = {
  endpoint: SQL_OPTIONS.endpoint,
  token: SQL_OPTIONS.token,
  table: {
    kind: "text",
    flag: "table",
    placeholder: "NAME",
    default: "events",
    help: "The table: events, traces, or an index id.",
  },
  since: {
    kind: "text",
    flag: "since",
    placeholder: "TIME",
    default: "1h",
    help: "Look at rows from then on: how long ago (15m, 2h, 7d), or a date or an instant.",
  },
  until: {
    kind: "text",
    flag: "until",
    placeholder: "TIME",
    help: "Look at rows before then; the newest there are when not given.",
  },
  limit: {
    kind: "integer",
    flag: "limit",
    placeholder: "ROWS",
    default: 100,
    min: 1,
    max: 100_000,
    help: "Print so many rows at most, the newest. A note says when there are more.",
  },
  format: {
    kind: "text",
    flag: "format",
    placeholder: "FORMAT",
    default: "text",
    choices: ["text", "ndjson"],
    help: "A line for people, or each row as a JSON object with all of its columns.",
  },
  quiet: {
    kind: "switch",
    flag: "quiet",
    help: "Leave out the notes on stderr.",
  },
  dataDir: SQL_OPTIONS.dataDir,
} as const satisfies OptionTable;

export const command = defineCommand({ options: OPTIONS, run });

async function run(
  settings: Settings<typeof OPTIONS>,
  { operands, console }: CommandContext,
): Promise<void> {
  const { endpoint, token, table: name, limit, quiet } = settings;
  const text = operands[0] ?? "";
  const search = readable(text, () => parseSearch(text));
  const times = timesOf(settings);
  const client = new SqlClient({ endpoint, token });
  const table = await searchedTable(client, name);
  const condition = readable(text, () => searchCondition(search, table));
  const sql = `SELECT * FROM ${quoteName(name)} WHERE ${times} AND (${condition}) ` +
    `ORDER BY timestamp DESC, timestamp_ns DESC LIMIT ${limit + 1}`;
  const { body, serverMicros } = await client.records(sql, { rowsMax: limit + 1 });
  const rows = body.rows.slice(0, limit).toReversed();
  await write(console, { body: { ...body, rows }, table, format: settings.format });
  if (quiet) return;
  const took = serverMicros === undefined ? "" : ` · ${milliseconds(serverMicros / 1_000)} server`;
  const more = body.rows.length > limit ? " · there are older ones: raise --limit" : "";
  const none = rows.length > 0 ? "" : ` since ${settings.since}`;
  await console.notes.write(`${counted(rows.length, "row")}${none}${more}${took}\n`);
}

/** Errors: `UsageError` for times that cannot be read, and for an end before the beginning. */
function timesOf({ since, until }: Settings<typeof OPTIONS>): string {
  const nowNs = BigInt(new SystemClock().nowMs()) * NS_PER_MS;
  const from = searchTimeNs(since, nowNs, "--since");
  const to = until === undefined ? undefined : searchTimeNs(until, nowNs, "--until");
  if (to !== undefined && to <= from) {
    throw new UsageError(
      `Cannot look until ${until}: that is not after --since ${since}; give a later --until`,
    );
  }
  const instant = (ns: bigint) => instantSql(formatMicros(ns / NS_PER_US));
  const end = to === undefined ? "" : ` AND timestamp < ${instant(to)}`;
  return `timestamp >= ${instant(from)}${end}`;
}

/** Errors: those of `read`, with the search and a mark below what is wrong. */
function readable<T>(text: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SearchError)) throw error;
    const { start, end } = error.span;
    const before = displayWidth(printable(text.slice(0, start)));
    const mark = "^".repeat(Math.max(1, displayWidth(printable(text.slice(start, end)))));
    throw new UsageError(`${error.message}\n  ${printable(text)}\n  ${" ".repeat(before)}${mark}`);
  }
}

async function write(
  { output }: Console,
  { body: { columns, rows }, table: { texts }, format }: {
    readonly body: RecordsBody;
    readonly table: SearchTable;
    readonly format: string;
  },
): Promise<void> {
  for (const values of rows) {
    const row = Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]));
    const line = format === "ndjson"
      ? JSON.stringify(row)
      : rowText(row, { texts, isStyled: output.isStyled });
    await output.write(`${line}\n`);
  }
}
