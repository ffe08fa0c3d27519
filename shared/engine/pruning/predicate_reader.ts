/**
 * Reads a condition of a statement's tree into a predicate over one of its tables.
 *
 * SQL's logic has three values. `whenTrue` is what holds of a row for which the condition is TRUE,
 * `whenFalse` of one for which it is FALSE. A NOT exchanges them; NULL is neither. Whatever is not
 * listed here is `all`.
 */

import { listAt, nodeAt, nodesAt, textAt, type TreeNode } from "../statement/syntax_tree.ts";
import { attributeCall } from "../plan/attribute_calls.ts";
import type { Constants } from "./constants.ts";
import { likeParts } from "./like_pattern.ts";
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
    const number = this.#numberOf(side);
    if (number === undefined || !values.every(isExactNumber)) return ALL;
    return { kind: "member", ...number, operator, values };
  }

  #called(node: TreeNode, calls: Readonly<Record<string, CallReader>>): Predicate {
    const call = calls[textAt(node, "function_name").toLowerCase()];
    const [subject, argument, escape, ...more] = argumentsOf(node);
    if (call === undefined || subject === undefined || argument === undefined) return ALL;
    const column = this.#column(subject);
    const text = this.#constants.value(argument);
    if (column === undefined || typeof text !== "string" || more.length > 0) return ALL;
    if (call.escaped !== (escape !== undefined)) return ALL;
    if (escape === undefined) return call.read(column, text, "");
    const letter = this.#constants.value(escape);
    return typeof letter === "string" ? call.read(column, text, letter) : ALL;
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

/** A call over a column and a constant text. */
interface CallReader {
  /** Whether it has a third argument, the escape. */
  readonly escaped: boolean;
  readonly read: (column: string, text: string, escape: string) => Predicate;
}

function calls(
  read: CallReader["read"],
  { escaped = false }: { readonly escaped?: boolean } = {},
): CallReader {
  return { escaped, read };
}

const terms = (mode: "all" | "any" | "phrase" | "prefix") =>
  calls((column, text) => ({ kind: "terms", column, mode, text }));

const substring = calls((column, text) => contains(column, text));
const starts = calls((column, text) => begins(column, text));
const like = (options: { escaped?: boolean } = {}) =>
  calls(
    (column, pattern, escape) => matches(column, pattern, { escape, ignoreCase: false }),
    options,
  );
const ilike = (options: { escaped?: boolean } = {}) =>
  calls(
    (column, pattern, escape) => matches(column, pattern, { escape, ignoreCase: true }),
    options,
  );

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
  "~~": like(),
  "~~*": ilike(),
  like_escape: like({ escaped: true }),
  ilike_escape: ilike({ escaped: true }),
};

const NEGATED_CALLS: Readonly<Record<string, CallReader>> = {
  "!~~": like(),
  "!~~*": ilike(),
  not_like_escape: like({ escaped: true }),
  not_ilike_escape: ilike({ escaped: true }),
};

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

function matches(
  column: string,
  pattern: string,
  { escape, ignoreCase }: { readonly escape: string; readonly ignoreCase: boolean },
): Predicate {
  const parts = likeParts(pattern, escape);
  if (parts === undefined) return ALL;
  const [first = ""] = parts.runs;
  if (parts.isWhole && !ignoreCase) {
    return { kind: "compare", column, operator: "=", values: [first] };
  }
  const startsText = parts.startsText && !ignoreCase;
  return allOf([
    ...(startsText ? [{ kind: "starts", column, text: first } as const] : []),
    ...parts.runs.map((run) => contains(column, run, ignoreCase)),
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
