/** Comments of tables and columns, as `pg_description` has them. */

import type { CatalogRow } from "./relation.ts";
import type { CatalogView } from "./own_tables.ts";

/** A row for each comment: of a table, and of its columns. */
export function descriptionRows({ tables }: CatalogView): readonly CatalogRow[] {
  const classoid = 1259;
  return tables.flatMap(({ oid, comment, columns }) => [
    ...comment === undefined ? [] : [{ objoid: oid, classoid, objsubid: 0, description: comment }],
    ...columns.flatMap(({ doc }, at) =>
      doc === undefined ? [] : [{ objoid: oid, classoid, objsubid: at + 1, description: doc }]
    ),
  ]);
}
