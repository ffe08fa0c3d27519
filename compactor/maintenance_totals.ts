/** Adds up what maintenance reports: for the summary of `--once`. */

import type { MaintenanceObserver } from "../shared/upkeep/maintenance_observer.ts";

export interface MaintenanceTotals {
  /** Data files that were merged, and into how many. */
  readonly merged: { readonly files: number; readonly into: number };
  /** Data files that retention took out. */
  readonly retained: number;
  /** Snapshots. */
  readonly expired: number;
  /** Files of any kind that nothing needed. */
  readonly removed: number;
}

/** Totals that grow with what `observer` hears. */
export function countTotals(): {
  readonly totals: MaintenanceTotals;
  readonly observer: MaintenanceObserver;
} {
  const merged = { files: 0, into: 0 };
  const totals = { merged, retained: 0, expired: 0, removed: 0 };
  return {
    totals,
    observer: {
      merged(_, { outcome, task, filesWritten }) {
        if (outcome !== "merged") return;
        merged.files += task.files.length;
        merged.into += filesWritten;
      },
      retained: (_, { outcome, files }) =>
        void (totals.retained += outcome === "dropped" ? files : 0),
      expired: (_, snapshots) => void (totals.expired += snapshots),
      removed: (_, files) => void (totals.removed += files),
    },
  };
}
