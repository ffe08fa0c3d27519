/**
 * The parsed statement as DuckDB itself serializes it: plain JSON objects, so that the gate
 * judges exactly what will run. Integers beyond 2^53 keep their digits as `JSON.rawJSON` values,
 * and doubles that are whole keep their `.0`, without which DuckDB takes them for no
 * doubles.
 *
 * Names of members and classes are DuckDB's. What is unknown here is refused by the gate.
 */

/** Any value in a tree: a node, a list, a text, a number, a boolean or null. */
export type TreeValue = unknown;
/** An object in a tree. The names of its members are DuckDB's. */
export interface TreeNode {
  [member: string]: TreeValue;
}

/** Whether a value is a node: neither a list nor a number that keeps its digits. */
export function isNode(value: TreeValue): value is TreeNode {
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    !isRawNumber(value);
}

/** Returns the member as a node, or undefined. */
export function nodeAt(node: TreeNode, member: string): TreeNode | undefined {
  const value = node[member];
  return isNode(value) ? value : undefined;
}

/** Returns the member as a list; empty when it is absent. */
export function listAt(node: TreeNode, member: string): readonly TreeValue[] {
  const value = node[member];
  return Array.isArray(value) ? value : [];
}

/** Returns the nodes of a list member. */
export function nodesAt(node: TreeNode, member: string): readonly TreeNode[] {
  return listAt(node, member).filter(isNode);
}

/** Returns the member as text; empty when it is absent. */
export function textAt(node: TreeNode, member: string): string {
  const value = node[member];
  return typeof value === "string" ? value : "";
}

/** Returns an integer constant's value, or undefined when `node` is none. */
export function integerConstant(node: TreeNode): bigint | undefined {
  if (node["class"] !== "CONSTANT") return undefined;
  const value = nodeAt(node, "value");
  if (value === undefined || value["is_null"] === true) return undefined;
  const type = textAt(nodeAt(value, "type") ?? {}, "id");
  if (!INTEGER_TYPES.has(type)) return undefined;
  return bigintOf(value["value"]);
}

/** Returns a double constant's digits, or undefined when `node` is none. */
export function doubleConstant(node: TreeNode): string | undefined {
  const value = node["class"] === "CONSTANT" ? nodeAt(node, "value") : undefined;
  if (value === undefined || value["is_null"] === true) return undefined;
  if (textAt(nodeAt(value, "type") ?? {}, "id") !== "DOUBLE") return undefined;
  const content = value["value"];
  if (isRawNumber(content)) return content.rawJSON;
  return typeof content === "number" ? String(content) : undefined;
}

const INTEGER_TYPES: ReadonlySet<string> = new Set(["INTEGER", "BIGINT", "SMALLINT", "TINYINT"]);

interface RawNumber {
  readonly rawJSON: string;
}

interface JsonWithSource {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): RawNumber;
}

// The source text of a value (ECMAScript's JSON.parse source text access) is not in the type
// library yet.
const exactJson = JSON as unknown as JsonWithSource;

function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === "object" && value !== null && "rawJSON" in value;
}

function bigintOf(value: TreeValue): bigint | undefined {
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  if (isRawNumber(value) && /^-?\d+$/.test(value.rawJSON)) return BigInt(value.rawJSON);
  return undefined;
}

/**
 * A number that may lose digits: a whole one of up to 15 digits has them all. What has no place in
 * the text has the last one of 64 bits, which is in nearly every tree. The time of day in a text
 * (`"… 10:00:30.5"`) is no number, since nothing of JSON follows it.
 */
const INEXACT =
  /[:,[]\s*(?!18446744073709551615[,}\]])(?:-0|-?\d{16,}|-?\d+(?:\.\d+(?:[eE][-+]?\d+)?|[eE][-+]?\d+))\s*[,}\]]/;
const NO_PLACE = 2 ** 64;

/** Parses a serialized tree without losing digits. */
export function parseTree(text: string): TreeNode {
  const value = INEXACT.test(text) ? parseExactly(text) : withPlaces(JSON.parse(text));
  return isNode(value) ? value : {};
}

/** A reviver takes most of the time of parsing, so it is left out where it has nothing to do. */
function withPlaces(value: TreeValue): TreeValue {
  if (Array.isArray(value)) value.forEach(withPlaces);
  else if (typeof value === "object" && value !== null) {
    const node = value as TreeNode;
    for (const member of Object.keys(node)) {
      if (node[member] === NO_PLACE) node[member] = exactJson.rawJSON("18446744073709551615");
      else withPlaces(node[member]);
    }
  }
  return value;
}

function parseExactly(text: string): unknown {
  return exactJson.parse(text, (_key, value, context) => {
    if (typeof value !== "number") return value;
    const exact = isIntegral(context.source)
      ? Number.isSafeInteger(value) && !Object.is(value, -0)
      : !Number.isInteger(value);
    return exact || context.source === undefined ? value : exactJson.rawJSON(context.source);
  });
}

function isIntegral(source: string | undefined): boolean {
  return source !== undefined && /^-?\d+$/.test(source);
}

/** Returns a copy that shares nothing but values. */
export function cloneTree<T extends TreeValue>(value: T): T {
  if (Array.isArray(value)) return value.map(cloneTree) as T;
  if (!isNode(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [member, cloneTree(inner)]),
  ) as T;
}

/**
 * Calls `visit` for every node below and including `root`; a visit that returns false skips its
 * children.
 */
export function walk(root: TreeValue, visit: (node: TreeNode) => boolean | void): void {
  if (Array.isArray(root)) {
    for (const item of root) walk(item, visit);
  } else if (isNode(root)) {
    if (visit(root) === false) return;
    for (const member in root) {
      const value = root[member];
      if (typeof value === "object" && value !== null) walk(value, visit);
    }
  }
}

/** Whether `isIt` says so of a node below `root`, or of `root` itself. */
export function someNode(root: TreeValue, isIt: (node: TreeNode) => boolean): boolean {
  let found = false;
  walk(root, (node) => {
    found ||= isIt(node);
    return !found;
  });
  return found;
}

/** Makes `node` the other one, which may hold what `node` holds, not `node` itself. */
export function replaceNode(node: TreeNode, by: TreeNode): void {
  for (const member of Object.keys(node)) delete node[member];
  Object.assign(node, by);
}

/** A text that is equal for expressions that are written alike, whatever they are called. */
export function writtenKey(node: TreeNode): string {
  return JSON.stringify(
    node,
    (member, value) => member === "query_location" || member === "alias" ? undefined : value,
  );
}

/** What of a SELECT decides about its answer besides FROM and WHERE. */
export function answerClauses(select: TreeNode): TreeNode[] {
  const having = nodeAt(select, "having");
  return [
    ...nodesAt(select, "select_list"),
    ...nodesAt(select, "group_expressions"),
    ...nodesAt(select, "modifiers"),
    ...having === undefined ? [] : [having],
  ];
}

/** Returns a copy of a document, and the query of its one statement. */
export function copiedDocument(
  document: TreeNode,
): { readonly document: TreeNode; readonly root: TreeNode } {
  const copy = cloneTree(document);
  return { document: copy, root: nodeAt(nodesAt(copy, "statements")[0] ?? {}, "node") ?? {} };
}

/** Returns the document with another query as its one statement. */
export function withRoot(document: TreeNode, root: TreeNode): TreeNode {
  const [statement] = nodesAt(document, "statements");
  return { ...document, statements: [{ ...statement, node: root }] };
}
