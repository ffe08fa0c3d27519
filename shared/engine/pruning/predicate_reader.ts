/**
 * Reads a condition of a statement's tree into a predicate over one of its tables.
 *
 * SQL's logic has three values. `whenTrue` is what holds of a row for which the condition is TRUE,
 * `whenFalse` of one for which it is FALSE. A NOT exchanges them; NULL is neither. Whatever is not
 * listed here is `all`.
 */

import { isAscii } from "../../base/ascii.ts";
import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { attributeCall } from "../plan/attribute_calls.ts";
import { regexLiterals } from "../functions/regex_literals.ts";
import { LIKE_CALLS, type LikeCall, piecesOf, REGEX_MATCHES } from "../functions/matching_calls.ts";
import { loweredColumn } from "../functions/search_calls.ts";
import type { Piece } from "../functions/wildcard_pattern.ts";
import type { Constants } from "./constants.ts";
import {
  ALL,
  allOf,
  anyOf,
  type CompareOperator,
  type ConstantValue,
  type Predicate,
} from "./predicate.ts";

/** The table that a condition is read for. */
export interface PredicateTarget {
  /** The `BASE_TABLE` node. */
  readonly reference: TreeNode;
  /**
   * Whether the table is the only one in FROM, so that a bare column name is its own if it has one.
   */
  readonly alone: boolean;
}

/** Reads conditions of one SELECT for one of its tables. */
export class PredicateReader {
  readonly #target: PredicateTarget;
  readonly #constants: Constants;

  constructor(target: PredicateTarget, constants: Constants) {
    this.#target = target;
    this.#constants = constants;
  }

  whenTrue(node: TreeNode): Predicate {
    switch (textAt(node, "type")) {
      case "CONJUNCTION_AND":
        return allOf(nodesAt(node, "children").map((child) => this.whenTrue(child)));
      case "CONJUNCTION_OR":
        return anyOf(nodesAt(node, "children").map((child) => this.whenTrue(child)));
      case "OPERATOR_NOT":
        return this.whenFalse(firstChild(node));
      case "COMPARE_IN":
        return this.#among(nodesAt(node, "children"));
      case "COMPARE_BETWEEN":
        return allOf([
          this.#compared(nodeAt(node, "input"), ">=", nodeAt(node, "lower")),
          this.#compared(nodeAt(node, "input"), "<=", nodeAt(node, "upper")),
        ]);
      case "FUNCTION":
        return this.#called(node, CALLS);
      case "COLUMN_REF":
        return this.#comparison(node, "=", [true]);
      default:
        return this.#operated(node, OPERATORS);
    }
  }

  whenFalse(node: TreeNode): Predicate {
    switch (textAt(node, "type")) {
      case "CONJUNCTION_AND":
        return anyOf(nodesAt(node, "children").map((child) => this.whenFalse(child)));
      case "CONJUNCTION_OR":
        return allOf(nodesAt(node, "children").map((child) => this.whenFalse(child)));
      case "OPERATOR_NOT":
        return this.whenTrue(firstChild(node));
      case "COMPARE_NOT_IN":
        return this.#among(nodesAt(node, "children"));
      case "COMPARE_BETWEEN":
        return anyOf([
          this.#compared(nodeAt(node, "input"), "<", nodeAt(node, "lower")),
          this.#compared(nodeAt(node, "input"), ">", nodeAt(node, "upper")),
        ]);
      case "FUNCTION":
        return this.#called(node, NEGATED_CALLS);
      case "COLUMN_REF":
        return this.#comparison(node, "=", [false]);
      default:
        return this.#operated(node, NEGATED_OPERATORS);
    }
  }

