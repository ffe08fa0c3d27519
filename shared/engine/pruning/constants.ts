/**
 * Values of a statement's constant expressions. Written-out constants are read from the tree.
 * Expressions of them are evaluated by DuckDB, all in one question, and only those of functions
 * that are known to be quick and to depend on nothing else.
 */

import { constantTexts } from "../bounds/constant_texts.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import {
  doubleConstant,
  integerConstant,
  nodeAt,
  textAt,
  type TreeNode,
  walk,
} from "../statement/syntax_tree.ts";
import type { ConstantValue } from "./predicate.ts";

/** Values of constant expressions of one statement. */
export interface Constants {
  /**
   * The value of an expression. Undefined: it is no constant, or NULL, or of a type that no
   * predicate knows.
   */
  value(node: TreeNode): ConstantValue | undefined;
}

/** Constants that are written out; expressions of them count as unknown. */
export const WRITTEN_OUT: Constants = { value: writtenOut };

/** Constants of the expressions below `roots`. */
export async function constantsOf(
  connection: CachedConnection,
  roots: readonly TreeNode[],
): Promise<Constants> {
  const expressions = roots.flatMap(constantExpressions).slice(0, EXPRESSIONS_MAX);
  const texts = await constantTexts(connection, expressions, {
    shown: (name) => `CASE WHEN typeof(${name}) = 'VARCHAR' THEN ${name}::VARCHAR END`,
    steady: true,
  });
  const folded = new Map(expressions.map((node, i) => [node, texts[i]]));
  return { value: (node) => writtenOut(node) ?? folded.get(node) ?? undefined };
}

/** Expressions that are evaluated for one statement. Others count as not understood. */
const EXPRESSIONS_MAX = 64;

/** Functions of texts alone, whose results are not much longer than their arguments. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...["||", "concat", "lower", "lcase", "upper", "ucase", "trim", "ltrim", "rtrim", "btrim"],
  ...["left", "right", "substr", "substring", "reverse", "chr", "md5", "sha256", "hex"],
]);

/** The largest expressions below `root` that are made of constants and are not one themselves. */
function constantExpressions(root: TreeNode): TreeNode[] {
  const found: TreeNode[] = [];
  walk(root, (node) => {
    const kind = textAt(node, "class");
    if ((kind !== "FUNCTION" && kind !== "CAST") || !isConstant(node)) return;
    found.push(node);
    return false;
  });
  return found;
}

function isConstant(node: TreeNode): boolean {
  let constant = true;
  walk(node, (inner) => {
    const kind = textAt(inner, "class");
    if (kind === "FUNCTION") {
      constant &&= FUNCTIONS.has(textAt(inner, "function_name").toLowerCase());
    } else if (kind === "CAST") {
      constant &&= textAt(nodeAt(inner, "cast_type") ?? {}, "id") === "VARCHAR";
    } else if (kind !== "" && kind !== "CONSTANT") {
      constant = false;
    }
  });
  return constant;
}

function writtenOut(node: TreeNode): ConstantValue | undefined {
  if (textAt(node, "class") === "CAST") return truthOf(node);
  if (textAt(node, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(node, "value");
  if (value === undefined || value["is_null"] === true) return undefined;
  const type = nodeAt(value, "type") ?? {};
  const content = value["value"];
  switch (textAt(type, "id")) {
    case "VARCHAR":
      return typeof content === "string" ? content : undefined;
    case "BOOLEAN":
      return typeof content === "boolean" ? content : undefined;
    case "DOUBLE":
      return finiteOf(doubleConstant(node));
    case "DECIMAL":
      return decimalOf(content, Number(nodeAt(type, "type_info")?.["scale"]));
    default:
      return integerConstant(node);
  }
}

/** The number that the digits write, unless it is -0, which is equal to 0 and not the same. */
function finiteOf(digits: string | undefined): number | undefined {
  const double = Number(digits);
  return Number.isFinite(double) && !Object.is(double, -0) ? double : undefined;
}

/** The parser's forms of `true` and `false`. */
function truthOf(cast: TreeNode): boolean | undefined {
  const text = writtenOut(nodeAt(cast, "child") ?? {});
  if (textAt(nodeAt(cast, "cast_type") ?? {}, "id") !== "BOOLEAN") return undefined;
  return text === "t" ? true : text === "f" ? false : undefined;
}

/** Powers of ten that a double holds exactly. */
const SCALE_MAX = 22;

/**
 * The double that DuckDB makes of a decimal. Its parts are exact, so that the quotient is rounded
 * just once.
 */
function decimalOf(digits: unknown, scale: number): number | undefined {
  if (typeof digits !== "number" || !Number.isSafeInteger(digits)) return undefined;
  return scale >= 0 && scale <= SCALE_MAX ? digits / 10 ** scale : undefined;
}
