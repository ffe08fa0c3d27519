/** What the names of a prepared statement stand for, over what a plan reads. */

import type { Relation } from "../duckdb/driver.ts";
import { type BindText, quoteText } from "../duckdb/statement_text.ts";
import type { Plan } from "../plan/plan.ts";
import type { Prepared } from "../prepared.ts";
import { relationSql } from "./relation.ts";
import { relationsOf } from "./table_names.ts";

/**
 * `plan` is the statement's own, or what became of it when its files were brought. `bind` writes
 * texts; default: as literals.
 */
export function preparedRelations(
  { names, path }: Pick<Prepared, "names" | "path">,
  plan: Plan,
  bind: BindText = quoteText,
): readonly Relation[] {
  return relationsOf(
    names,
    plan.tables,
    (table) => path.kind === "scan" ? relationSql(table) : path.fast.relation(table, bind),
  );
}