  #operated(node: TreeNode, operators: Readonly<Record<string, CompareOperator>>): Predicate {
    const operator = operators[textAt(node, "type")];
    if (textAt(node, "class") !== "COMPARISON" || operator === undefined) return ALL;
    const [left, right] = [nodeAt(node, "left"), nodeAt(node, "right")];
    const found = this.#compared(left, operator, right);
    return found.kind === "all" ? this.#compared(right, MIRRORED[operator], left) : found;
  }

  #compared(
    side: TreeNode | undefined,
    operator: CompareOperator,
    other: TreeNode | undefined,
  ): Predicate {
    const value = other === undefined ? undefined : this.#constants.value(other);
    if (side === undefined || value === undefined) return ALL;
    return this.#comparison(side, operator, [value]);
  }

  /** `IN`: the first is compared with the others. A NULL among them equals nothing. */
  #among([side, ...others]: readonly TreeNode[]): Predicate {
    const values = others.filter((one) => !isNull(one)).map((one) => this.#constants.value(one));
    const known = values.filter((value) => value !== undefined);
    if (side === undefined || known.length === 0 || known.length < values.length) return ALL;
    // Values of several types would be compared as a type that they have in common.
    if (new Set(known.map((value) => typeof value)).size > 1) return ALL;
    return this.#comparison(side, "=", known);
  }

  #comparison(
    side: TreeNode,
    operator: CompareOperator,
    values: readonly ConstantValue[],
  ): Predicate {
    const column = this.#column(side);
    if (column !== undefined) return { kind: "compare", column, operator, values };
    const attribute = this.#attribute(side);
    if (attribute !== undefined) {
      const texts = values.filter((value) => typeof value === "string");
      if (texts.length < values.length) return ALL;
      return operator === "="
        ? { kind: "attribute", ...attribute, values: texts }
        : { kind: "member", ...attribute, as: "text", operator, values: texts };
    }
    const pairs = operator === "=" ? this.#pairText(side) : undefined;
    if (pairs !== undefined) return anyOf(values.map((value) => holdsValue(pairs, value)));
    const number = this.#numberOf(side);
    if (number === undefined || !values.every(isExactNumber)) return ALL;
    return { kind: "member", ...number, operator, values };
  }

  #called(node: TreeNode, calls: Readonly<Record<string, CallReader>>): Predicate {
    const call = calls[textAt(node, "function_name").toLowerCase()];
    const [subject, argument, more, ...others] = argumentsOf(node);
    if (call === undefined || subject === undefined || argument === undefined) return ALL;
    if (others.length > 0 || !call.arguments.includes(more === undefined ? 2 : 3)) return ALL;
    const lowered = call.isOfWords === true ? undefined : loweredColumn(subject);
    const column = this.#column(lowered ?? subject);
    const text = this.#constants.value(argument);
    const third = more === undefined ? "" : this.#constants.value(more);
    if (column === undefined || typeof text !== "string" || typeof third !== "string") return ALL;
    return call.read({ column, isLowered: lowered !== undefined }, text, third);
  }

  /** Which attribute of which column a call names. */
  #attribute(node: TreeNode): { readonly column: string; readonly name: string } | undefined {
    const call = attributeCall(node, (path) => {
      const text = this.#constants.value(path);
      return typeof text === "string" ? text : undefined;
    });
    const column = call === undefined ? undefined : this.#column(call.column);
    return call === undefined || column === undefined
      ? undefined
      : { column, name: call.attribute };
  }

  /** The column with the text in which `kv_extract` looks for a name. */
  #pairText(node: TreeNode): string | undefined {
    const [text, name, ...others] = argumentsOf(node);
    const isCall = textAt(node, "function_name").toLowerCase() === "kv_extract";
    if (!isCall || text === undefined || name === undefined || others.length > 0) return undefined;
    return this.#column(text);
  }

  /**
   * Which attribute is cast to a number, and to which kind: a cast to an integer rounds. A cast
   * that could fail for a number of 64 bits is not read, because a file that is left out cannot
   * fail.
   */
  #numberOf(node: TreeNode): MemberNumber | undefined {
    if (textAt(node, "class") !== "CAST") return undefined;
    const type = textAt(nodeAt(node, "cast_type") ?? {}, "id");
    const isTried = node["try_cast"] === true;
    const isRead = type === "DOUBLE" || type === "BIGINT" || (type === "INTEGER" && isTried);
    const child = nodeAt(node, "child");
    const attribute = isRead && child !== undefined ? this.#attribute(child) : undefined;
    const as = type === "DOUBLE" ? "double" : "integer";
    return attribute === undefined ? undefined : { ...attribute, as };
  }

  /** Lower-cased name of the target's column that `node` is, if it is one. */
  #column(node: TreeNode): string | undefined {
    if (textAt(node, "class") !== "COLUMN_REF") return undefined;
    const [first, second, ...more] = listAt(node, "column_names").map((name) =>
      String(name).toLowerCase()
    );
    if (second === undefined) return this.#target.alone ? first : undefined;
    return more.length === 0 && first === nameOf(this.#target.reference) ? second : undefined;
  }
}

/** An attribute of a column as a number. */
interface MemberNumber {
  readonly column: string;
  readonly name: string;
  readonly as: "double" | "integer";
}

/** The text that a call looks at. */
interface CallSubject {
  readonly column: string;
  /** Whether the call looks at the column in lower case. */
  readonly isLowered: boolean;
}

/** A call over a column and a constant text. */
interface CallReader {
  /** How many arguments it may have. */
  readonly arguments: readonly (2 | 3)[];
  /** Whether it looks for words: it is not read of a column in lower case. */
  readonly isOfWords?: boolean;
  /** `more` is the constant of a third argument, or empty. */
  readonly read: (subject: CallSubject, text: string, more: string) => Predicate;
}

const terms = (mode: "all" | "any" | "phrase" | "prefix"): CallReader => ({
  arguments: [2],
  isOfWords: true,
  read: ({ column }, text) => ({ kind: "terms", column, mode, text }),
});

const substring: CallReader = {
  arguments: [2],
  read: ({ column, isLowered }, text) => contains(column, text, isLowered),
};

const starts: CallReader = {
  arguments: [2],
  read: ({ column, isLowered }, text) =>
    isLowered ? contains(column, text, true) : begins(column, text),
};

const like = (call: LikeCall): CallReader => ({
  arguments: [call.syntax === "escape" ? 3 : 2],
  read: ({ column, isLowered }, pattern, escape) =>
    matches(column, piecesOf(call, pattern, escape), call.isFolded || isLowered),
});

