/**
 * What maintenance tells metrics and logs: one call for each thing that happened. Calls must not
 * throw.
 */

import type { TableIdent } from "../tenant/tenant.ts";
import type { AppliedDeletes } from "./apply_deletes.ts";
import type { MergeReport } from "./merge.ts";
import type { RetentionReport } from "./retention.ts";
import type { ScrubbedFile } from "./scrub_table.ts";
import type { TableHealth } from "./table_health.ts";

/**
 * Why files went: `replaced`: no snapshot has them any more; `orphan`: none ever had; `dropped`:
 * their table is gone.
 */
export type RemovalKind = "replaced" | "orphan" | "dropped";

/** Sidecars that were made anew, or could not be. */
export interface MendedSidecars {
  /** Their summaries were missing or damaged. */
  readonly rebuilt: number;
  /** Only their indexes were missing. */
  readonly indexed: number;
  readonly failed: number;
}

/** Who is called for what maintenance does. */
export interface MaintenanceObserver {
  merged?(ident: TableIdent, report: MergeReport): void;
  expired?(ident: TableIdent, snapshots: number): void;
  removed?(kind: RemovalKind, files: number): void;
  /** Rows that delete files of another engine had deleted are out of the data files. */
  applied?(ident: TableIdent, report: AppliedDeletes): void;
  retained?(ident: TableIdent, report: RetentionReport): void;
  mended?(ident: TableIdent, sidecars: MendedSidecars): void;
  /**
   * Sums of the summaries of a day's files were made, and those that newer ones stand for removed.
   */
  rolledUp?(ident: TableIdent, rollups: { readonly made: number; readonly removed: number }): void;
  /** A stored file was verified. */
  verified?(ident: TableIdent, file: ScrubbedFile): void;
  /**
   * How many files of a table are known as damaged, and since when its last whole scrub has begun;
   * undefined: none is whole yet.
   */
  scrubbed?(
    ident: TableIdent,
    state: { readonly damaged: number; readonly ageSecs: number | undefined },
  ): void;
  /** A sweep of a table failed; it is tried again later and later. */
  failed?(ident: TableIdent, sweep: string, error: unknown): void;
  /**
   * After each turn of a sweep that failed or exceeded its deadline; undefined: one has ended well
   * again. `sinceMs`: Unix milliseconds of the beginning of the first such turn. `why`:
   * `wordOfStall`.
   */
  stalled?(
    ident: TableIdent,
    sweep: string,
    stall: { readonly sinceMs: number; readonly why: string } | undefined,
  ): void;
  /** Merges wait, as rows in the WAL wait for a drain. */
  throttled?(): void;
  /** The tables that there are: told again and again, so that those that are gone are forgotten. */
  listed?(idents: readonly TableIdent[]): void;
  /** After each look at a table that changed. */
  looked?(
    ident: TableIdent,
    table: { health: TableHealth; snapshots: number; tasks: number },
  ): void;
}

/** One observer that tells several, in their order. */
export function combineMaintenance(
  ...observers: readonly MaintenanceObserver[]
): Required<MaintenanceObserver> {
  const each = (tell: (observer: MaintenanceObserver) => void) => observers.forEach(tell);
  return {
    merged: (ident, report) => each((observer) => observer.merged?.(ident, report)),
    expired: (ident, snapshots) => each((observer) => observer.expired?.(ident, snapshots)),
    removed: (kind, files) => each((observer) => observer.removed?.(kind, files)),
    applied: (ident, report) => each((observer) => observer.applied?.(ident, report)),
    retained: (ident, report) => each((observer) => observer.retained?.(ident, report)),
    mended: (ident, sidecars) => each((observer) => observer.mended?.(ident, sidecars)),
    rolledUp: (ident, rollups) => each((observer) => observer.rolledUp?.(ident, rollups)),
    verified: (ident, file) => each((observer) => observer.verified?.(ident, file)),
    scrubbed: (ident, state) => each((observer) => observer.scrubbed?.(ident, state)),
    failed: (ident, sweep, error) => each((observer) => observer.failed?.(ident, sweep, error)),
    stalled: (ident, sweep, stall) => each((observer) => observer.stalled?.(ident, sweep, stall)),
    throttled: () => each((observer) => observer.throttled?.()),
    listed: (idents) => each((observer) => observer.listed?.(idents)),
    looked: (ident, table) => each((observer) => observer.looked?.(ident, table)),
  };
}
