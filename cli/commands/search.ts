/**
 * `svc search [SEARCH]`: the newest rows that a search finds, one line each, oldest first.
 * shared/search/README.md has the language.
 */

import { counted } from "../../shared/base/counted.ts";
import { OperatingError, UsageError } from "../../shared/base/errors.ts";
import { formatMicros, NS_PER_MS, NS_PER_US } from "../../shared/base/time.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { instantSql } from "../../shared/search/instant_sql.ts";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import { SearchError } from "../../shared/search/search_error.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import type { Console, TextOutput } from "../console.ts";
import { followRows } from "../search/follow_rows.ts";
import { rowText } from "../search/row_text.ts";
import { searchTimeNs } from "../search/search_time.ts";
import { searchedTable } from "../search/searched_table.ts";
import { type RecordsBody, SqlClient } from "../sql/client.ts";
import type { JsonValue } from "../sql/exact_json.ts";
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
    help: "Only rows since then: how long ago (15m, 2h, 7d), or a date or an instant.",
  },
  until: {
    kind: "text",
    flag: "until",
    placeholder: "TIME",
    help: "Only rows before then; up to the newest when not given.",
  },
  limit: {
    kind: "integer",
    flag: "limit",
    placeholder: "ROWS",
    default: 100,
    min: 1,
    max: 100_000,
    help: "Most rows to print; the newest are printed. A note says if there are more.",
  },
  format: {
    kind: "text",
    flag: "format",
    placeholder: "FORMAT",
    default: "text",
    choices: ["text", "ndjson"],
    help: "A readable line for each row, or each row as a JSON object with all of its columns.",
  },
  tail: {
    kind: "switch",
    flag: "tail",
    help: "Then print new rows as they arrive, until Ctrl-C. Connects again when the connection " +
      "is lost.",
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
  const written = { console, table, format: settings.format };
  const condition = readable(text, () => searchCondition(search, table));
  const sql = `SELECT * FROM ${quoteName(name)} WHERE ${times} AND (${condition}) ` +
    `ORDER BY timestamp DESC, timestamp_ns DESC LIMIT ${limit + 1}`;
  const found = async () => {
    const { body, serverMicros } = await client.records(sql, { rowsMax: limit + 1 });
    const rows = body.rows.slice(0, limit).toReversed();
    await write(written, { columns: body.columns, rows });
    const notes = quiet ? [] : notesOf(settings, { rows: body.rows.length, serverMicros });
    for (const note of notes) await console.notes.write(`${note}\n`);
    return rows;
  };
  if (!settings.tail) return void await found();
  await tail({ client, params: tailParams(name, text), written, quiet, found });
}

/** What is told of the rows that a search found. */
function notesOf(
  { limit, since }: Pick<Settings<typeof OPTIONS>, "limit" | "since">,
  { rows, serverMicros }: { readonly rows: number; readonly serverMicros: number | undefined },
): string[] {
  const took = serverMicros === undefined ? "" : ` · ${milliseconds(serverMicros / 1_000)} server`;
  const more = rows > limit ? " · there are older ones: raise --limit" : "";
  const none = rows > 0 ? "" : ` since ${since}`;
  return [`${counted(Math.min(rows, limit), "row")}${none}${more}${took}`];
}

/** More rows a second than anybody reads. */
const TAIL_ROWS_PER_SEC = 10_000;

function tailParams(table: string, search: string): URLSearchParams {
  return new URLSearchParams({
    ...{ table, search },
    max_rows_per_second: String(TAIL_ROWS_PER_SEC),
  });
}

/**
 * Prints the rows that `found` finds, and goes on with those that come. The tail is connected
 * first, so no row falls in between; one that both have is printed once.
 */
async function tail(
  { client, params, written, quiet, found }: {
    readonly client: SqlClient;
    readonly params: URLSearchParams;
    readonly written: WrittenRows;
    readonly quiet: boolean;
    readonly found: () => Promise<readonly (readonly JsonValue[])[]>;
  },
): Promise<void> {
  using end = listenForEnd();
  const ending = new AbortController();
  end.requested.then(() => ending.abort(new OperatingError("cancelled", "asked to end")));
  const clock = new SystemClock();
  const printed = new Map<string, number>();
  let isFreshMs = 0;
  await followRows({
    ...{ client, params, clock },
    notes: quiet ? SILENT : written.console.notes,
    signal: ending.signal,
    onOpen: async () => {
      for (const row of await found()) {
        const text = JSON.stringify(row);
        printed.set(text, (printed.get(text) ?? 0) + 1);
      }
      isFreshMs = clock.monotonicMs() + BOTH_MS;
    },
    onRows: async (columns, rows) => {
      if (clock.monotonicMs() > isFreshMs) printed.clear();
      const isNew = (row: readonly JsonValue[]) => {
        const text = JSON.stringify(row);
        const count = printed.get(text) ?? 0;
        if (count > 0) printed.set(text, count - 1);
        return count === 0;
      };
      const fresh = printed.size === 0 ? rows : rows.filter(isNew);
      await write(written, { columns, rows: fresh });
    },
  });
}

/** So long after the search a row of the tail may be one that it had found. */
const BOTH_MS = 5_000;

const SILENT: TextOutput = {
  isTerminal: false,
  isStyled: false,
  columns: () => undefined,
  write: () => Promise.resolve(),
};

/** Errors: `UsageError` for times that cannot be read, and for an end before the beginning. */
function timesOf({ since, until, tail }: Settings<typeof OPTIONS>): string {
  if (tail && until !== undefined) {
    throw new UsageError(
      `Cannot look until ${until} and follow what comes: leave --until or --tail out`,
    );
  }
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

/** Where rows are written, and how. */
interface WrittenRows {
  readonly console: Console;
  readonly table: SearchTable;
  readonly format: string;
}

async function write(
  { console: { output }, table: { texts }, format }: WrittenRows,
  { columns, rows }: Pick<RecordsBody, "columns" | "rows">,
): Promise<void> {
  let lines = "";
  for (const values of rows) {
    const row = Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]));
    const line = format === "ndjson"
      ? JSON.stringify(row)
      : rowText(row, { texts, isStyled: output.isStyled });
    lines += `${line}\n`;
  }
  if (lines !== "") await output.write(lines);
}
