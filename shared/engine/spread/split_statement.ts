/**
 * Cuts a statement in two: what each worker runs over its shard of one table, and what makes the
 * statement's answer of the shards' rows (README.md). It decides on the parsed tree and reads no
 * row; DuckDB writes trees as text and binds them.
 */

import type { DescribedColumn, Relation } from "../duckdb/driver.ts";
import { EngineFault } from "../duckdb/driver.ts";
import { emptySql } from "../bind/relation.ts";
import { quoteName } from "../duckdb/statement_text.ts";
import { renameFunctions } from "../functions/dialect.ts";
import { gate } from "../gate/gate.ts";
import type { Statement } from "../statement/parse.ts";
import {
  cloneTree,
  nodeAt,
  nodesAt,
  textAt,
  type TreeNode,
  walk,
  withRoot,
} from "../statement/syntax_tree.ts";
import { selectNode } from "../statement/tree_nodes.ts";
import { CutSelect, unusedPrefix } from "./cut_select.ts";
import { type Cut, findCut, holdsWindow, isGrouped, withsOf } from "./find_cut.ts";
import { refuseChoices, refuseVolatile } from "./refused_forms.ts";
import { shipRows } from "./ship_rows.ts";
import { splitGroups } from "./split_groups.ts";
import { splitRows } from "./split_rows.ts";
import { starNode, subqueryNode } from "./tree_parts.ts";
import {
  type Halves,
  type NotSplit,
  OTHERS_BYTES_MAX,
  PARTS_TABLE,
  SHIP_BYTES_MAX,
  type SplitStatement,
  type SpreadContext,
  type SpreadTable,
  Unsplit,
  Whole,
} from "./types.ts";

/**
 * Cuts a statement, or says why it runs on one server. The gate lets the statement through, but has
 * not changed its tree yet. Parameters are bound, and the default order is applied. The tree is not
 * changed. Errors: those of `context.textOf`.
 */
export async function splitStatement(
  statement: Pick<Statement, "document" | "root">,
  context: SpreadContext,
): Promise<SplitStatement | NotSplit> {
  try {
    return await new StatementSplit(statement, context).split();
  } catch (error) {
    if (error instanceof Unsplit) return { reason: error.reason };
    if (error instanceof EngineFault && error.kind === "statement") {
      return { reason: "a part of it cannot be asked by itself" };
    }
    throw error;
  }
}

class StatementSplit {
  readonly #context: SpreadContext;
  readonly #document: TreeNode;
  readonly #root: TreeNode;

  constructor({ document, root }: Pick<Statement, "document" | "root">, context: SpreadContext) {
    this.#context = context;
    this.#document = document;
    this.#root = cloneTree(root);
  }

