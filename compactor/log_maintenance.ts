/**
 * What maintenance reports, as log lines. Failures are logged by the loop, which knows when it
 * tries again.
 */

import { getLogger } from "@logtape/logtape";
import { counted } from "../shared/base/counted.ts";
import type { TableIdent } from "../shared/tenant/tenant.ts";
import type { MaintenanceObserver } from "../shared/upkeep/maintenance_observer.ts";

/** An observer that logs what maintenance does. */
export function logMaintenance(): MaintenanceObserver {
  const log = getLogger(["svc", "maintenance"]);
  return {
    merged: (ident, { outcome, task, rows, filesWritten, secs, retries }) =>
      log.debug("{outcome} {files} files of table {table} into {filesWritten}", {
        outcome,
        table: nameOf(ident),
        reason: task.reason,
        day: task.day,
        files: task.files.length,
        filesWritten,
        rows,
        secs: secs.toFixed(3),
        retries,
      }),
    expired: (ident, snapshots) =>
      log.debug("expired {snapshots} snapshots of table {table}", {
        snapshots,
        table: nameOf(ident),
      }),
    removed: (kind, files) => log.info("removed {kind} files: {files}", { kind, files }),
    mended: (ident, sidecars) =>
      log.info(
        "sidecars of table {table} made anew: {rebuilt} without a usable summary, {indexed} without an index; {failed} failed",
        { table: nameOf(ident), ...sidecars },
      ),
    rolledUp: (ident, rollups) =>
      log.debug("made sums of summaries of {made} days of table {table}, removed {removed}", {
        table: nameOf(ident),
        ...rollups,
      }),
    applied: (ident, { files, rows }) =>
      log.info(
        "another engine's deletes applied to table {table}: {rows} of {files}",
        { table: nameOf(ident), rows: counted(rows, "row"), files: counted(files, "file") },
      ),
    retained: (ident, { outcome, files, cut, rows }) =>
      log.info("retention of table {table}: {outcome} {rows} with {files}, {cut} cut", {
        table: nameOf(ident),
        outcome,
        files: counted(files, "file"),
        cut,
        rows: counted(rows, "row"),
      }),
  };
}

function nameOf({ namespace, name }: TableIdent): string {
  return `${namespace}.${name}`;
}
