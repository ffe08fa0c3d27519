/**
 * `svc restore`: makes a warehouse, its catalog and its WAL of a point of a backup, in an empty
 * place. See shared/backup/README.md.
 */

import { formatBytes } from "../../shared/base/bytes.ts";
import { counted } from "../../shared/base/counted.ts";
import type { BackupTarget } from "../../shared/backup/backup_target.ts";
import { openBackup } from "../../shared/backup/open_backup.ts";
import {
  restoreBackup,
  type RestoreProgress,
  type RestoreReport,
} from "../../shared/backup/restore.ts";
import { isPostgresUri } from "../../shared/catalog/catalog_uri.ts";
import { openCatalog } from "../../shared/catalog/open_catalog.ts";
import { openCatalogCopier } from "../../shared/catalog/open_catalog_parts.ts";
import { catalogPlace } from "../../shared/catalog/postgres_pool.ts";
import { belowDataDir } from "../../shared/catalog/storage_places.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { WAL_OPTION } from "../../shared/config/process_options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openStore } from "../../shared/storage/open_store.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { printPlan } from "../plan_table.ts";
import { ProgressLine } from "../progress_line.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  from: {
    kind: "text",
    flag: "from",
    placeholder: "url",
    required: true,
    help: "Folder or s3://bucket/path of the backup.",
  },
  point: {
    kind: "text",
    flag: "point",
    placeholder: "name",
    help: "The point to restore; the newest when absent.",
  },
  list: {
    kind: "switch",
    flag: "list",
    help: "Print the points of the backup; nothing is restored.",
  },
  wal: WAL_OPTION,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const files = new DenoFileSystem();
    const deps = { files, clock: new SystemClock(), random: new SystemRandom(), env: environment };
    const target = openBackup(settings.from, { ...deps, option: "--from" });
    if (settings.list) return await listPoints(target, console);
    const { root, catalog } = warehousePaths(settings);
    const place = {
      ...deps,
      store: openStore(root, deps).store,
      openCatalog: () => openCatalog(catalog, { files }),
      openCopier: () => openCatalogCopier(catalog, { files }),
      hasCatalog: async () => isPostgresUri(catalog) || await files.exists(catalog),
      catalogName: catalogPlace(catalog),
      wal: belowDataDir(settings, settings.wal),
    };
    const line = console.notes.isTerminal ? new ProgressLine(console) : undefined;
    try {
      const report = await restoreBackup(target, place, {
        ...(settings.point === undefined ? {} : { point: settings.point }),
        onProgress: (progress) => void line?.show(progressParts(progress)),
      });
      await line?.clear();
      return await tell(console, report);
    } finally {
      await line?.clear();
    }
  },
});

async function listPoints(target: BackupTarget, console: Console): Promise<void> {
  const rows = [];
  for (const name of await target.points()) {
    const { momentMs, rootUri, files, segments } = await target.point(name);
    const bytes = [...files, ...segments].reduce((sum, one) => sum + one.bytes, 0);
    const moment = new Date(momentMs).toISOString();
    rows.push([name, moment, rootUri, files.length + segments.length, bytes]);
  }
  await printPlan(console, ["point", "moment", "warehouse", "files", "bytes"], rows);
  if (rows.length === 0) await console.notes.write(`${target.rootUri} has no point of a backup\n`);
}

function progressParts({ files, filesDone, bytesDone }: RestoreProgress): string[] {
  return [`${filesDone} of ${counted(files, "file")}`, formatBytes(bytesDone)];
}

const COLUMNS = [
  "point",
  "moment",
  "tables",
  "files",
  "bytes",
  "WAL segments",
  "WAL rows",
  "relocated tables",
];

/** 1 when a part of a segment could not be read. */
async function tell(console: Console, report: RestoreReport): Promise<number> {
  const { name, momentMs, tables, filesDone, bytesDone, wal, relocated, waiting } = report;
  const moment = new Date(momentMs).toISOString();
  await printPlan(console, COLUMNS, [
    [name, moment, tables, filesDone, bytesDone, wal.segments, wal.rows, relocated],
  ]);
  if (waiting.length > 0) {
    await console.notes.write(
      `${counted(waiting.length, "table")} with delete files of another engine: ${
        waiting.join(", ")
      }; ` +
        "the compactor applies them; run svc relocate --apply some minutes later, before other " +
        "engines read\n",
    );
  }
  if (wal.damaged.length === 0) return 0;
  await console.notes.write(
    `damaged when the WAL was backed up: ${counted(wal.damaged.length, "segment")}, ${
      wal.damaged.join(", ")
    }; their intact rows are restored, the originals are under poison/, or sealed/ where the mirror has a copy\n`,
  );
  return 1;
}
