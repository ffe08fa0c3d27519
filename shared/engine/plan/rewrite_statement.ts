/**
 * The phase that changes a statement by what its tables are: the implicit newest-first order, and
 * promoted columns for attributes. Changes the tree.
 */

import { applyDefaultOrder, wantsDefaultOrder } from "../order/default_order.ts";
import { columnsShape } from "../statement/columns_shape.ts";
import { textAsItIs } from "../statement/parse.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { withRoot } from "../statement/syntax_tree.ts";
import type { QueryRequest } from "../types.ts";
import type { TablePlan } from "./plan.ts";
import type { Planned } from "./plan_statement.ts";
import { projectedAnew } from "./projection.ts";
import { type AttributeValues, type LeftAttribute, usePromoted } from "./promoted_attributes.ts";
import { soughtTexts } from "./sought_texts.ts";

/** A planned statement, changed by what its tables are. */
export interface Rewritten extends Planned {
  /** `planned` with the columns that the statement names now. */
  readonly tables: readonly TablePlan[];
  readonly defaultOrderApplied: boolean;
  /** Whether attributes are read from promoted columns. */
  readonly isPromoted: boolean;
  /** What the columns of the answer depend on. */
  readonly shape: string;
  /** What they depend on with promoted columns; undefined: the statement has none. */
  readonly promotedShape: string | undefined;
  /** Expressions that stand for values of promoted columns. */
  readonly values: AttributeValues;
  /** Attributes that are looked up in JSON, and why. */
  readonly left: readonly LeftAttribute[];
}

/**
 * Adds the default order and uses promoted columns. It changes the tree and nothing else. An
 * EXPLAIN keeps the order that it was given. Errors: the connection's.
 */
export async function rewriteStatement(
  planned: Planned,
  { request, cached, usesPromoted }: {
    readonly request: QueryRequest;
    readonly cached: CachedConnection;
    /** Whether attributes may be read from promoted columns. */
    readonly usesPromoted: boolean;
  },
): Promise<Rewritten> {
  const { statement: { root, document, explain }, references, planned: before, bounds } = planned;
  const defaultOrderApplied = wantsDefaultOrder(root, request) && !explain &&
    applyDefaultOrder(root, { table: tableOf(planned), rowsMax: request.rowsMax });
  // Columns for attributes leave the texts where they are.
  const sought = soughtTexts(root);
  const shapeNow = () => columnsShape(document, bounds, sought);
  const shape = shapeNow();
  const promoted = await usePromoted(root, {
    references,
    tables: before,
    isAllowed: usesPromoted,
    textOf: (select) => textAsItIs(cached, withRoot(document, select)),
  });
  const { isChanged: isPromoted, values, left } = promoted;
  const tables = defaultOrderApplied || isPromoted ? projectedAnew(promoted.tables, root) : before;
  const promotedShape = isPromoted ? shapeNow() : undefined;
  return {
    ...planned,
    tables,
    defaultOrderApplied,
    isPromoted,
    values,
    left,
    shape,
    promotedShape,
  };
}

/** Returns the stored table that is the FROM of the outermost SELECT. */
function tableOf({ statement: { root }, references, planned }: Planned): TablePlan | undefined {
  const own = references.find(({ node }) => node === root["from_table"]);
  return planned.find(({ name }) => name === own?.table);
}
