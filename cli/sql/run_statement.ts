/** Asks the server one statement and writes the answer: rows to stdout, the rest to stderr. */

import { OperatingError } from "../../shared/base/errors.ts";
import { uniqueNames } from "../../shared/engine/answer/render.ts";
import type { Console } from "../console.ts";
import { type Expanded, renderAnswer } from "./answer_text.ts";
import {
  type Answer,
  codeOf,
  messageLines,
  type RecordsBody,
  type SqlClient,
  type Trailer,
} from "./client.ts";
import { printable } from "./display_width.ts";
import { cutText, dryRunLines, recordsFooter, streamFooter } from "./statement_report.ts";

export const FORMATS = ["table", "json", "ndjson"] as const;
export type Format = typeof FORMATS[number];

export interface StatementOptions {
  readonly format: Format;
  readonly dryRun: boolean;
  /** Leaves the footer out; that rows are missing is said all the same. */
  readonly quiet: boolean;
  /** `limits.max_rows_returned`; default: the server's. */
  readonly rowsMax?: number | undefined;
  /** How rows of format `table` are laid out; default `auto`. */
  readonly expanded?: Expanded | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Text is written in pieces of about this many characters. */
const PIECE_LENGTH = 64 * 1024;

/** Whether all rows were written, or the server cut the answer. */
export type Extent = "whole" | "cut";

/**
 * Errors: what `SqlClient` throws; for a stream that failed midway the error that its trailer
 * tells.
 */
export async function runStatement(
  client: SqlClient,
  query: string,
  console: Console,
  options: StatementOptions,
): Promise<Extent> {
  if (options.dryRun) return await showCost(client, query, console, options);
  if (options.format === "ndjson") return await showStream(client, query, console, options);
  return await showRecords(await client.records(query, options), console, options);
}

/** Writes an answer that is there whole, and its footer. */
export async function showRecords(
  { body, serverMicros }: Answer<RecordsBody>,
  console: Console,
  options: StatementOptions,
): Promise<Extent> {
  const lines = {
    table: () => tableLines(body, console, options),
    json: () => jsonLines(body),
    ndjson: () => objectLines(body),
  };
  await writeLines(console, lines[options.format]());
  await note(console, options, recordsFooter(body, serverMicros));
  return await extentOf(console, options, body.truncated === true ? body.max_rows : undefined);
}

async function showCost(
  client: SqlClient,
  query: string,
  console: Console,
  options: StatementOptions,
): Promise<Extent> {
  const { body } = await client.dryRun(query, options.signal);
  const lines = {
    table: () => dryRunLines(body).map(printable),
    json: () => [JSON.stringify(body, null, 2)],
    ndjson: () => [JSON.stringify(body)],
  };
  await writeLines(console, lines[options.format]());
  return "whole";
}

async function showStream(
  client: SqlClient,
  query: string,
  console: Console,
  options: StatementOptions,
): Promise<Extent> {
  const { body, serverMicros } = await client.stream(query, options);
  let rows = 0;
  let trailer: Trailer | undefined;
  for await (const batch of body) {
    let text = "";
    for (const line of batch) {
      if (line.kind === "trailer") trailer = line.trailer;
      else {
        text += `${line.text}\n`;
        rows += 1;
      }
    }
    await console.output.write(text);
  }
  if (trailer !== undefined && trailer._meta !== "truncated") throw midwayFailure(trailer, rows);
  await note(console, options, streamFooter(rows, serverMicros, trailer));
  const rowsMax = trailer === undefined ? undefined : Number(trailer["max_rows"]);
  return await extentOf(console, options, rowsMax);
}

/**
 * Without the footer a line of its own tells of missing rows. `rowsMax`: where the answer was cut.
 */
async function extentOf(
  { notes }: Console,
  { quiet }: StatementOptions,
  rowsMax: number | null | undefined,
): Promise<Extent> {
  if (rowsMax === undefined) return "whole";
  if (quiet) await notes.write(`svc: the answer is ${cutText(rowsMax)}\n`);
  return "cut";
}

function midwayFailure(trailer: Trailer, rows: number): OperatingError {
  const code = trailer["code"] === undefined ? "too_large" : codeOf(Number(trailer["code"]));
  const said = typeof trailer["error"] === "string" ? trailer["error"] : trailer._meta;
  const wait = trailer["retry_after_secs"];
  const retry = typeof wait === "number" ? ` (try again in ${wait} s)` : "";
  const [shown, ...more] = messageLines(said);
  const first = `The answer ended early, after ${rows} rows: ${shown}${retry}`;
  return new OperatingError(code, [first, ...more].join("\n"));
}

function tableLines(
  body: RecordsBody,
  { output }: Console,
  { expanded }: StatementOptions,
): Iterable<string> {
  return renderAnswer(body.columns, body.rows, {
    width: output.columns(),
    color: output.isStyled,
    expanded,
  });
}

/**
 * One JSON array; a row is one object on one line, its members named as in the server's `ndjson`.
 */
function* jsonLines(body: RecordsBody): Iterable<string> {
  if (body.rows.length === 0) return yield "[]";
  yield "[";
  let at = 0;
  for (const line of objectLines(body)) {
    at += 1;
    yield `  ${line}${at < body.rows.length ? "," : ""}`;
  }
  yield "]";
}

function* objectLines(body: RecordsBody): Iterable<string> {
  const names = uniqueNames(body.columns);
  for (const row of body.rows) {
    yield JSON.stringify(Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])));
  }
}

async function writeLines(console: Console, lines: Iterable<string>): Promise<void> {
  let piece = "";
  for (const line of lines) {
    piece += `${line}\n`;
    if (piece.length < PIECE_LENGTH) continue;
    await console.output.write(piece);
    piece = "";
  }
  if (piece !== "") await console.output.write(piece);
}

async function note(console: Console, options: StatementOptions, text: string): Promise<void> {
  if (!options.quiet) await console.notes.write(`${text}\n`);
}
