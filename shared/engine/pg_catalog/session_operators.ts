/**
 * What a session of PostgreSQL's protocol means by operators and texts that DuckDB reads otherwise.
 * `~`, `!~`, `~*` and `!~*` look for a match anywhere in a text. `substring(x FROM 'pattern')` is
 * what matches. A time may have a blank before its offset: `'2026-11-28 13:00:00 +00:00'`. Over
 * HTTP all of them are DuckDB's.
 */

import { utf8 } from "../../base/bytes.ts";
import type { Statement } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import {
  isNode,
  listAt,
  nodesAt,
  textAt,
  type TreeNode,
  type TreeValue,
} from "../statement/syntax_tree.ts";
import { textOfConstant } from "../statement/text_of_constant.ts";
import { callNode, castNode, constantNode } from "../statement/tree_nodes.ts";
import { writtenAnew } from "../statement/written_anew.ts";

/** Returns the statement as DuckDB runs it. Errors: the connection's. */
export async function sessionStatement(
  statement: Statement,
  cached: CachedConnection,
): Promise<Statement> {
  const { sent, document } = statement;
  if (!MARKS.test(sent)) return statement;
  const exchange = new OperatorExchange(utf8(sent));
  const exchanged = exchange.value(document);
  return exchange.isChanged
    ? await writtenAnew(statement, exchanged as TreeNode, cached)
    : statement;
}

/** What a statement has in which something is exchanged: at last a time of day and an offset. */
const MARKS = /~|\bsubstring\s*\(|:\d\d(?:\.\d+)? [+-]\d\d(?::?\d\d)?'/i;
const WHOLE_TIME = /^(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?) ([+-]\d\d(?::?\d\d)?)$/;
const TIME_COLUMN = /time/i;
const TILDE = 0x7e;
const EXCLAMATION = 0x21;

class OperatorExchange {
  isChanged = false;

  /** `sent`: the text that places of nodes are in. */
  constructor(private readonly sent: Uint8Array) {}

  value(value: TreeValue): TreeValue {
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (!isNode(value)) return value;
    const copy: TreeNode = Object.fromEntries(
      Object.entries(value).map(([member, inner]) => [member, this.value(inner)]),
    );
    return this.#operator(copy) ?? this.#comparison(copy) ?? copy;
  }

  /** A call of `regexp_full_match` is no operator, though the parser makes one of `~`. */
  #operator(node: TreeNode): TreeNode | undefined {
    // The parser makes a NOT of `!~`, with its place.
    const [inner] = nodesAt(node, "children");
    if (textAt(node, "type") === "OPERATOR_NOT" && inner !== undefined) {
      if (!this.#isAt(node, EXCLAMATION) || !isFullMatch(inner)) return undefined;
      this.isChanged = true;
      return { ...node, children: [{ ...inner, function_name: "regexp_matches" }] };
    }
    if (textAt(node, "class") !== "FUNCTION") return undefined;
    const name = textAt(node, "function_name");
    const children = nodesAt(node, "children");
    const folded = { ...node, function_name: "regexp_matches", is_operator: false };
    if (name === "~*" || name === "!~*") {
      this.isChanged = true;
      const call = { ...folded, children: [...children, constantNode("VARCHAR", "i")] };
      return name === "~*" ? call : negated(call);
    }
    const pattern = name === "substring" ? textOfConstant(children[1] ?? {}) : undefined;
    if (pattern !== undefined && children.length === 2) {
      this.isChanged = true;
      return { ...firstMatch(children, pattern), alias: node["alias"] };
    }
    if (!isFullMatch(node) || !this.#isAt(node, TILDE)) return undefined;
    this.isChanged = true;
    return folded;
  }

  /** Whether this character stands where the node does. */
  #isAt(node: TreeNode, character: number): boolean {
    const location = node["query_location"];
    return typeof location === "number" && this.sent[location] === character;
  }

  /** Beside a column of times the text is a time. Elsewhere it may be any text. */
  #comparison(node: TreeNode): TreeNode | undefined {
    if (!["COMPARISON", "BETWEEN"].includes(textAt(node, "class"))) return undefined;
    const members = ["left", "right", "input", "lower", "upper"];
    if (!members.some((member) => isTimeColumn(node[member]))) return undefined;
    const times = members.flatMap((member) => {
      const value = node[member];
      const found = isNode(value) ? WHOLE_TIME.exec(textOfConstant(value) ?? "") : null;
      if (found === null) return [];
      const text = constantNode("VARCHAR", `${found[1]}${found[2]}`);
      return [[member, castNode(text, "TIMESTAMP WITH TIME ZONE")] as const];
    });
    if (times.length === 0) return undefined;
    this.isChanged = true;
    return { ...node, ...Object.fromEntries(times) };
  }
}

/** What the first parentheses of the pattern hold, or else the whole match; NULL without one. */
function firstMatch(children: readonly TreeNode[], pattern: string): TreeNode {
  const hasGroup = /^(?:\\[^]|\[\^?\]?[^\]]*\]|[^\\[(])*\((?!\?)/.test(pattern);
  const matches = [...children, constantNode("INTEGER", hasGroup ? 1 : 0)];
  return callNode("list_extract", [
    callNode("regexp_extract_all", matches),
    constantNode("INTEGER", 1),
  ]);
}

function isFullMatch(call: TreeNode): boolean {
  return textAt(call, "function_name") === "regexp_full_match";
}

function isTimeColumn(value: TreeValue): boolean {
  return isNode(value) && textAt(value, "class") === "COLUMN_REF" &&
    TIME_COLUMN.test(String(listAt(value, "column_names").at(-1)));
}

function negated(call: TreeNode): TreeNode {
  return {
    ...{ class: "OPERATOR", type: "OPERATOR_NOT", query_location: call["query_location"] },
    ...{ alias: call["alias"], children: [{ ...call, alias: "" }] },
  };
}
