/**
 * Calls and casts of instants, exchanged for macros that keep out of DuckDB's calendar of time
 * zones (`utc_times.ts`). Which expressions are instants follows from the columns that are;
 * anything else stays as it was.
 *
 * A macro writes its arguments several times. So only what is small, has no subquery and gives the
 * same value each time is put into one, and calls in calls two deep.
 */

import { columnName } from "../statement/column_name.ts";
import { callNode, textNode } from "../statement/tree_nodes.ts";
import {
  isNode,
  nodeAt,
  nodesAt,
  someNode,
  textAt,
  type TreeNode,
  type TreeValue,
  walk,
} from "../statement/syntax_tree.ts";
import { UTC_FORMAT, UTC_PARTS } from "./utc_times.ts";

/** What the exchange needs to know of a statement's columns. */
export interface UtcOptions {
  /** Finds the `COLUMN_REF` nodes of columns that are instants (TIMESTAMP WITH TIME ZONE). */
  readonly instants: () => ReadonlySet<TreeNode>;
  /** The text of a SELECT, so that columns keep the names that they had. */
  readonly textOf: (select: TreeNode) => Promise<string>;
  /** The names of the outermost columns do not matter. */
  readonly isNamedApart: boolean;
}

/** Exchanges the calls below `root`. Returns whether there were any. */
export async function exchangeTimeCalls(
  root: TreeNode,
  { instants, textOf, isNamedApart }: UtcOptions,
): Promise<boolean> {
  if (!someNode(root, mayBeExchanged)) return false;
  const found = new Calls(instants());
  found.visit(root);
  if (found.exchanges.length === 0) return false;
  for (const { select, item } of found.unnamed) {
    if (isNamedApart && select === root) continue;
    item["alias"] = await columnName(select, item, textOf);
  }
  for (const exchange of found.exchanges) exchange();
  return true;
}

/** Calls within calls that are exchanged, and nodes of an argument. */
const LEVELS_MAX = 2;
const ARGUMENT_NODES_MAX = 64;

/**
 * What is known of an expression: how deep exchanged calls are nested in it, and whether it may be
 * written several times.
 */
interface Sight {
  readonly levels: number;
  readonly nodes: number;
  readonly isSteady: boolean;
  /** False: it is evaluated once. */
  readonly namesColumn: boolean;
}

const NOTHING: Sight = { levels: 0, nodes: 0, isSteady: true, namesColumn: false };

class Calls {
  readonly exchanges: (() => void)[] = [];
  /** Items of select lists without names of their own that hold an exchanged call. */
  readonly unnamed: { readonly select: TreeNode; readonly item: TreeNode }[] = [];
  /** Expressions that are instants. */
  readonly #instants: Set<TreeNode>;

  constructor(columns: ReadonlySet<TreeNode>) {
    this.#instants = new Set(columns);
  }

  visit(value: TreeValue): Sight {
    if (Array.isArray(value)) return value.map((item) => this.visit(item)).reduce(both, NOTHING);
    if (!isNode(value)) return NOTHING;
    if (value["type"] === "SELECT_NODE") return this.#select(value);
    // The arguments of a table function are no expressions of rows.
    if (value["type"] === "TABLE_FUNCTION") return NOTHING;
    if (value["class"] === "LAMBDA") return { ...NOTHING, isSteady: false };
    let below = NOTHING;
    for (const member in value) below = both(below, this.visit(value[member]));
    const kind = textAt(value, "class");
    if (kind === "") return below;
    const sight = {
      ...below,
      nodes: below.nodes + 1,
      namesColumn: below.namesColumn || kind === "COLUMN_REF",
      isSteady: below.isSteady && !UNSTEADY.has(kind) &&
        !VOLATILE.has(textAt(value, "function_name").toLowerCase()),
    };
    const isInstant = (node: TreeNode) => this.#instants.has(node);
    const exchange = exchangeOf(value, isInstant);
    if (givesInstant(value, isInstant)) this.#instants.add(value);
    const isSmall = sight.levels < LEVELS_MAX && sight.nodes <= ARGUMENT_NODES_MAX;
    if (exchange === undefined || !sight.isSteady || !isSmall) return sight;
    // Differences of constants are exchanged, too: the calendar's are not safe.
    const isDifference = DIFFERENCES.has(textAt(value, "function_name").toLowerCase());
    if (!sight.namesColumn && !isDifference) return sight;
    this.exchanges.push(exchange);
    return { ...sight, levels: sight.levels + 1 };
  }

