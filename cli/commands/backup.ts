/**
 * `svc backup`: adds a point of catalog, tables and WAL to a backup while everything runs. See
 * shared/backup/README.md.
 */

import { resolve } from "node:path";
import { formatBytes } from "../../shared/base/bytes.ts";
import { counted } from "../../shared/base/counted.ts";
import { UsageError } from "../../shared/base/errors.ts";
import { backUp, type BackupProgress, type BackupReport } from "../../shared/backup/back_up.ts";
import { openBackup } from "../../shared/backup/open_backup.ts";
import {
  openCatalogCopier,
  openMaintenanceCatalog,
} from "../../shared/catalog/open_catalog_parts.ts";
import { belowDataDir } from "../../shared/catalog/storage_places.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { WAL_OPTION } from "../../shared/config/process_options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openStoreReader } from "../../shared/storage/open_store.ts";
import { parseMirrorPrefix } from "../../shared/wal/mirror/mirror_layout.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { requireCatalog } from "../open_warehouse.ts";
import { printPlan } from "../plan_table.ts";
import { ProgressLine } from "../progress_line.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  to: {
    kind: "text",
    flag: "to",
    placeholder: "url",
    required: true,
    help: "Folder or s3://bucket/path of the backup, for this warehouse alone and outside of it.",
  },
  keepLast: {
    kind: "integer",
    flag: "keep-last",
    placeholder: "n",
    min: 1,
    max: 100_000,
    help: "Remove all points except the newest n, and the files that only they need. Without it " +
      "all points stay.",
  },
  quick: {
    kind: "switch",
    flag: "quick",
    help: "Compare files that the backup already has only by size, not by checksum.",
  },
  walMirrorPrefix: {
    kind: "text",
    flag: "wal-mirror-prefix",
    env: "SVC_WAL_MIRROR_PREFIX",
    placeholder: "prefix",
    emptyCounts: true,
    help: "Folder of the WAL's mirror in the warehouse, the same as for the ingest server.",
  },
  wal: WAL_OPTION,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const paths = warehousePaths(settings);
    const files = new DenoFileSystem();
    const deps = { files, clock: new SystemClock(), random: new SystemRandom(), env: environment };
    await requireCatalog(paths.catalog);
    const target = openBackup(settings.to, { ...deps, option: "--to" }, {
      verifies: !settings.quick,
    });
    const store = openStoreReader(paths.root, deps);
    const wal = belowDataDir(settings, settings.wal);
    refuseWithin(target.rootUri, [store.rootUri, `file://${resolve(wal)}`]);
    await using copier = await openCatalogCopier(paths.catalog, { files });
    await using kept = await openMaintenanceCatalog(paths.catalog, { files });
    const hasWarehouseUrl = settings.warehouseUrl !== undefined;
    const mirrorPrefix = parseMirrorPrefix(settings.walMirrorPrefix, { hasWarehouseUrl });
    const source = { ...deps, ...kept, store, copier, wal, mirrorPrefix };
    const line = console.notes.isTerminal ? new ProgressLine(console) : undefined;
    try {
      const report = await backUp(source, target, {
        ...(settings.keepLast === undefined ? {} : { keepLast: settings.keepLast }),
        onProgress: (progress) => void line?.show(progressParts(progress)),
      });
      await line?.clear();
      await tell(console, report);
    } finally {
      await line?.clear();
    }
  },
});

/** A backup within what it is of would hold itself. Errors: `invalid_argument`. */
function refuseWithin(target: string, sources: readonly string[]): void {
  for (const source of sources) {
    if (!`${target}/`.startsWith(`${source}/`) && !`${source}/`.startsWith(`${target}/`)) continue;
    throw new UsageError(
      `Cannot back up to ${target}: it lies within ${source}, which is backed up, or around it; give another place ` +
        "with --to",
    );
  }
}

function progressParts(progress: BackupProgress): string[] {
  const { tables, tablesDone, files, bytes, copiedFiles, copiedBytes, moments } = progress;
  return [
    `${tablesDone} of ${counted(tables, "table")}`,
    `${counted(files, "file")}, ${formatBytes(bytes)}`,
    `${counted(copiedFiles, "file")} copied, ${formatBytes(copiedBytes)}`,
    ...(moments > 1 ? [`moment ${moments}`] : []),
  ];
}

const COLUMNS = [
  "point",
  "moment",
  "tables",
  "files",
  "bytes",
  "copied files",
  "copied bytes",
  "WAL files",
  "mended",
];

async function tell(console: Console, report: BackupReport): Promise<void> {
  const { name, momentMs, tables, files, bytes, copiedFiles, copiedBytes, segments } = report;
  const moment = new Date(momentMs).toISOString();
  await printPlan(console, COLUMNS, [[
    ...[name, moment, tables, files, bytes, copiedFiles, copiedBytes, segments, report.damaged],
  ]]);
  const { points, objects, bytes: freed, unreadable } = report.pruned;
  if (points + objects > 0) {
    await console.notes.write(
      `removed ${counted(points, "older point")} and ${counted(objects, "object")}, ` +
        `${formatBytes(freed)}, that no point needs\n`,
    );
  }
  if (unreadable !== undefined) {
    await console.notes.write(
      `point ${unreadable} of the backup is damaged, so nobody knows which objects are needed and none was removed; ` +
        "remove its file, or keep fewer points\n",
    );
  }
}
