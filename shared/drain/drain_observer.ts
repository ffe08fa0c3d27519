/**
 * What a drain tells metrics and logs: one call for each thing that happened. Calls must not throw.
 */

import type { LaneId } from "../tenant/tenant.ts";
import type { FrameDamage, MissingSegment } from "../wal/types.ts";

export interface CommitReport {
  readonly segments: number;
  readonly rows: number;
  /** Data files added. */
  readonly files: number;
  readonly fileBytes: number;
  /** From the first read to the commit. */
  readonly secs: number;
  /** How often the metadata was staged again because another commit came first. */
  readonly retries: number;
}

/** Parts of a lane's turn, in their order. */
export const DRAIN_STEPS = ["look", "claim", "stage", "commit", "mark", "sweep"] as const;
export type DrainStep = typeof DRAIN_STEPS[number];

/** A lane of which no turn has ended well for a while. */
export interface LaneStall {
  /** Unix milliseconds of the beginning of the first such turn. */
  readonly sinceMs: number;
  /** Where the last one hangs or failed. */
  readonly step: DrainStep;
  /** `wordOfStall`. */
  readonly why: string;
}

export interface LaneLag {
  readonly segments: number;
  readonly bytes: number;
  /** When the oldest waiting segment was last written; undefined when none waits. */
  readonly oldestMs: number | undefined;
}

/** Who is called for what a drain does. */
export interface DrainObserver {
  committed?(lane: LaneId, report: CommitReport): void;
  /** Another drain committed the same segments first; this one's files were removed. */
  overtaken?(lane: LaneId): void;
  /** The catalog no longer had these segments as consumed, and was told again. */
  forgotten?(lane: LaneId, segments: readonly string[]): void;
  poisoned?(lane: LaneId, segment: string, error: unknown): void;
  /** Rows of a segment were committed without these bytes of it, which were set aside. */
  damaged?(lane: LaneId, segment: string, damage: readonly FrameDamage[]): void;
  /** Frames of a damaged segment were read from the mirror's copy of it. */
  mended?(lane: LaneId, segment: string, frames: number): void;
  /** Sealed segments that are gone and were not drained: all there are, asked at each sweep. */
  missing?(lane: LaneId, segments: readonly MissingSegment[]): void;
  /** Such a segment was brought back from the mirror. */
  restored?(lane: LaneId, segment: string): void;
  /** A segment whose claims failed or ran out too often was set aside in the catalog. */
  quarantined?(lane: LaneId, segment: string): void;
  /** How many segments the catalog holds in quarantine, asked at times. */
  inQuarantine?(segments: number): void;
  /** This drain was stopped for longer than its lease; its files were removed. */
  claimLost?(lane: LaneId): void;
  /** Segments whose table was dropped after they were written. */
  discarded?(lane: LaneId, segments: number): void;
  /** The lane's table got columns of these names for attributes of its rows; never none. */
  columnsAdded?(lane: LaneId, columns: readonly string[]): void;
  failed?(lane: LaneId, error: unknown): void;
  /** After each turn that failed, or exceeded its deadline; undefined: one has ended well again. */
  stalled?(lane: LaneId, stall: LaneStall | undefined): void;
  swept?(lane: LaneId, segments: number): void;
  /** Objects of the mirror were removed that were of a machine that is gone. */
  reclaimed?(objects: number): void;
  /** After each look at a lane, before its commit. */
  lag?(lane: LaneId, lag: LaneLag): void;
  /** All lanes that there are, by name, at each listing. */
  lanes?(names: ReadonlySet<string>): void;
}

/** One observer that tells several, in their order. */
export function combineObservers(...observers: readonly DrainObserver[]): Required<DrainObserver> {
  const each = (tell: (observer: DrainObserver) => void) => observers.forEach(tell);
  return {
    committed: (lane, report) => each((observer) => observer.committed?.(lane, report)),
    overtaken: (lane) => each((observer) => observer.overtaken?.(lane)),
    forgotten: (lane, segments) => each((observer) => observer.forgotten?.(lane, segments)),
    poisoned: (lane, segment, error) =>
      each((observer) => observer.poisoned?.(lane, segment, error)),
    damaged: (lane, segment, damage) =>
      each((observer) => observer.damaged?.(lane, segment, damage)),
    mended: (lane, segment, frames) => each((observer) => observer.mended?.(lane, segment, frames)),
    missing: (lane, segments) => each((observer) => observer.missing?.(lane, segments)),
    restored: (lane, segment) => each((observer) => observer.restored?.(lane, segment)),
    quarantined: (lane, segment) => each((observer) => observer.quarantined?.(lane, segment)),
    inQuarantine: (segments) => each((observer) => observer.inQuarantine?.(segments)),
    claimLost: (lane) => each((observer) => observer.claimLost?.(lane)),
    discarded: (lane, segments) => each((observer) => observer.discarded?.(lane, segments)),
    columnsAdded: (lane, columns) => each((observer) => observer.columnsAdded?.(lane, columns)),
    failed: (lane, error) => each((observer) => observer.failed?.(lane, error)),
    stalled: (lane, stall) => each((observer) => observer.stalled?.(lane, stall)),
    swept: (lane, segments) => each((observer) => observer.swept?.(lane, segments)),
    reclaimed: (objects) => each((observer) => observer.reclaimed?.(objects)),
    lag: (lane, lag) => each((observer) => observer.lag?.(lane, lag)),
    lanes: (names) => each((observer) => observer.lanes?.(names)),
  };
}
