/**
 * Turns text into a tree and back, with DuckDB's own parser: what is judged is what runs.
 *
 * A statement has one form here: one SELECT (VALUES, set operations and WITH included), perhaps
 * behind EXPLAIN or EXPLAIN ANALYZE, which the tree does not know. DuckDB's parser makes a SELECT
 * of DESCRIBE, SHOW, SUMMARIZE, PIVOT and UNPIVOT, too (`shown.ts`). Everything else is refused
 * with its reason.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import { OperatingError } from "../../base/errors.ts";
import { boundsFault } from "../../document/json_bounds.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { plainSpelling } from "../pg_catalog/postgres_text.ts";
import { markDoubles } from "./exact_doubles.ts";
import { STATEMENT_DEPTH_MAX, STATEMENT_LENGTH_MAX } from "../limits.ts";
import { nodeAt, nodesAt, parseTree, textAt, type TreeNode } from "./syntax_tree.ts";

/** A parsed statement: its text and its tree. */
export interface Statement {
  /**
   * The SELECT's text as it was sent, blanks in place of EXPLAIN, without the semicolon at the end.
   */
  readonly sql: string;
  /**
   * The text as the caller sent it, which places in messages are of. It is `sql` unless the
   * statement was written anew before anything judged it (`written_anew.ts`).
   */
  readonly sent: string;
  /** The tree that `sql` was written of, with the places in `sent`; absent where they are one. */
  readonly writtenOf?: TreeNode;
  /**
   * Whether `sql` can stand in parentheses. Text with a semicolon left in it is written anew from
   * the tree.
   */
  readonly embeddable: boolean;
  /** The whole serialized document. */
  readonly document: TreeNode;
  /** The query node of the one statement. */
  readonly root: TreeNode;
  /** Whether the statement was `EXPLAIN SELECT …`. */
  readonly explain: boolean;
  /** Whether it was `EXPLAIN ANALYZE SELECT …`: it runs, and what was measured is the answer. */
  readonly analyze: boolean;
}

/**
 * Parses the text of one statement; `serialize` is DuckDB's parser. Errors: `invalid_argument` with
 * reason `syntax_error`, `not_one_select` or `statement_too_large`.
 */
export async function parse(
  serialize: (sql: string) => Promise<string>,
  text: string,
): Promise<Statement> {
  if (text.length > STATEMENT_LENGTH_MAX) {
    throw tooLarge(`${text.length} characters, at most ${STATEMENT_LENGTH_MAX} are read`);
  }
  if (text.includes("\0")) throw syntaxError("a statement cannot hold the character U+0000");
  const prefix = EXPLAIN.exec(text);
  const plain = plainSpelling(withoutExplain(text, prefix?.[0] ?? ""));
  const sql = plain.replace(BLANK_END, "");
  const serialized = await serialize(sql);
  if (boundsFault(serialized, BOUNDS) !== undefined) {
    throw tooLarge(`it is nested deeper than ${STATEMENT_DEPTH_MAX} levels`);
  }
  if (INFINITE.test(serialized)) {
    throw syntaxError("a number exceeds the largest double; write 'Infinity'::DOUBLE for infinity");
  }
  const document = parseTree(serialized);
  if (document["error"] === true) throw parserError(document, sql);
  const statements = nodesAt(document, "statements");
  const [first] = statements;
  const root = first === undefined ? undefined : nodeAt(first, "node");
  if (root === undefined || statements.length !== 1) {
    throw notOneSelect(`the text holds ${statements.length} statements`);
  }
  const analyze = prefix?.[1] !== undefined;
  return {
    ...{ sql, sent: sql, embeddable: !sql.includes(";"), document, root },
    ...{ explain: prefix !== null && !analyze, analyze },
  };
}

/** Returns the text of a tree that was changed after parsing. Its doubles stay doubles. */
export async function textOfTree(
  connection: Pick<EngineConnection, "deserialize">,
  document: TreeNode,
): Promise<string> {
  const { document: marked, restored } = markDoubles(document);
  return restored(await textAsItIs(connection, marked));
}

/**
 * Returns the text of a tree in DuckDB's own words, which make decimals of doubles. DuckDB names
 * columns after this text.
 */
export function textAsItIs(
  connection: Pick<EngineConnection, "deserialize">,
  document: TreeNode,
): Promise<string> {
  return connection.deserialize(JSON.stringify(document));
}

