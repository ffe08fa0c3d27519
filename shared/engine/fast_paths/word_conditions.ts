/**
 * Conditions on the words of a text that summaries count: calls of `match_terms` and its like for
 * one word, or for two side by side. To a fast path each is a column of its own, whose values are
 * true and false.
 */

import { areKept } from "../../derived/text/tokenize.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import { exchangeMatchCalls, matchCallOf } from "../functions/match_calls.ts";
import { exchangeSearches } from "../functions/search_calls.ts";
import type { AttributeValue, AttributeValues } from "../plan/promoted_attributes.ts";
import { parse, textOfTree } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { listAt, nodesAt, textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";
import type { CountedColumn } from "./file_part.ts";

/** Words side by side that summaries count. */
const WORDS_MAX = 2;

/** The calls below `root` whose rows summaries may count. `root` reads one table, `table`. */
export function wordConditions(
  root: TreeNode,
  { table, columns, stemmed }: {
    readonly table: TreeNode;
    readonly columns: readonly Column[];
    /** Names of columns whose words are compared by their stems. */
    readonly stemmed: ReadonlySet<string>;
  },
): AttributeValues {
  const values = new Map<TreeNode, AttributeValue>();
  const aliases = new Set(
    nodesAt(root, "select_list").map((item) => textAt(item, "alias").toLowerCase()),
  );
  const own = (textAt(table, "alias") || textAt(table, "table_name")).toLowerCase();
  const textOf = (node: TreeNode) => {
    const names = listAt(node, "column_names").map((name) => String(name).toLowerCase());
    const name = names.length === 2 && names[0] === own ? names[1] : names[0];
    if (names.length > 2 || name === undefined || aliases.has(name)) return undefined;
    return columns.find((column) =>
      column.name.toLowerCase() === name && column.type === "string" && !stemmed.has(column.name)
    );
  };
  walk(root, (node) => {
    const call = matchCallOf(node);
    if (call === undefined || textAt(call.text, "class") !== "COLUMN_REF") return;
    const { kind, words } = call;
    const isCounted = words.length === 1 ? kind !== "prefix" : kind === "phrase";
    const text = textOf(call.text);
    if (!isCounted || words.length > WORDS_MAX || words.length === 0 || text === undefined) return;
    const tokens = words.map(({ common }) => common);
    // The condition is written anew, and must be cut into the same words.
    if (!areKept(tokens)) return;
    const phrase = tokens.join(" ");
    const column: CountedColumn = {
      id: text.id,
      name: `#words ${phrase}`,
      type: "bool",
      required: false,
      words: tokens,
    };
    const sql = `match_phrase(${quoteName(text.name)}, ${quoteText(phrase)})`;
    values.set(node, { column, rest: { column: text, sql, fails: false } });
  });
  return values;
}

/** A condition as it is evaluated fast (`../functions/match_calls.ts`). */
export async function fastCondition(sql: string, cached: CachedConnection): Promise<string> {
  const { document, root } = await parse(cached.serialize, `SELECT ${sql}`);
  exchangeMatchCalls(root, new Set());
  exchangeSearches(root);
  return (await textOfTree(cached, document)).replace(/^SELECT /, "");
}
