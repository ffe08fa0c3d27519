/**
 * `svc scrub`: reads every stored file now and holds it against its checksums. See
 * shared/upkeep/README.md#scrub.
 */

import { counted } from "../../shared/base/counted.ts";
import { formatBytes } from "../../shared/base/bytes.ts";
import { openBackup } from "../../shared/backup/open_backup.ts";
import { BackupCopies } from "../../shared/backup/second_copies.ts";
import { openMaintenanceCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { inlineDeriver } from "../../shared/derived/deriver.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../../shared/derived/summary/summary_options.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { INLINE_PARQUET_DECODER } from "../../shared/parquet/parquet_decoder.ts";
import { paced } from "../../shared/upkeep/scrub_loop.ts";
import {
  type ScrubbedFile,
  type ScrubbedTable,
  scrubTable,
} from "../../shared/upkeep/scrub_table.ts";
import { defineCommand } from "../command.ts";
import { nameOf, openTables, TABLES_OPTIONS } from "../maintenance_tables.ts";
import { printPlan } from "../plan_table.ts";
import { ProgressLine } from "../progress_line.ts";
import { warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  repairFrom: {
    kind: "text",
    flag: "repair-from",
    placeholder: "url",
    help: "A backup of this warehouse: damaged and missing files are replaced by its copies.",
  },
  maxMbPerSec: {
    kind: "integer",
    flag: "max-mb-per-sec",
    placeholder: "MB",
    min: 1,
    max: 100_000,
    help: "Most MB to read a second; no limit when absent.",
  },
  ...SUMMARY_OPTIONS,
  ...TABLES_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await using tables = await openTables(settings);
    const files = new DenoFileSystem();
    const { catalog } = warehousePaths(settings);
    await using kept = await openMaintenanceCatalog(catalog, { files });
    using deriver = inlineDeriver(summaryLimitsOf(settings));
    const { clock, random } = tables.deps;
    const opening = { files, clock, random, env: environment, option: "--repair-from" };
    const backup = settings.repairFrom === undefined
      ? undefined
      : openBackup(settings.repairFrom, opening);
    // A mistyped place would be found out with the first damaged file only.
    await backup?.pointsTo("repair");
    const deps = {
      ...{ ...tables.deps, scrubs: kept.scrubs, decoder: INLINE_PARQUET_DECODER, deriver },
      ...(backup === undefined ? {} : { copies: new BackupCopies(backup) }),
    };
    const { signal } = new AbortController();
    const rate = settings.maxMbPerSec;
    const pace = rate === undefined
      ? {}
      : { pace: paced(clock, { bytesPerSec: rate * 1_000_000, signal }) };
    const line = console.notes.isTerminal ? new ProgressLine(console) : undefined;
    const total = { files: 0, bytes: 0 };
    const rows: (string | number)[][] = [];
    const damaged: string[] = [];
    for (const ident of tables.idents) {
      const table = await scrubTable(deps, ident, {
        signal,
        ...pace,
        restarts: true,
        onFile: ({ byteLength }: ScrubbedFile) => {
          total.files += 1;
          total.bytes += byteLength;
          void line?.show([nameOf(ident), counted(total.files, "file"), formatBytes(total.bytes)]);
        },
      });
      if (table === undefined) continue;
      rows.push(rowOf(nameOf(ident), table));
      for (const { key, damage } of table.damaged) damaged.push(`${key}: ${damage}`);
    }
    await line?.clear();
    await printPlan(console, COLUMNS, rows);
    if (damaged.length === 0) return 0;
    await console.notes.write(`${damaged.join("\n")}\n${REMEDY}\n`);
    return 1;
  },
});

const REMEDY =
  "damaged files stay where they are: --repair-from replaces them where a backup has a whole copy; " +
  "else see docs/operate.md#a-damaged-file";

const COLUMNS = ["table", "files", "bytes", "without checksums", "repaired", "damaged"];

function rowOf(name: string, table: ScrubbedTable): (string | number)[] {
  const { files, bytes, unsummed, repaired, damaged } = table;
  return [name, files, bytes, unsummed, repaired, damaged.length];
}
