/**
 * A predicate over the rows of one table, for a delete task. It is judged like a statement, and
 * more strictly. It is one boolean expression over the table's columns. What it says of a row
 * follows from that row alone, whenever it is asked and by whom. So it has no subquery, aggregate,
 * window, `now()` or `random()`.
 *
 * The text is never put beside other text. It is parsed as a WHERE, must leave everything else of
 * the statement as it was, and what runs is written from the tree.
 */

import { utf8 } from "../../base/bytes.ts";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { AGGREGATE_FUNCTIONS } from "../gate/allowed_functions.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { renameFunctions } from "../functions/dialect.ts";
import { exchangeCalls } from "../functions/exchange_calls.ts";
import { gate } from "../gate/gate.ts";
import { parseSent } from "../statement/parse_sent.ts";
import { type Statement, textOfTree } from "../statement/parse.ts";
import { type NamedTable, stemmedReferences } from "../bind/stemmed_references.ts";
import { quoteName } from "../duckdb/statement_text.ts";
import {
  listAt,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
  withRoot,
} from "../statement/syntax_tree.ts";

/** Characters of a predicate at most; a longer one is refused. */
const PREDICATE_LENGTH_MAX = 65_536;
/** Lines of `predicateStatement` before the predicate's first. */
export const PREDICATE_LINES_BEFORE = 1;

/** A predicate as it was sent, and its table. */
export interface PredicateText {
  readonly predicate: string;
  readonly namespace: string;
  /** The table whose rows are tested, and which the predicate may name. */
  readonly table: string;
  /** Columns of the table whose words are compared by their stems; default: none. */
  readonly stemmed?: Omit<NamedTable, "node">;
}

/** The statement in which a predicate is parsed. */
export function predicateStatement({ predicate, table }: PredicateText): string {
  return `SELECT 1 FROM ${quoteName(table)} WHERE\n${predicate}`;
}

/** A predicate that was judged, as statements that can run. */
export interface RowPredicate {
  /** `SELECT <columns> FROM <table> WHERE <predicate>`, written from the tree. */
  select(columns: readonly string[]): Promise<string>;
  /** `SELECT <predicate> FROM <table>`, written from the tree. */
  value(): Promise<string>;
}

/**
 * Parses a predicate. Errors: `invalid_argument` with reason `invalid_predicate`, or one of the
 * gate, and the place in the predicate. Whether its columns exist and its types fit is not looked
 * at.
 */
export async function parsePredicate(
  connection: Pick<EngineConnection, "serialize" | "deserialize">,
  text: PredicateText,
): Promise<RowPredicate> {
  if (text.predicate.trim() === "") {
    throw refused("it is empty; to delete all rows of a time range write true");
  }
  if (text.predicate.length > PREDICATE_LENGTH_MAX) {
    throw refused(
      `it has ${text.predicate.length} characters, at most ${PREDICATE_LENGTH_MAX} are read`,
    );
  }
  const statement = await parsed(connection, text);
  const where = expressionOf(statement.root);
  checkExpression(where, text);
  renameFunctions(statement.root);
  const [reference] = gate(statement.root, text).references;
  // A predicate has no columns of its own whose names could change.
  await exchangeCalls(statement.root, {
    textOf: () => Promise.resolve(""),
    stemmed: reference === undefined || text.stemmed === undefined
      ? new Set()
      : stemmedReferences(statement.root, [{ ...text.stemmed, node: reference.node }]),
  });
  const textOf = (root: Partial<TreeNode>) =>
    textOfTree(connection, withRoot(statement.document, { ...statement.root, ...root }));
  return {
    select: (columns) => textOf({ select_list: columns.map(columnReference) }),
    value: () => textOf({ select_list: [where], where_clause: null }),
  };
}

async function parsed(
  connection: Pick<EngineConnection, "serialize" | "deserialize">,
  text: PredicateText,
): Promise<Statement> {
  try {
    return await parseSent(connection, predicateStatement(text));
  } catch (error) {
    if (!isOperatingError(error, "invalid_argument")) throw error;
    if (error.reason === "not_one_select") throw refused("it is one expression, without a ;");
    if (error.reason !== "syntax_error") throw error;
    // The message counts the place in the statement.
    const message = error.message.replace(/^[^:]*: /, "").replace(
      /at line (\d+), column/,
      (_, line) => `at line ${Number(line) - PREDICATE_LINES_BEFORE}, column`,
    );
    throw refused(message);
  }
}

/**
 * Members of the statement that a predicate must leave as they are, and what it would have written.
 */
