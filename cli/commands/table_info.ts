/**
 * `svc table-info`: how tables are. Files by level, overlap, bytes by what they are
 * for, snapshots, backlog, columns.
 */

import { counted } from "../../shared/base/counted.ts";
import { openMaintenanceCatalog } from "../../shared/catalog/open_catalog_parts.ts";
import type { Scrubs } from "../../shared/catalog/scrubs.ts";
import { warehousePaths } from "../warehouse_options.ts";
import { UsageError } from "../../shared/base/errors.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { belowDataDir } from "../../shared/catalog/storage_places.ts";
import { WAL_OPTION } from "../../shared/config/process_options.ts";
import { attributeOf, isUnasked } from "../../shared/schema/promoted.ts";
import type { Column, TableSchema } from "../../shared/schema/schema.ts";
import { type TableIdent, tenantOf } from "../../shared/tenant/tenant.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { lookForMerges } from "../../shared/upkeep/merge.ts";
import type { OrphanDeps } from "../../shared/upkeep/orphans.ts";
import { type TableHealth, tableHealth } from "../../shared/upkeep/table_health.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { missingSegments } from "../../shared/wal/seal_record.ts";
import type { MissingSegment, SetAside } from "../../shared/wal/types.ts";
import { defineCommand } from "../command.ts";
import { nameOf, openTables, TABLES_OPTIONS } from "../maintenance_tables.ts";
import { printPlan } from "../plan_table.ts";

const OPTIONS = {
  levels: {
    kind: "switch",
    flag: "levels",
    help: "Print the data files of each table by level instead.",
  },
  columns: {
    kind: "switch",
    flag: "columns",
    help:
      "Print the columns of each table instead: in how many rows they have a value, and which hold a promoted attribute.",
  },
  wal: WAL_OPTION,
  ...TABLES_OPTIONS,
} as const satisfies OptionTable;

interface TableInfo {
  readonly ident: TableIdent;
  readonly schema: TableSchema;
  readonly files: readonly DataFile[];
  readonly health: TableHealth;
  readonly snapshots: number;
  /** Merges that it wants now, one for each day at most. */
  readonly merges: number;
  /**
   * Bytes of all files of its folder, by what they are for; data: also of those that only old
   * snapshots have.
   */
  readonly stored: { readonly data: number; readonly index: number; readonly metadata: number };
  /** When the last scrub began that verified all files; undefined: none did. */
  readonly scrubbedMs: number | undefined;
  /** Files that are known as damaged or missing. */
  readonly damaged: number;
  /** Bytes of WAL segments that wait for a drain. */
  readonly backlog: number;
  /** Segments of the WAL that were sealed and are gone, though no table has their rows. */
  readonly missing: readonly MissingSegment[];
  /** What of the WAL is damaged and was set aside. */
  readonly setAside: readonly SetAside[];
}

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    if (settings.levels && settings.columns) {
      throw new UsageError(
        "Cannot print both: give either --levels or --columns",
      );
    }
    await using tables = await openTables(settings);
    const walRoot = belowDataDir(settings, settings.wal);
    const { catalog } = warehousePaths(settings);
    await using kept = await openMaintenanceCatalog(catalog, { files: new DenoFileSystem() });
    const infos: TableInfo[] = [];
    for (const ident of tables.idents) {
      const info = await tableInfo({ ...tables.deps, scrubs: kept.scrubs }, walRoot, ident);
      if (info !== undefined) infos.push(info);
    }
    if (settings.levels) await printPlan(console, LEVEL_COLUMNS, infos.flatMap(levelsOf));
    else if (settings.columns) {
      await printPlan(console, COLUMN_COLUMNS, infos.flatMap(columnsOf));
    } else await printPlan(console, COLUMNS, infos.map(rowOf));
    for (const info of infos) for (const line of walFaultsOf(info)) await console.notes.write(line);
  },
});

