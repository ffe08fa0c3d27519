/** `svc query`: one statement on what was ingested below the data directory, tables and WAL together. */

import { DATA_DIR_OPTION } from "../../shared/config/data_dir.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { defineCommand } from "../command.ts";
import { openDirectEngine, printSql, RESULT_OPTIONS } from "../direct_sql.ts";
import { localWarehouse } from "../warehouse_options.ts";

const OPTIONS = {
  sql: {
    kind: "text",
    flag: "sql",
    placeholder: "SQL",
    required: true,
    help: "The statement: one SELECT over the table `events`.",
  },
  dataDir: DATA_DIR_OPTION,
  ...RESULT_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await using direct = await openDirectEngine(localWarehouse(settings.dataDir));
    await printSql(direct.engine, settings.sql, { settings, console });
  },
});
