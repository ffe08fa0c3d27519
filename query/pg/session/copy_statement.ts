/** `COPY (SELECT …) TO STDOUT` and `COPY table TO STDOUT`, with the options of both syntaxes. */

import { pgError } from "../sqlstate.ts";
import type { CopyTextOptions } from "../wire/copy_text.ts";

export interface CopyStatement {
  /** The statement whose rows are copied. */
  readonly sql: string;
  readonly options: CopyOptions;
}

export type CopyOptions = CopyTextOptions | { readonly format: "binary" };

/** Undefined: it is no COPY. Errors: SQLSTATE 0A000 for COPY FROM, 42601 and 22023 for options. */
export function parseCopy(statement: string): CopyStatement | undefined {
  if (!/^COPY\b/i.test(statement)) return undefined;
  const { source, rest } = sourceOf(statement);
  const to = /^\s*TO\s+STD(?:OUT|IN)\b/i.exec(rest);
  if (to === null) {
    throw pgError(
      "0A000",
      "Cannot run this COPY: only COPY … TO STDOUT is answered",
      { hint: "Rows are ingested over HTTP or gRPC: docs/api/ingest.md." },
    );
  }
  return { sql: source, options: optionsOf(rest.slice(to[0].length)) };
}

const NAME = String.raw`(?:"(?:[^"]|"")*"|[A-Za-z_][\w$]*)`;
const TABLE = new RegExp(
  String.raw`^COPY\s+(${NAME}(?:\s*\.\s*${NAME})*)\s*(?:\(([^)]*)\))?`,
  "i",
);

function sourceOf(statement: string): { readonly source: string; readonly rest: string } {
  const open = /^COPY\s*\(/i.exec(statement);
  if (open !== null) {
    const end = closingOf(statement, open[0].length);
    return { source: statement.slice(open[0].length, end), rest: statement.slice(end + 1) };
  }
  const table = TABLE.exec(statement);
  if (table === null) throw pgError("42601", "Cannot parse the COPY: it names no table or query");
  const [whole, name = "", columns = "*"] = table;
  return { source: `SELECT ${columns} FROM ${name}`, rest: statement.slice(whole.length) };
}

/** What begins and does not end goes to the end of the text. */
const TOKEN =
  /--[^\n]*|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\$(?<tag>(?:[A-Za-z_]\w*)?)\$[^]*?(?:\$\k<tag>\$|$)|[^]/g;

/** Where the parenthesis ends that was opened before `from`. */
function closingOf(statement: string, from: number): number {
  let depth = 1;
  for (const { 0: token, index } of statement.slice(from).matchAll(TOKEN)) {
    if (token === "(") depth += 1;
    if (token === ")") depth -= 1;
    if (depth === 0) return from + index;
  }
  throw pgError("42601", "Cannot parse the COPY: its query has no closing parenthesis");
}

/** `WITH (FORMAT csv, HEADER)` or `WITH CSV HEADER DELIMITER ','`. */
function optionsOf(text: string): CopyOptions {
  const given = new Map<string, string>();
  const inner = /^\s*(?:WITH\s*)?\(([^]*)\)\s*$/i.exec(text)?.[1];
  // `DELIMITER AS ','` is the older spelling.
  const words = wordsOf(inner ?? text.replace(/^\s*WITH\b/i, "")).filter((word) =>
    word.toLowerCase() !== "as"
  );
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at]?.toLowerCase() ?? "";
    if (word === ",") continue;
    if (word === "csv" || word === "binary") given.set("format", word);
    else if (word === "force" && /^quote$/i.test(words[at + 1] ?? "")) {
      given.set("force_quote", words[at += 2] ?? "");
    } else {
      const next = words[at + 1];
      const hasValue = next !== undefined && next !== "," && takesValue(word, next);
      given.set(word, hasValue ? next : "true");
      if (hasValue) at += 1;
    }
  }
  return checked(given);
}

/** `HEADER` may stand alone, before another option. */
function takesValue(word: string, next: string): boolean {
  return word !== "header" || /^(?:true|false|on|off|0|1)$/i.test(next);
}

function wordsOf(text: string): string[] {
  return text.match(/E?'(?:[^']|'')*'|\([^)]*(?:\)|$)|[\w*]+|,/gi) ?? [];
}

function checked(given: ReadonlyMap<string, string>): CopyOptions {
  const known = [
    "format",
    "delimiter",
    "null",
    "header",
    "quote",
    "escape",
    "force_quote",
    "encoding",
  ];
  for (const name of given.keys()) {
    if (!known.includes(name)) throw pgError("42601", `Cannot use the option ${name} of COPY`);
  }
  const format = unquoted(given.get("format") ?? "text").toLowerCase();
  if (format === "binary") return { format };
  if (format !== "text" && format !== "csv") {
    throw pgError("22023", `Cannot copy in the format ${format}: write text, csv or binary`);
  }
  const encoding = unquoted(given.get("encoding") ?? "UTF8");
  if (!/^utf-?8$/i.test(encoding)) {
    throw pgError("0A000", `Cannot copy in ${encoding}, only in UTF8`);
  }
  const isCsv = format === "csv";
  const quote = oneByte("quote", unquoted(given.get("quote") ?? '"'));
  return {
    format,
    delimiter: oneByte("delimiter", unquoted(given.get("delimiter") ?? (isCsv ? "," : "\t"))),
    nullText: unquoted(given.get("null") ?? (isCsv ? "" : "\\N")),
    hasHeader: /^(?:true|on|1)$/i.test(unquoted(given.get("header") ?? "false")),
    quote,
    escape: oneByte("escape", unquoted(given.get("escape") ?? quote)),
    quoted: quotedColumns(given.get("force_quote") ?? ""),
  };
}

/** Names of columns in parentheses, or one; `*`. */
function quotedColumns(written: string): CopyTextOptions["quoted"] {
  if (/^\(?\s*\*\s*\)?$/.test(written)) return "*";
  return (written.match(/"(?:[^"]|"")*"|[\w$]+/g) ?? []).map((name) =>
    name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase()
  );
}

function unquoted(word: string): string {
  const isEscaped = /^E'/i.test(word);
  const inner = /^E?'([^]*)'$/i.exec(word)?.[1]?.replaceAll("''", "'");
  if (inner === undefined) return word;
  return isEscaped ? inner.replaceAll("\\t", "\t").replaceAll("\\\\", "\\") : inner;
}

function oneByte(name: string, value: string): string {
  if (value.length === 1 && value.charCodeAt(0) < 0x80 && !/[\r\n]/.test(value)) return value;
  throw pgError("22023", `Cannot use the COPY ${name} ${JSON.stringify(value)}: give one byte`);
}