async function tableInfo(
  deps: OrphanDeps & { readonly scrubs: Scrubs },
  walRoot: string,
  ident: TableIdent,
): Promise<TableInfo | undefined> {
  const plan = await lookForMerges(deps, ident);
  if (plan === undefined) return undefined;
  const { table, tasks, files } = plan;
  const stored = { data: 0, index: 0, metadata: 0 };
  for await (const { key, size } of deps.store.list(`${table.locationKey}/`)) {
    stored[purposeOf(key.slice(table.locationKey.length + 1))] += size;
  }
  const lane = { tenant: tenantOf(ident.namespace), index: ident.name };
  const local = new DenoFileSystem();
  const wal = openWalReader(local, walRoot);
  const waiting = await wal.list(lane, ["active", "sealed"]);
  const consumed = await deps.catalog.consumedOf(waiting.map(({ name }) => name));
  return {
    ident,
    schema: table.schema,
    files,
    health: tableHealth(files),
    snapshots: table.metadata.snapshots.length,
    merges: tasks.length,
    stored,
    scrubbedMs: (await deps.scrubs.passes()).get(table.locationKey)?.wholeMs,
    damaged: (await deps.scrubs.damaged(table.locationKey)).length,
    backlog: waiting.filter(({ name }) => !consumed.has(name))
      .reduce((sum, { byteLength }) => sum + byteLength, 0),
    missing: await missingSegments(local, walRoot, {
      lane,
      consumedOf: (names) => deps.catalog.consumedOf(names),
    }),
    setAside: await wal.setAside?.(lane) ?? [],
  };
}

function purposeOf(path: string): keyof TableInfo["stored"] {
  if (path.startsWith("data/")) return "data";
  return path.startsWith("derived/") ? "index" : "metadata";
}

const COLUMNS = [
  "table",
  "rows",
  "days",
  "files",
  "live bytes",
  "overlap",
  "merges due",
  "snapshots",
  "data bytes",
  "index bytes",
  "metadata bytes",
  "WAL bytes",
  "WAL faults",
  "scrubbed",
  "damaged files",
];

function rowOf(info: TableInfo) {
  const { ident, health, snapshots, merges, stored, backlog } = info;
  const { missing, setAside, scrubbedMs, damaged } = info;
  return [
    nameOf(ident),
    health.rows,
    health.days,
    health.files,
    health.bytes,
    health.overlapDepth,
    merges,
    snapshots,
    stored.data,
    stored.index,
    stored.metadata,
    backlog,
    missing.length + setAside.length,
    scrubbedMs === undefined ? "never" : new Date(scrubbedMs).toISOString(),
    damaged,
  ];
}

/** Rows that a table lacks: a line for each segment of the WAL that is gone or damaged. */
function walFaultsOf({ ident, missing, setAside }: TableInfo): string[] {
  const rowsOf = (rows: number | undefined) =>
    rows === undefined ? "an unknown number of rows" : counted(rows, "row");
  return [
    ...missing.map(({ name, rows }) =>
      `${nameOf(ident)}: WAL segment ${name} with ${rowsOf(rows)} is gone, and no table has them\n`
    ),
    ...setAside.map(({ name, kind, bytes, rows }) =>
      kind === "segment"
        ? `${nameOf(ident)}: WAL segment ${name} is set aside in poison/ (${bytes} bytes)\n`
        : `${nameOf(ident)}: WAL segment ${name} lacks ${
          rowsOf(rows)
        }: ${bytes} bytes are damaged\n`
    ),
  ];
}

const LEVEL_COLUMNS = ["table", "level", "files", "rows", "bytes"];

function levelsOf({ ident, health }: TableInfo) {
  return health.levels.map(({ level, files, rows, bytes }) => [
    nameOf(ident),
    level === "full" ? "full" : `${level} rows and more`,
    files,
    rows,
    bytes,
  ]);
}

const COLUMN_COLUMNS = ["table", "column", "type", "rows with a value", "holds"];

function columnsOf({ ident, schema, files }: TableInfo) {
  return schema.columns.map((column) => [
    nameOf(ident),
    column.name,
    column.type,
    files.reduce((sum, file) => sum + valuesIn(file, column), 0),
    holds(schema, column),
  ]);
}

/** A file that was written before the column was there has none. */
function valuesIn({ valueCounts, nullCounts }: DataFile, { id }: Column): number {
  return (valueCounts.get(id) ?? 0) - (nullCounts.get(id) ?? 0);
}

function holds({ promoted = [] }: TableSchema, { name }: Column): string {
  if (!promoted.includes(name)) return "";
  const attribute = `attribute ${attributeOf(name)}`;
  return isUnasked(name) ? `${attribute}, for its rows have it` : `${attribute}, promoted`;
}
