/** `svc sql-direct`: one statement on a warehouse, with the engine in this process. */

import type { OptionTable } from "../../shared/config/options.ts";
import { defineCommand } from "../command.ts";
import { openDirectEngine, printSql, RESULT_OPTIONS } from "../direct_sql.ts";
import { requireTables } from "../require_tables.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  query: {
    kind: "text",
    flag: "query",
    placeholder: "SQL",
    required: true,
    help: "The statement: one SELECT.",
  },
  ...LOCAL_OPTIONS,
  ...RESULT_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const paths = warehousePaths(settings);
    await using direct = await openDirectEngine(paths);
    await requireTables({
      ...{ catalog: direct.catalog, namespace: settings.namespace },
      place: paths.root,
      remedy: "Name the warehouse with --data-dir, --warehouse or --warehouse-url; " +
        "rows that are in the WAL only come to it with `svc compactor --once`",
    });
    await printSql(direct.engine, settings.query, { settings, console });
  },
});
