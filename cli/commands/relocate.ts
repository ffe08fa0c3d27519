/**
 * `svc relocate`: writes the locations in tables' metadata anew where a warehouse was moved or
 * copied. See docs/operate.md#move-a-warehouse.
 */

import { counted } from "../../shared/base/counted.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { readerOf } from "../../shared/iceberg/commit_table.ts";
import { lookForRelocation, type Relocated, relocateTable } from "../../shared/iceberg/relocate.ts";
import { defineCommand } from "../command.ts";
import { nameOf, openTables, TABLES_OPTIONS } from "../maintenance_tables.ts";
import { APPLY_OPTION, printPlan } from "../plan_table.ts";

const OPTIONS = { apply: APPLY_OPTION, ...TABLES_OPTIONS } as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await using tables = await openTables(settings);
    const { deps } = tables;
    const rows: (string | number)[][] = [];
    let count = 0;
    for (const ident of tables.idents) {
      const location = await deps.catalog.metadataLocation(ident);
      if (location === undefined) continue;
      const table = await readerOf(deps).loadTable(ident, location);
      const found = settings.apply
        ? await relocateTable(deps, ident)
        : await lookForRelocation(deps, table);
      count += found.metadata;
      const action = found.metadata === 0 ? "nothing" : settings.apply ? "relocated" : "relocate";
      rows.push([nameOf(ident), table.metadata.location, ...filesOf(found), action]);
    }
    await printPlan(console, COLUMNS, rows);
    const place = deps.store.rootUri;
    await console.notes.write(
      settings.apply
        ? `${counted(count, "table")} relocated to ${place}\n`
        : `${
          counted(count, "table")
        } to relocate to ${place}; nothing is changed without --apply\n`,
    );
  },
});

const COLUMNS = ["table", "location", "manifest lists", "manifests", "action"];

function filesOf({ manifestLists, manifests }: Relocated): number[] {
  return [manifestLists, manifests];
}
