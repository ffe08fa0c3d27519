/**
 * The phase from a parsed statement to one that may be planned. Its functions get DuckDB's names,
 * each table a name of its own, and what a caller may not name is refused. Changes the tree.
 */

import { nameCatalog, nameTables, type TableName } from "../bind/table_names.ts";
import { exchangeArrayTexts } from "../functions/array_casts.ts";
import { renameFunctions } from "../functions/dialect.ts";
import { type CatalogName, sessionOf } from "../pg_catalog/relations.ts";
import { placeOfNode, type Statement } from "../statement/parse.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";
import { gate, type TableReference } from "./gate.ts";

/** A statement that may be planned. */
export interface Gated {
  readonly statement: Statement;
  /** Places where it names stored tables. */
  readonly references: readonly TableReference[];
  /** The name under which it finds each of them. */
  readonly names: readonly TableName[];
  /** The relations of PostgreSQL's catalog that it names. */
  readonly catalog: readonly CatalogName[];
  /** Whether calls in it were given a bound that the text as it was sent has not. */
  readonly isBounded: boolean;
  /**
   * Whether DuckDB can bind the text as it was sent, because everything in it goes by the same
   * name.
   */
  readonly isBindable: boolean;
}

/**
 * Renames functions, judges the tree and names its tables. Errors: `invalid_argument`, those of
 * `renameFunctions` and of `gate`.
 */
export function gateStatement(
  statement: Statement,
  { request, takesParameters = false }: {
    readonly request: Pick<QueryRequest, "namespace" | "session">;
    /** Whether parameters without values pass: the statement will not run. */
    readonly takesParameters?: boolean;
  },
): Gated {
  const { sent, root } = statement;
  const { renamed, bounded } = renameFunctions(root);
  const hasArrays = exchangeArrayTexts(root);
  const placeOf = (node: TreeNode) => placeOfNode(sent, node);
  const { namespace, session } = request;
  const names = { namespace, database: sessionOf(session, namespace).database };
  const { references, catalog: own } = gate(root, { ...names, placeOf, takesParameters });
  const catalog = nameCatalog(root, own);
  const named = nameTables(root, references);
  const hasCalls = references.some(({ hot }) => hot !== undefined);
  const isBindable = !(hasCalls || named.changed || renamed || hasArrays || catalog.length > 0);
  return { statement, references, names: named.names, catalog, isBounded: bounded, isBindable };
}
