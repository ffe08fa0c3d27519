/**
 * `svc audit-rotate`: bounds the table `query_audit`. See
 * docs/api/command_line.md#what-changes-something.
 */

import { counted } from "../../shared/base/counted.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import {
  openIndexCatalog,
  openMaintenanceCatalog,
} from "../../shared/catalog/open_catalog_parts.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import {
  applyAuditDrop,
  applyAuditExpiry,
  type AuditRotation,
  planAuditDrop,
  planAuditExpiry,
} from "../../shared/upkeep/rotate_audit.ts";
import { defineCommand } from "../command.ts";
import { DRY_RUN_OPTION, printPlan } from "../plan_table.ts";
import { openExistingWarehouse } from "../open_warehouse.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace of the table: --tenant-namespace of the query server.",
  },
  maxAgeSecs: {
    kind: "integer",
    flag: "max-age-secs",
    placeholder: "N",
    min: 0,
    max: 3_153_600_000,
    help:
      "Keep all rows: only expire snapshots that are older, and remove files that nothing needs. Without it the table " +
      "is dropped and made again, and ALL ITS ROWS ARE GONE.",
  },
  dryRun: DRY_RUN_OPTION,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

const COLUMNS = ["table", "action", "rows", "files", "bytes", "snapshots"];

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const paths = warehousePaths(settings);
    await using warehouse = await openExistingWarehouse(paths);
    const { files } = warehouse;
    await using indexes = await openIndexCatalog(paths.catalog, { files });
    await using maintenance = await openMaintenanceCatalog(paths.catalog, { files });
    const { removals } = maintenance;
    const deps = { ...warehouse, indexes, removals };
    const ident = { namespace: settings.namespace, name: QUERY_AUDIT_TABLE };
    const { maxAgeSecs } = settings;
    const policy = { retainLast: 1, ageMsMin: (maxAgeSecs ?? 0) * 1_000 };
    const plan = maxAgeSecs === undefined
      ? await planAuditDrop(deps, ident)
      : await planAuditExpiry(deps, ident, policy);
    if (plan === undefined) throw noAudit(settings.namespace);
    const action = maxAgeSecs === undefined ? "drop and make again" : "expire snapshots";
    await printPlan(console, COLUMNS, [rowOf(settings.namespace, action, plan)]);
    if (settings.dryRun) {
      await console.notes.write("nothing is changed with --dry-run\n");
    } else if (maxAgeSecs === undefined) {
      await applyAuditDrop(deps, ident);
      await console.notes.write(
        "dropped and made again; maintenance removes the files in six hours, when no statement reads them\n",
      );
    } else {
      const expired = await applyAuditExpiry(deps, ident, policy);
      await console.notes.write(
        `${
          counted(expired, "snapshot")
        } expired; files that a statement may still read go with maintenance\n`,
      );
    }
  },
});

function rowOf(namespace: string, action: string, plan: AuditRotation) {
  const { rows, files, bytes, snapshots } = plan;
  return [`${namespace}.${QUERY_AUDIT_TABLE}`, action, rows, files, bytes, snapshots];
}

function noAudit(namespace: string): OperatingError {
  return new OperatingError(
    "not_found",
    `Cannot rotate ${namespace}.${QUERY_AUDIT_TABLE}: there is none; a query server makes it with its first row`,
    { reason: "unknown_table" },
  );
}