  #select(select: TreeNode): Sight {
    for (const member in select) {
      if (member === "where_clause") this.#where(nodeAt(select, member));
      else if (member !== "select_list") this.visit(select[member]);
    }
    for (const item of nodesAt(select, "select_list")) {
      const before = this.exchanges.length;
      this.visit(item);
      if (this.exchanges.length > before && textAt(item, "alias") === "") {
        this.unnamed.push({ select, item });
      }
    }
    return NOTHING;
  }

  /**
   * `date_trunc(…) = <constant>`, `now()` included, becomes a range of the column in DuckDB, by
   * which row groups are left out.
   */
  #where(condition: TreeNode | undefined): void {
    if (condition === undefined) return;
    const kind = textAt(condition, "class");
    if (kind === "CONJUNCTION") {
      for (const one of nodesAt(condition, "children")) this.#where(one);
      return;
    }
    const sides = [nodeAt(condition, "left"), nodeAt(condition, "right")]
      .filter((side) => side !== undefined);
    const others = sides.filter((side) => !isTruncation(side) || !namesColumn(side));
    const isRange = kind === "COMPARISON" && others.length === 1 && !others.some(namesColumn);
    if (!isRange) this.visit(condition);
  }
}

const DIFFERENCES: ReadonlySet<string> = new Set([
  ...["date_diff", "date_sub", "datediff", "datesub"],
]);

/**
 * What may not be written twice or bound alone: subqueries may not be written twice, and stars and
 * parts of lambdas are not bound alone.
 */
const UNSTEADY: ReadonlySet<string> = new Set(["LAMBDA_REF", "STAR", "SUBQUERY"]);

const VOLATILE: ReadonlySet<string> = new Set(
  ["error", "gen_random_uuid", "random", "unnest", "uuid", "uuidv4", "uuidv7"],
);

function both(one: Sight, other: Sight): Sight {
  return {
    levels: Math.max(one.levels, other.levels),
    nodes: one.nodes + other.nodes,
    isSteady: one.isSteady && other.isSteady,
    namesColumn: one.namesColumn || other.namesColumn,
  };
}

function namesColumn(root: TreeNode): boolean {
  let found = false;
  walk(root, (node) => {
    found ||= ["COLUMN_REF", "SUBQUERY"].includes(textAt(node, "class"));
  });
  return found;
}

function isTruncation(node: TreeNode): boolean {
  return ["date_trunc", "datetrunc"].includes(textAt(node, "function_name").toLowerCase());
}

type IsInstant = (node: TreeNode) => boolean;

/** Whether an expression of instants is one. `isInstant` tells the expressions below it. */
export function givesInstant(node: TreeNode, isInstant: IsInstant): boolean {
  const kind = textAt(node, "class");
  if (kind === "CASE") {
    const otherwise = nodeAt(node, "else_expr");
    const results = nodesAt(node, "case_checks").map((check) => nodeAt(check, "then_expr"));
    return [...results, ...(isNull(otherwise) ? [] : [otherwise])]
      .every((result) => result !== undefined && isInstant(result));
  }
  if (kind === "CAST") return castType(node) === INSTANT;
  const args = nodesAt(node, "children");
  if (textAt(node, "type") === "OPERATOR_COALESCE") return args.every(isInstant);
  if (kind !== "FUNCTION" && kind !== "WINDOW") return false;
  const [first, second] = args;
  const name = textAt(node, "function_name").toLowerCase();
  if (CLOCKS.has(name)) return true;
  if (first === undefined) return false;
  if (KEEPERS.has(name)) return args.length === 1 && isInstant(first);
  if (CHOOSERS.has(name)) return args.every(isInstant);
  if (second === undefined) return false;
  if (BINS.has(name)) return isInstant(second);
  return ["+", "-"].includes(name) && isInstant(first) && isPureInterval(second);
}

const INSTANT = "TIMESTAMP WITH TIME ZONE";

const CLOCKS: ReadonlySet<string> = new Set([
  ...["get_current_timestamp", "make_timestamptz", "now", "to_timestamp", "transaction_timestamp"],
]);

