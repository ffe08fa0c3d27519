/**
 * What commands of maintenance have in common: the tables they are about, and what they work with.
 */

import type { Catalog } from "../shared/catalog/catalog.ts";
import { openMaintenanceCatalog } from "../shared/catalog/open_catalog_parts.ts";
import { OperatingError } from "../shared/base/errors.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";
import type { TableIdent } from "../shared/tenant/tenant.ts";
import type { CommitDeps } from "../shared/iceberg/commit_table.ts";
import { allTables } from "../shared/upkeep/maintenance_loop.ts";
import type { OrphanDeps } from "../shared/upkeep/orphans.ts";
import { openExistingWarehouse } from "./open_warehouse.ts";
import { LOCAL_OPTIONS, warehousePaths } from "./warehouse_options.ts";

export const TABLES_OPTIONS = {
  table: {
    kind: "text",
    flag: "table",
    placeholder: "NAME",
    help: "Only this table or index; all of them when absent.",
  },
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    help: "Only tables of this namespace, which is that of a tenant; all of them when absent.",
  },
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

type TablesSettings = Settings<typeof TABLES_OPTIONS>;

export interface OpenTables extends AsyncDisposable {
  readonly deps: OrphanDeps & CommitDeps;
  /** The tables that the options name, in order. */
  readonly idents: readonly TableIdent[];
}

/** Errors: `not_found` when there is no table of that name; the catalog's. */
export async function openTables(settings: TablesSettings): Promise<OpenTables> {
  const paths = warehousePaths(settings);
  await using opening = new AsyncDisposableStack();
  const warehouse = opening.use(await openExistingWarehouse(paths));
  const { files } = warehouse;
  const { removals } = opening.use(await openMaintenanceCatalog(paths.catalog, { files }));
  const idents = await identsOf(warehouse.catalog, settings);
  const opened = opening.move();
  return {
    deps: { ...warehouse, removals },
    idents,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function identsOf(
  catalog: Catalog,
  { table, namespace }: TablesSettings,
): Promise<TableIdent[]> {
  const idents = (await allTables(catalog)).filter((ident) =>
    (table === undefined || ident.name === table) &&
    (namespace === undefined || ident.namespace === namespace)
  );
  if (idents.length > 0 || (table === undefined && namespace === undefined)) return idents;
  throw new OperatingError(
    "not_found",
    `Cannot find table ${table ?? "(any)"} in namespace ${
      namespace ?? "(any)"
    }: the catalog has none; ` +
      "`svc table-info` lists those that there are, as <namespace>.<table>",
  );
}

/** `svc.events`. */
export function nameOf({ namespace, name }: TableIdent): string {
  return `${namespace}.${name}`;
}