  async split(): Promise<SplitStatement> {
    renameFunctions(this.#root);
    refuseVolatile(this.#root);
    const stored = storedTables(this.#root);
    const table = this.#cutTable([...new Set(stored.map(({ name }) => name))]);
    const cut = findCut(
      this.#root,
      stored.filter(({ name }) => name === table.name).map(({ node }) => node),
    );
    const visible = neededEntries(cut);
    refuseChoices([cut.query, ...visible], cut.query);
    const within = (query: TreeNode) => withEntries(query, visible);
    const describe = async (query: TreeNode) => await this.#describe(within(query));
    const wanted = await this.#describe(this.#root);
    const halves = await this.#halves(cut, { table, describe });
    cut.replace(halves.merge);
    const merge = cut.isRoot
      ? { ...halves.merge, cte_map: { map: [] } }
      : withNames(this.#root, wanted);
    dropUnused(merge);
    checkReads(merge, stored.map(({ node }) => node));
    const workerSql = await this.#textOf(within(halves.worker));
    const mergeSql = await this.#textOf(merge);
    const columns = await this.#context.describe(workerSql, this.#relations());
    checkColumns(await this.#context.describe(mergeSql, [partsRelation(columns)]), wanted);
    const { mode, rowsMax } = halves;
    // What is around the cut, and an OFFSET, wants the rows of all shards.
    const isByShard = mode === "scan" && cut.isRoot && !skipsRows(halves.merge);
    return {
      ...{ mode, workerSql, mergeSql, columns, table: table.name, isByShard },
      ...(rowsMax === undefined ? {} : { rowsMax }),
    };
  }

  /** The largest table; each worker reads the others. */
  #cutTable(names: readonly string[]): SpreadTable {
    const tables = this.#context.tables.filter(({ name }) => names.includes(name))
      .toSorted((a, b) => b.bytes - a.bytes);
    const [largest, ...others] = tables;
    if (largest === undefined || tables.length < names.length) {
      throw new Unsplit("it reads no table");
    }
    const bytes = others.reduce((sum, other) => sum + other.bytes, 0);
    if (bytes > OTHERS_BYTES_MAX) {
      throw new Unsplit(
        `each server would read ${bytes} bytes of ${
          others.map(({ name }) => name).join(", ")
        }, at most ${OTHERS_BYTES_MAX} are`,
      );
    }
    return largest;
  }

  async #halves(
    cut: Cut,
    { table, describe }: {
      readonly table: SpreadTable;
      readonly describe: (query: TreeNode) => Promise<readonly DescribedColumn[]>;
    },
  ): Promise<Halves> {
    const { shipBytesMax = SHIP_BYTES_MAX, averages, rowsMax, tables } = this.#context;
    const names = tables.flatMap(({ columns }) => columns.map(({ name }) => name));
    const prefix = unusedPrefix(this.#root, names);
    const deps = { describe, averages, prefix, rowsMax: cut.isRoot ? rowsMax : Infinity };
    const select = await CutSelect.of(asSelect(cut.query, prefix), deps);
    const ships = (why: string) => {
      if (table.bytes <= shipBytesMax) return;
      throw new Unsplit(
        `${why}, and ${table.bytes} bytes of ${table.name} are too many for one server to gather ` +
          `(at most ${shipBytesMax})`,
      );
    };
    try {
      return await this.#apart(cut, select, ships);
    } catch (error) {
      if (!(error instanceof Whole)) throw error;
      ships(error.reason);
      return shipRows(select);
    }
  }

  async #apart(cut: Cut, select: CutSelect, ships: (why: string) => void): Promise<Halves> {
    if (isGrouped(select.select)) return await splitGroups(select);
    if (
      nodeAt(select.select, "qualify") !== undefined || holdsWindow(select.select["select_list"])
    ) {
      throw new Whole("a window function needs all rows");
    }
    if (holdsWindow(select.select["modifiers"])) {
      throw new Whole("a window function needs all rows");
    }
    const halves = splitRows(select);
    if (!cut.isLinear || cut.isRoot) return halves;
    ships("what is around its subquery needs all rows");
    return { ...halves, mode: "ship" };
  }

  async #describe(query: TreeNode): Promise<readonly DescribedColumn[]> {
    return await this.#context.describe(await this.#textOf(query), this.#relations());
  }

  async #textOf(query: TreeNode): Promise<string> {
    return await this.#context.textOf(withRoot(this.#document, query));
  }

  #relations(): readonly Relation[] {
    return this.#context.tables.map(({ name, columns }) => ({ name, select: emptySql(columns) }));
  }
}

interface StoredTable {
  readonly name: string;
  readonly node: TreeNode;
}

/** The places that read stored tables, which get their plain names. */
function storedTables(root: TreeNode): readonly StoredTable[] {
  const { references, catalog } = gate(root, {
    namespace: wordBefore(root, "schema_name"),
    database: wordBefore(root, "catalog_name"),
  });
  if (catalog.length > 0) throw new Unsplit("it asks for PostgreSQL's catalog");
  const defined = new Set<string>();
  walk(root, (node) => {
    for (const member of ["alias", "table_name", "key"]) {
      if (textAt(node, member).toLowerCase() !== PARTS_TABLE) continue;
      throw new Unsplit(`it uses the name ${PARTS_TABLE}`);
    }
    for (const entry of withsOf(node)) defined.add(textAt(entry, "key").toLowerCase());
  });
  return references.map(({ table, node, hot }) => {
    if (hot !== undefined) throw new Unsplit("it is answered from the memory of one server");
    if (textAt(node, "schema_name") !== "" && defined.has(table)) {
      throw new Unsplit(`a WITH and a table are both called ${table}`);
    }
    node["catalog_name"] = "";
    node["schema_name"] = "";
    return { name: table, node };
  });
}

/** The one namespace or database that the tables of a statement can be qualified with. */
function wordBefore(root: TreeNode, member: "schema_name" | "catalog_name"): string {
  let found = "";
  walk(root, (node) => {
    if (textAt(node, "type") !== "BASE_TABLE") return;
    const word = textAt(node, member);
    if (word !== "" && word !== "recurring") found = word;
  });
  return found;
}