const UNTOUCHED: readonly (readonly [
  string,
  (value: unknown, root: TreeNode) => boolean,
  string,
])[] = [
  ["type", (value) => value === "SELECT_NODE", "UNION, INTERSECT or EXCEPT"],
  ["modifiers", isEmptyList, "ORDER BY, LIMIT or DISTINCT"],
  ["group_expressions", isEmptyList, "GROUP BY"],
  ["group_sets", isEmptyList, "GROUP BY"],
  ["having", isNull, "HAVING"],
  ["qualify", isNull, "QUALIFY"],
  ["sample", isNull, "USING SAMPLE"],
  ["cte_map", (_, root) => nodesAt(nodeAt(root, "cte_map") ?? {}, "map").length === 0, "WITH"],
  ["select_list", (value) => Array.isArray(value) && value.length === 1, "a select list"],
  [
    "from_table",
    (_, root) => textAt(nodeAt(root, "from_table") ?? {}, "type") === "BASE_TABLE",
    "FROM",
  ],
];

/** The WHERE of a statement that has nothing else. */
function expressionOf(root: TreeNode): TreeNode {
  for (const [member, isUntouched, what] of UNTOUCHED) {
    if (!isUntouched(root[member], root)) {
      throw refused(`it is one boolean expression, and ${what} is not part of one`);
    }
  }
  const where = nodeAt(root, "where_clause");
  if (where === undefined) throw refused("it is empty");
  return where;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function isNull(value: unknown): boolean {
  return value === null;
}

const REFUSED_CLASSES: ReadonlyMap<string, string> = new Map([
  ["SUBQUERY", "a subquery; name the values"],
  ["WINDOW", "a window function"],
  ["STAR", "* or COLUMNS(…); name the columns"],
  ["POSITIONAL_REFERENCE", "a column by its position; name it"],
]);

/** Functions whose value differs from time to time or from row to row. */
const CHANGING_FUNCTIONS: ReadonlySet<string> = new Set([
  "ago",
  "current_date",
  "current_localtime",
  "current_localtimestamp",
  "current_time",
  "current_timestamp",
  "gen_random_uuid",
  "get_current_time",
  "get_current_timestamp",
  "localtime",
  "localtimestamp",
  "now",
  "random",
  "today",
  "transaction_timestamp",
  "uuid",
  "uuidv4",
  "uuidv7",
]);

/** Functions of the clock that are called without parentheses, and so look like columns. */
const CLOCK_NAMES: ReadonlySet<string> = new Set([
  "current_date",
  "current_time",
  "current_timestamp",
  "localtime",
  "localtimestamp",
]);

function checkExpression(where: TreeNode, text: PredicateText): void {
  walk(where, (node) => {
    const place = () => placeOf(node, text);
    const kind = textAt(node, "class");
    const what = REFUSED_CLASSES.get(kind);
    if (what !== undefined) throw refused(`it has ${what}${place()}`);
    if (kind === "COLUMN_REF") {
      const [name] = listAt(node, "column_names");
      const isAlone = listAt(node, "column_names").length === 1;
      if (typeof name === "string" && isAlone && CLOCK_NAMES.has(name.toLowerCase())) {
        throw changing(name, place());
      }
    }
    if (kind !== "FUNCTION") return;
    const name = textAt(node, "function_name").toLowerCase();
    if (AGGREGATE_FUNCTIONS.has(name)) throw refused(`it has the aggregate ${name}${place()}`);
    const isAgeOfToday = name === "age" && nodesAt(node, "children").length === 1;
    if (CHANGING_FUNCTIONS.has(name) || isAgeOfToday) throw changing(name, place());
  });
}

function changing(name: string, place: string): OperatingError {
  return refused(
    `it has ${name}${place}, which says another thing whenever it is asked; write the value, for ` +
      "example TIMESTAMPTZ '2026-11-20 00:00:00Z'",
  );
}

/** ` at line 1, column 7` of the predicate; empty where the parser did not tell. */
function placeOf(node: TreeNode, text: PredicateText): string {
  const location = node["query_location"];
  const bytes = utf8(predicateStatement(text));
  if (typeof location !== "number" || location >= bytes.byteLength) return "";
  const before = new TextDecoder().decode(bytes.subarray(0, location)).split("\n");
  const line = before.length - PREDICATE_LINES_BEFORE;
  return line < 1 ? "" : ` at line ${line}, column ${(before.at(-1) ?? "").length + 1}`;
}

function columnReference(name: string): TreeNode {
  return { class: "COLUMN_REF", type: "COLUMN_REF", alias: "", column_names: [name] };
}

function refused(why: string): OperatingError {
  return new OperatingError("invalid_argument", `Cannot use the predicate: ${why}`, {
    reason: "invalid_predicate",
  });
}