/** Functions that give one of the values of their argument. */
const KEEPERS: ReadonlySet<string> = new Set([
  ...["any_value", "arbitrary", "first", "first_value", "lag", "last", "last_value", "lead"],
  ...["max", "min", "mode"],
]);

/** Functions that give one of their arguments. */
const CHOOSERS: ReadonlySet<string> = new Set(["greatest", "least"]);

const BINS: ReadonlySet<string> = new Set(["date_bin", "date_trunc", "datetrunc", "time_bucket"]);

/** Whether a node is a call or a cast that is exchanged where it takes instants. */
function mayBeExchanged(node: TreeNode): boolean {
  const kind = textAt(node, "class");
  if (kind === "CAST") return PLAIN_CASTS.has(castType(node));
  return kind === "FUNCTION" && Object.hasOwn(FORMS, textAt(node, "function_name").toLowerCase());
}

/** How a node is exchanged. Undefined: it is not. */
function exchangeOf(node: TreeNode, isInstant: IsInstant): (() => void) | undefined {
  const kind = textAt(node, "class");
  if (kind === "CAST") {
    const child = nodeAt(node, "child");
    if (child === undefined || !isInstant(child) || !PLAIN_CASTS.has(castType(node))) {
      return undefined;
    }
    return () => void (node["child"] = callNode("utc_plain", [child]));
  }
  if (kind !== "FUNCTION" || !["", "main"].includes(textAt(node, "schema"))) return undefined;
  const args = nodesAt(node, "children");
  // With arguments by name a call stays a macro's.
  if (args.some((argument) => textAt(argument, "alias") !== "")) return undefined;
  const form = FORMS[textAt(node, "function_name").toLowerCase()]?.(args, isInstant);
  if (form === undefined) return undefined;
  return () => {
    node["function_name"] = form.name;
    node["schema"] = "";
    node["is_operator"] = false;
    node["children"] = [...form.args ?? args];
  };
}

const PLAIN_CASTS: ReadonlySet<string> = new Set(["DATE", "TIMESTAMP"]);

interface Form {
  readonly name: string;
  /** Default: the arguments that the call has. */
  readonly args?: readonly TreeNode[];
}

type FormOf = (args: readonly TreeNode[], isInstant: IsInstant) => Form | undefined;

const FORMS: Readonly<Record<string, FormOf>> = {
  ...Object.fromEntries([...UTC_PARTS].map((part) => [part, partForm(part)])),
  dayofmonth: partForm("day"),
  dayofweek: partForm("dow"),
  weekday: partForm("dow"),
  dayofyear: partForm("doy"),
  weekofyear: partForm("week"),
  last_day: oneForm("utc_last_day"),
  dayname: oneForm("utc_dayname"),
  monthname: oneForm("utc_monthname"),
  date_part: unitForm("utc_date_part", (unit) => UTC_PARTS.has(unit)),
  datepart: unitForm("utc_date_part", (unit) => UTC_PARTS.has(unit)),
  date_trunc: unitForm("utc_date_trunc", () => true),
  datetrunc: unitForm("utc_date_trunc", () => true),
  strftime: ([first, second, ...more], isInstant) => {
    if (first === undefined || second === undefined || more.length > 0) return undefined;
    // DuckDB takes the format first, too.
    const [time, format] = constantText(first) === undefined ? [first, second] : [second, first];
    return isInstant(time) && UTC_FORMAT.test(constantText(format) ?? "%Z")
      ? { name: "utc_strftime", args: [time, format] }
      : undefined;
  },
  timezone: ([zone, time, ...more], isInstant) =>
    more.length === 0 && time !== undefined && isInstant(time) &&
      constantText(zone)?.toUpperCase() === "UTC"
      ? { name: "utc_plain", args: [time] }
      : undefined,
  time_bucket: (args, isInstant) =>
    isPureInterval(args[0]) || isPureText(constantText(args[0]))
      ? binForm("utc_time_bucket")(args, isInstant)
      : undefined,
  date_bin: binForm("utc_date_bin"),
  age: twoForm("utc_age"),
  date_diff: differenceForm("utc_date_diff"),
  datediff: differenceForm("utc_date_diff"),
  date_sub: differenceForm("utc_date_sub"),
  datesub: differenceForm("utc_date_sub"),
  "-": (args, isInstant) =>
    intervalForm("utc_subtract")(args, isInstant) ?? twoForm("utc_minus")(args, isInstant),
  "+": intervalForm("utc_add"),
};

