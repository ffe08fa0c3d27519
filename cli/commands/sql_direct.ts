/** `svc sql-direct`: one statement on a warehouse, with the engine in this process. */

import type { OptionTable } from "../../shared/config/options.ts";
import { defineCommand } from "../command.ts";
import { openDirectEngine, printSql, RESULT_OPTIONS } from "../direct_sql.ts";
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
    await using direct = await openDirectEngine(warehousePaths(settings));
    await printSql(direct.engine, settings.query, { settings, console });
  },
});