/** A set operation as a SELECT of its rows. */
function asSelect(query: TreeNode, prefix: string): TreeNode {
  if (textAt(query, "type") === "SELECT_NODE") return query;
  const { modifiers: _modifiers, cte_map, ...rest } = query;
  const isAll = query["setop_all"] === true;
  const distinct = { type: "DISTINCT_MODIFIER", distinct_on_targets: [] };
  const inner = { ...rest, setop_all: true, modifiers: [], cte_map: { map: [] } };
  return selectNode([starNode()], subqueryNode(inner, `${prefix}rows`), {
    modifiers: [...(isAll ? [] : [distinct]), ...nodesAt(query, "modifiers")],
    cte_map,
  });
}

/** The WITHs around a cut that it names, and those that these name. */
function neededEntries({ query, visible }: Cut): readonly TreeNode[] {
  const needed = new Set<TreeNode>();
  const look = (from: TreeNode) => {
    walk(from, (node) => {
      if (textAt(node, "type") !== "BASE_TABLE") return;
      const name = textAt(node, "table_name").toLowerCase();
      const entry = visible.findLast((one) => textAt(one, "key").toLowerCase() === name);
      if (entry === undefined || needed.has(entry)) return;
      needed.add(entry);
      look(entry);
    });
  };
  look(query);
  return visible.filter((entry) => needed.has(entry));
}

function withEntries(query: TreeNode, entries: readonly TreeNode[]): TreeNode {
  return { ...query, cte_map: { map: [...entries, ...withsOf(query)] } };
}

/** A statement whose columns keep their names, also of what has another text now. */
function withNames(root: TreeNode, columns: readonly DescribedColumn[]): TreeNode {
  const items = nodesAt(root, "select_list");
  const isPlain = items.length === columns.length &&
    !items.some((item) => textAt(item, "class") === "STAR");
  if (!isPlain) return root;
  const select_list = items.map((item, i) => {
    const isNamed = textAt(item, "alias") !== "" || textAt(item, "class") === "COLUMN_REF";
    return isNamed ? item : { ...item, alias: columns[i]?.name ?? "" };
  });
  return { ...root, select_list };
}

/** Takes out WITHs that nothing names any more. */
function dropUnused(root: TreeNode): void {
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    const names = new Set<string>();
    walk(root, (node) => {
      if (textAt(node, "type") === "BASE_TABLE") {
        names.add(textAt(node, "table_name").toLowerCase());
      }
    });
    walk(root, (node) => {
      const entries = withsOf(node);
      const kept = entries.filter((entry) => names.has(textAt(entry, "key").toLowerCase()));
      if (kept.length === entries.length) return;
      node["cte_map"] = { ...nodeAt(node, "cte_map"), map: kept };
      isChanged = true;
    });
  }
}

function skipsRows(query: TreeNode): boolean {
  return nodesAt(query, "modifiers").some((modifier) => nodeAt(modifier, "offset") !== undefined);
}

/** The merge reads the rows of the shards and nothing else. */
function checkReads(merge: TreeNode, stored: readonly TreeNode[]): void {
  let isRead = false;
  walk(merge, (node) => {
    isRead ||= textAt(node, "table_name") === PARTS_TABLE;
    if (!stored.includes(node)) return;
    const table = textAt(node, "table_name");
    throw new Unsplit(`what is made of all rows is brought together with ${table}`);
  });
  if (!isRead) throw new Unsplit("its answer needs no row of a table");
}

/** The rows of all shards, as far as binding needs them. */
function partsRelation(columns: readonly DescribedColumn[]): Relation {
  const list = columns.map(({ name, type }) => `NULL::${type.text} AS ${quoteName(name)}`);
  return { name: PARTS_TABLE, select: `SELECT ${list.join(", ")} WHERE false` };
}

/** Throws where the answer would have other names or types than the statement's. */
function checkColumns(
  actual: readonly DescribedColumn[],
  wanted: readonly DescribedColumn[],
): void {
  const described = (columns: readonly DescribedColumn[]) =>
    JSON.stringify(columns.map(({ name, type }) => [name, type.text]));
  if (described(actual) === described(wanted)) return;
  const other = wanted.find(({ name, type }, i) =>
    actual[i]?.name !== name || actual[i]?.type.text !== type.text
  );
  throw new Unsplit(`column ${other?.name ?? ""} would be of another name or type`);
}