const regex: CallReader = {
  arguments: [2, 3],
  read: ({ column, isLowered }, pattern, options) => {
    const { parts = [], ignoreCase = false } = regexLiterals(pattern, options) ?? {};
    const holds = (text: string) =>
      ignoreCase
        ? allOf(text.split(FOLDED_FURTHER).map((one) => contains(column, one, true)))
        : contains(column, text, isLowered);
    return allOf(parts.map((texts) => anyOf(texts.map(holds))));
  },
};

/**
 * Letters that RE2 finds for others in any case: ASCII's `s` and `k` have a third form, and so have
 * some beyond ASCII.
 */
const FOLDED_FURTHER = /[^\0-\x7f]|[skSK]/;

const likes = (isNegated: boolean) =>
  Object.entries(LIKE_CALLS).filter(([, { negates }]) => (negates !== undefined) === isNegated)
    .map(([name, call]) => [name, like(call)] as const);

const CALLS: Readonly<Record<string, CallReader>> = {
  match: terms("all"),
  match_terms: terms("all"),
  match_any: terms("any"),
  match_phrase: terms("phrase"),
  match_prefix: terms("prefix"),
  contains: substring,
  suffix: substring,
  ends_with: substring,
  prefix: starts,
  starts_with: starts,
  "^@": starts,
  ...Object.fromEntries(likes(false)),
  ...Object.fromEntries(REGEX_MATCHES.map((name) => [name, regex])),
};

const NEGATED_CALLS: Readonly<Record<string, CallReader>> = Object.fromEntries(likes(true));

/** Whether numbers below it are told apart as doubles, so that rounding changes no comparison. */
function isExactNumber(value: ConstantValue): boolean {
  return (typeof value === "number" || typeof value === "bigint") &&
    Math.abs(Number(value)) < Number.MAX_SAFE_INTEGER;
}

const OPERATORS: Readonly<Record<string, CompareOperator>> = {
  COMPARE_EQUAL: "=",
  COMPARE_NOT_DISTINCT_FROM: "=",
  COMPARE_LESSTHAN: "<",
  COMPARE_LESSTHANOREQUALTO: "<=",
  COMPARE_GREATERTHAN: ">",
  COMPARE_GREATERTHANOREQUALTO: ">=",
};

const NEGATED_OPERATORS: Readonly<Record<string, CompareOperator>> = {
  COMPARE_NOTEQUAL: "=",
  COMPARE_DISTINCT_FROM: "=",
  COMPARE_LESSTHAN: ">=",
  COMPARE_LESSTHANOREQUALTO: ">",
  COMPARE_GREATERTHAN: "<=",
  COMPARE_GREATERTHANOREQUALTO: "<",
};

const MIRRORED: Readonly<Record<CompareOperator, CompareOperator>> = {
  "=": "=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

function contains(column: string, text: string, ignoreCase = false): Predicate {
  return text === "" ? ALL : { kind: "substring", column, text, ignoreCase };
}

function begins(column: string, text: string): Predicate {
  return text === "" ? ALL : allOf([{ kind: "starts", column, text }, contains(column, text)]);
}

/**
 * A text with `name=value`. What stands beside the value, and what is left out of it, is no letter.
 * So the words of a value of ASCII are words of the text, side by side.
 */
function holdsValue(column: string, value: ConstantValue): Predicate {
  const isRead = typeof value === "string" && /[A-Za-z0-9]/.test(value) &&
    isAscii(value);
  return isRead ? { kind: "terms", column, mode: "phrase", text: value } : ALL;
}

/** A pattern with one letter or any number of them between its texts. */
function matches(
  column: string,
  pieces: readonly Piece[] | undefined,
  ignoreCase: boolean,
): Predicate {
  if (pieces === undefined) return ALL;
  const texts = pieces.flatMap((piece) => typeof piece === "object" ? [piece.text] : []);
  const [first = ""] = texts;
  if (texts.length === pieces.length && !ignoreCase) {
    return { kind: "compare", column, operator: "=", values: [first] };
  }
  const startsText = typeof pieces[0] === "object" && !ignoreCase;
  return allOf([
    ...(startsText ? [{ kind: "starts", column, text: first } as const] : []),
    ...texts.map((text) => contains(column, text, ignoreCase)),
  ]);
}

/**
 * The arguments of a plain call. There are none where it has more to it: names, an order, a filter.
 */
function argumentsOf(node: TreeNode): readonly TreeNode[] {
  const children = nodesAt(node, "children");
  const isPlain = children.every((child) => textAt(child, "alias") === "") &&
    nodeAt(node, "filter") === undefined && node["distinct"] !== true;
  return isPlain ? children : [];
}

function firstChild(node: TreeNode): TreeNode {
  return nodesAt(node, "children")[0] ?? {};
}

function isNull(node: TreeNode): boolean {
  return textAt(node, "class") === "CONSTANT" && nodeAt(node, "value")?.["is_null"] === true;
}

/** What the statement calls a table. */
function nameOf(reference: TreeNode): string {
  return (textAt(reference, "alias") || textAt(reference, "table_name")).toLowerCase();
}