const FIRST_WORD = /^(?:\s|--.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*([a-z]+)/i;

/** Blanks stand for the word, so that places in the statement are places in what was sent. */
function withoutExplain(text: string, prefix: string): string {
  return prefix.replaceAll(/\S/g, " ") + text.slice(prefix.length);
}

const EXPLAIN =
  /^(?:\s|--.*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*EXPLAIN\s+(ANALYZE\s+)?(?=(?:SELECT|WITH|FROM|VALUES|TABLE|PIVOT|UNPIVOT|SUMMARIZE)\b|\((?!\s*(?:ANALYZE|FORMAT|VERBOSE|COSTS|BUFFERS|SETTINGS|TIMING|SUMMARY)\b))/i;

/**
 * Blanks and semicolons at the end. What stands before them is looked at first: otherwise a long
 * run amid a text is read once for each of its characters.
 */
export const BLANK_END = /(?<![\s;])[\s;]+$/;

/** The length has a bound of its own. */
const BOUNDS = { depthMax: STATEMENT_DEPTH_MAX, valuesMax: Infinity } as const;

/**
 * The parser's form of `1e400`, which is no JSON. In a text of the statement its quotation marks
 * are escaped.
 */
const INFINITE = /"value":-?Infinity\b/;

const DELETED = "rows are deleted by a delete task: POST /api/v1/delete-tasks";
const EXPORTED = 'an answer as CSV, Arrow or Parquet comes by "format" in the request';
const GIVEN = 'values of $1, $2, … come by "parameters" in the request';
const ONE_STATE = "each statement reads one state of the tables; leave the transaction out";
const TOLD = "what there is tell SHOW TABLES, DESCRIBE events and SUMMARIZE events";

/** What to write in place of a statement that the parser knows and that is no SELECT. */
const REMEDIES: Readonly<Record<string, string>> = {
  PIVOT: "the columns of a PIVOT without values are known once it has run; " +
    "write them: PIVOT t ON column IN ('a', 'b') USING count(*)",
  SET: "a setting belongs to a session; ask by PostgreSQL's protocol (--pg-listen), " +
    "or give limits and default_order as members of the request",
  INSERT: "rows come by ingest: POST /v1/logs, /v1/traces or /api/v1/_compat/_bulk",
  UPDATE: `stored rows do not change; ${DELETED}`,
  DELETE: DELETED,
  TRUNCATE: DELETED,
  DROP: `tables stay; ${DELETED}`,
  CREATE: "SQL makes no table or view; write it as a WITH of the SELECT (dbt: ephemeral), " +
    "and an index of rows by POST /api/v1/indexes",
  ALTER: "tables keep their columns; whatever else a row has, attr_get(attributes, 'name') reads",
  COPY: EXPORTED,
  EXPORT: EXPORTED,
  EXPLAIN: "EXPLAIN has no options here; write EXPLAIN SELECT … or EXPLAIN ANALYZE SELECT …",
  PREPARE: GIVEN,
  EXECUTE: GIVEN,
  DEALLOCATE: GIVEN,
  BEGIN: ONE_STATE,
  START: ONE_STATE,
  COMMIT: ONE_STATE,
  ROLLBACK: ONE_STATE,
  ABORT: ONE_STATE,
  END: ONE_STATE,
  PRAGMA: TOLD,
  ATTACH: `other databases are not read; ${TOLD}`,
  DETACH: TOLD,
  USE: TOLD,
  INSTALL: TOLD,
  LOAD: TOLD,
  CALL: "a function of tables is called behind FROM: SELECT * FROM range(10)",
};

/** First words of statements that write or rule, also those that DuckDB's parser does not know. */
const WRITES: ReadonlySet<string> = new Set(
  ("CREATE ALTER DROP INSERT UPDATE DELETE TRUNCATE MERGE GRANT REVOKE COMMENT LOCK REFRESH " +
    "REINDEX CLUSTER VACUUM ANALYZE DO NOTIFY").split(" "),
);

/** All that the parser says of `LIMIT 10, 5`, for which it meant to give a hint. */
const NO_HINT = "errhint NOT IMPLEMENTED";

/** What the parser says of more nesting than it reads, with remedies that nobody here has. */
const TOO_DEEP = /^(?:Max expression depth limit|memory exhausted)/;

function parserError(document: TreeNode, sql: string): OperatingError {
  const message = textAt(document, "error_message");
  const kind = FIRST_WORD.exec(sql)?.[1]?.toUpperCase() ?? "";
  const isOther = WRITES.has(kind) || (kind === "EXPLAIN" && /^[^(]*\bEXPLAIN\s*\(/i.test(sql));
  if (isOther || message.startsWith("Only SELECT statements")) {
    // A PIVOT without values within a SELECT makes two statements of it.
    const known = REMEDIES[kind] ?? (/\bPIVOT\b/i.test(sql) ? REMEDIES["PIVOT"] : undefined);
    return notOneSelect(known ?? "it is another kind of statement");
  }
  if (message === NO_HINT) {
    return syntaxError(
      "of LIMIT the form with a comma is not read; write LIMIT 5 OFFSET 10 for LIMIT 10, 5",
    );
  }
  if (message.startsWith("Expression type ")) {
    return syntaxError(
      "DuckDB knows no BETWEEN SYMMETRIC and no IS OF; " +
        "write x BETWEEN least(a, b) AND greatest(a, b), or typeof(x) = 'VARCHAR'",
    );
  }
  if (TOO_DEEP.test(message)) {
    return tooLarge("it is nested deeper than is read; write a chain of values as a list: IN (…)");
  }
  const position = Number(textAt(document, "position") || Number.NaN);
  return syntaxError(Number.isInteger(position) ? `${message} ${placeOf(sql, position)}` : message);
}

/**
 * Returns ` at line 2, column 7`, where `node` stands in `sql` as it was sent; empty where that is
 * not known.
 */
export function placeOfNode(sql: string, node: TreeNode): string {
  const location = node["query_location"];
  if (typeof location !== "number" || location === 0) return "";
  // The parser counts bytes.
  return ` ${placeOf(sql, textOf(utf8(sql).subarray(0, location)).length)}`;
}

/** Returns `at line 2, column 7` for a zero-based offset. */
function placeOf(sql: string, offset: number): string {
  const before = sql.slice(0, offset).split("\n");
  return `at line ${before.length}, column ${(before.at(-1) ?? "").length + 1}`;
}

function syntaxError(why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot parse the statement: ${why}`, {
    reason: "syntax_error",
  });
}

function notOneSelect(why: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot run the statement: exactly one SELECT is accepted, and ${why}`,
    { reason: "not_one_select" },
  );
}

function tooLarge(why: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot run the statement: it is too large (${why})`,
    { reason: "statement_too_large" },
  );
}
