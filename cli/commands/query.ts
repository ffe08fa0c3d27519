/**
 * `svc query`: one statement on what was ingested below the data directory, tables and WAL
 * together.
 */

import { resolve } from "node:path";
import { DATA_DIR_OPTION } from "../../shared/config/process_options.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { defineCommand } from "../command.ts";
import { openDirectEngine, printSql, RESULT_OPTIONS } from "../direct_sql.ts";
import { requireTables } from "../require_tables.ts";
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
    const wal = openWalReader(new DenoFileSystem(), resolve(settings.dataDir, "wal"));
    await using direct = await openDirectEngine(localWarehouse(settings.dataDir), { wal });
    await requireTables({
      ...{ wal, catalog: direct.catalog, namespace: settings.namespace },
      place: resolve(settings.dataDir),
      remedy: "Ingest there first, or name the folder that was ingested into with --data-dir",
    });
    await printSql(direct.engine, settings.sql, { settings, console });
  },
});
