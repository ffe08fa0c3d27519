/**
 * Decides under which name a statement finds each of its stored tables. `events` keeps its own
 * name. A relation of a statement has no schema, so `svc.events` becomes one name with both words
 * in it. That name is another than `events`: beside a WITH that defines `events`, it is still the
 * stored table.
 */

import type { CatalogReference, TableReference } from "../gate/gate.ts";
import type { CatalogName } from "../pg_catalog/relations.ts";
import { textAt, type TreeNode, walk } from "../statement/syntax_tree.ts";

/** A name in a statement, and the stored table that it stands for. */
export interface TableName {
  /** Name of the table in the changed statement. */
  readonly name: string;
  /** Lower-cased name of the stored table. */
  readonly table: string;
}

/**
 * Gives the relations of PostgreSQL's catalog names of their own in the tree, as `pg_class` may be
 * a WITH's name elsewhere in it. Returns every name once.
 */
export function nameCatalog(
  root: TreeNode,
  references: readonly CatalogReference[],
): readonly CatalogName[] {
  if (references.length === 0) return [];
  const taken = namesIn(root);
  const names = new Map<string, CatalogName>();
  for (const { relation, node } of references) {
    const whole = `${relation.schema}.${relation.name}`;
    const named = names.get(whole) ?? { name: unused(whole, taken), relation };
    names.set(whole, named);
    if (textAt(node, "alias") === "") node["alias"] = relation.name;
    node["table_name"] = named.name;
    node["catalog_name"] = "";
    node["schema_name"] = "";
  }
  return [...names.values()];
}

/**
 * Changes qualified references in the tree. It returns every name once, and whether the tree was
 * changed.
 */
export function nameTables(
  root: TreeNode,
  references: readonly TableReference[],
): { readonly names: readonly TableName[]; readonly changed: boolean } {
  const names = new Map<string, string>();
  const qualified = references.filter(({ node }) => textAt(node, "schema_name") !== "");
  const taken = qualified.length === 0 ? new Set<string>() : namesIn(root);
  const renamed = new Map<string, string>();
  for (const { table, node } of references) {
    if (textAt(node, "schema_name") === "") {
      names.set(table, table);
      continue;
    }
    const name = renamed.get(table) ?? unused(`${textAt(node, "schema_name")}.${table}`, taken);
    renamed.set(table, name);
    names.set(name, table);
    if (textAt(node, "alias") === "") node["alias"] = node["table_name"];
    node["table_name"] = name;
    node["catalog_name"] = "";
    node["schema_name"] = "";
  }
  return {
    names: [...names].map(([name, table]) => ({ name, table })),
    changed: qualified.length > 0,
  };
}

function unused(wanted: string, taken: ReadonlySet<string>): string {
  let name = wanted.toLowerCase();
  while (taken.has(name)) name += "'";
  return name;
}

/**
 * Returns the lower-cased names of tables that the statement mentions, and of those that it defines
 * (keys of its WITHs).
 */
function namesIn(root: TreeNode): Set<string> {
  const names = new Set<string>();
  walk(root, (node) => {
    names.add(textAt(node, "table_name").toLowerCase());
    names.add(textAt(node, "key").toLowerCase());
  });
  return names;
}