function oneForm(name: string): FormOf {
  return ([time, ...more], isInstant) =>
    more.length === 0 && time !== undefined && isInstant(time) ? { name } : undefined;
}

function partForm(part: string): FormOf {
  return (args, isInstant) =>
    oneForm("utc_date_part")(args, isInstant) &&
    { name: "utc_date_part", args: [textNode(part), ...args] };
}

function unitForm(name: string, isKnown: (unit: string) => boolean): FormOf {
  return ([unit, ...times], isInstant) => {
    const text = constantText(unit)?.toLowerCase();
    return text !== undefined && isKnown(text) ? oneForm(name)(times, isInstant) : undefined;
  };
}

/** The form of a function of two times, one of which is an instant: the other is taken for one. */
function twoForm(name: string): FormOf {
  return ([time, other, ...more], isInstant) => {
    if (time === undefined || other === undefined || more.length > 0) return undefined;
    const isOne = (node: TreeNode) => isInstant(node) || isWrittenTime(node);
    const known = isOne(time) && isOne(other) && (isInstant(time) || isInstant(other));
    return known ? { name } : undefined;
  };
}

function differenceForm(name: string): FormOf {
  return ([unit, ...times], isInstant) =>
    constantText(unit) === undefined ? undefined : twoForm(name)(times, isInstant);
}

function intervalForm(name: string): FormOf {
  return ([time, interval, ...more], isInstant) =>
    more.length === 0 && time !== undefined && isInstant(time) && isPureInterval(interval)
      ? { name }
      : undefined;
}

/**
 * The form of a function with an origin, which is a time. With an interval or a zone instead of it,
 * it is another function.
 */
function binForm(name: string): FormOf {
  return ([, time, origin, ...more], isInstant) =>
    more.length === 0 && time !== undefined && isInstant(time) &&
      (origin === undefined || isWrittenTime(origin) || isInstant(origin))
      ? { name }
      : undefined;
}

function isWrittenTime(node: TreeNode): boolean {
  return textAt(node, "class") === "CAST" && constantText(nodeAt(node, "child")) !== undefined &&
    ["DATE", "TIMESTAMP", INSTANT].includes(castType(node));
}

/**
 * Whether an interval is of months, of days or of a time of day alone. What mixes them is added up
 * in another order, and refused as a stride.
 */
function isPureInterval(node: TreeNode | undefined): boolean {
  if (node === undefined) return false;
  if (textAt(node, "class") === "CAST" && castType(node) === "INTERVAL") {
    return isPureText(constantText(nodeAt(node, "child")));
  }
  return textAt(node, "class") === "FUNCTION" &&
    /^to_(?:years|quarters|months|weeks|days|hours|minutes|seconds)$/
      .test(textAt(node, "function_name").toLowerCase());
}

function isPureText(text: string | undefined): boolean {
  return text !== undefined && PURE_INTERVALS.some((pure) => pure.test(text.trim()));
}

const PURE_INTERVALS = [
  /^-?\d+:\d\d:\d\d$/,
  /^(?:-?\d+\s*(?:years?|yrs?|quarters?|months?|mons?)\s*)+$/i,
  /^(?:-?\d+\s*(?:weeks?|days?)\s*)+$/i,
  /^(?:-?\d+\s*(?:hours?|hrs?|minutes?|mins?|seconds?|secs?|milliseconds?|microseconds?)\s*)+$/i,
];

function isNull(node: TreeNode | undefined): boolean {
  return nodeAt(node ?? {}, "value")?.["is_null"] === true;
}

function castType(node: TreeNode): string {
  return textAt(nodeAt(node, "cast_type") ?? {}, "id");
}

function constantText(node: TreeNode | undefined): string | undefined {
  if (node === undefined || textAt(node, "class") !== "CONSTANT") return undefined;
  const value = nodeAt(node, "value");
  const text = value?.["value"];
  return value?.["is_null"] !== true && typeof text === "string" ? text : undefined;
}
