/**
 * `svc migrate-schema`: brings tables up to the columns that this program writes, and promotes
 * attributes. See docs/api/tables.md#schema-changes.
 */

import { counted } from "../../shared/base/counted.ts";
import { OperatingError, UsageError } from "../../shared/base/errors.ts";
import type { Catalog } from "../../shared/catalog/catalog.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { ATTRIBUTES, parsePromotion } from "../../shared/schema/promoted.ts";
import type { Column } from "../../shared/schema/schema.ts";
import { DEFAULT_NAMESPACE, type TableIdent } from "../../shared/tenant/tenant.ts";
import { applyMigration, type MigrationPlan, planMigration } from "../../shared/tables/migrate.ts";
import { defineCommand } from "../command.ts";
import { DRY_RUN_OPTION, printPlan } from "../plan_table.ts";
import { openExistingWarehouse, type OpenWarehouse } from "../open_warehouse.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  table: {
    kind: "text",
    flag: "table",
    placeholder: "NAME",
    help: "One table, in the namespace of --namespace.",
  },
  allTables: {
    kind: "switch",
    flag: "all-tables",
    help: "All tables of the namespace.",
  },
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    default: DEFAULT_NAMESPACE,
    help: "Namespace of the tables.",
  },
  allNamespaces: {
    kind: "switch",
    flag: "all-namespaces",
    help: "All namespaces; each tenant has tables of its own.",
  },
  promoteAttr: {
    kind: "list",
    flag: "promote-attr",
    placeholder: "NAME:TYPE,…",
    help: "Give the tables a column for each of these attributes. Types are string, int, long, " +
      "double and bool. New rows fill the column at once, stored rows when their files are " +
      "rewritten.",
  },
  dryRun: DRY_RUN_OPTION,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

const COLUMNS = ["namespace", "table", "version", "columns added", "promoted", "action"];

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const promote = settings.promoteAttr.map(parsePromotion);
    await using deps = await openExistingWarehouse(warehousePaths(settings));
    const idents = await tablesOf(deps.catalog, settings);
    // All are planned before one is changed: a promotion that one cannot have changes none.
    const plans: Planned[] = [];
    for (const ident of idents) {
      plans.push(await planned(deps, { ident, promote, isNamed: settings.table !== undefined }));
    }
    await printPlan(console, COLUMNS, plans.map(({ plan }) => rowOf(plan)));
    const changes = plans.filter(({ plan }) => plan.isChange);
    if (settings.dryRun) {
      await console.notes.write(
        `${counted(changes.length, "table")} to change; nothing is written\n`,
      );
      return;
    }
    for (const { plan, promote } of changes) await applyMigration(deps, plan.ident, promote);
    await console.notes.write(`${changes.length} of ${counted(plans.length, "table")} changed\n`);
  },
});

interface Planned {
  readonly plan: MigrationPlan;
  /** What is promoted in this table. */
  readonly promote: readonly Column[];
}

/**
 * A table without attributes has nothing to promote: that is an error for one that was named, and
 * no matter for others.
 */
async function planned(
  deps: OpenWarehouse,
  { ident, promote, isNamed }: {
    readonly ident: TableIdent;
    readonly promote: readonly Column[];
    readonly isNamed: boolean;
  },
): Promise<Planned> {
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) throw unknownTable(ident);
  const table = await deps.reader.loadTable(ident, location);
  const hasAttributes = table.schema.columns.some(({ name }) => name === ATTRIBUTES);
  const own = isNamed || hasAttributes ? promote : [];
  return { plan: await planMigration(deps, table, own), promote: own };
}

/**
 * Errors: `invalid_argument` when the options name none, `not_found` for a table that is not there.
 */
async function tablesOf(
  catalog: Pick<Catalog, "namespaces" | "tables">,
  { table, allTables, namespace, allNamespaces }: {
    readonly table: string | undefined;
    readonly allTables: boolean;
    readonly namespace: string;
    readonly allNamespaces: boolean;
  },
): Promise<TableIdent[]> {
  if ((table === undefined) === !allTables) {
    throw new UsageError(
      "Cannot tell which tables to migrate: give either --table <name> or --all-tables " +
        "(with --all-namespaces where there are several tenants)",
    );
  }
  const namespaces = await catalog.namespaces();
  // Before the first rows come there is none at all.
  if (!allNamespaces && namespace !== DEFAULT_NAMESPACE && !namespaces.includes(namespace)) {
    throw new OperatingError(
      "not_found",
      `Cannot migrate tables of namespace ${namespace}: the catalog has none; it has tables in ` +
        (namespaces.join(", ") || "no namespace"),
      { reason: "unknown_table" },
    );
  }
  const idents: TableIdent[] = [];
  for (const one of allNamespaces ? namespaces : [namespace]) {
    const names = await catalog.tables(one);
    for (const name of names) {
      if (table === undefined || table === name) idents.push({ namespace: one, name });
    }
  }
  if (table !== undefined && idents.length === 0) throw unknownTable({ namespace, name: table });
  return idents;
}

function unknownTable({ namespace, name }: TableIdent): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot migrate table ${namespace}.${name}: there is none; a table is made with its ` +
      "first rows, and `svc table-info` lists all as <namespace>.<table>",
    { reason: "unknown_table" },
  );
}

function rowOf(plan: MigrationPlan) {
  const { ident, versionBefore, version, added, promoted, isChange } = plan;
  const isSame = versionBefore === version;
  return [
    ident.namespace,
    ident.name,
    isSame ? String(version) : `${versionBefore ?? "none"} → ${version}`,
    added.map(({ name, type }) => `${name}:${type}`).join(", "),
    promoted.join(", "),
    isChange ? "change" : "up to date",
  ];
}
