/**
 * Which segments of a lane to commit now: a pure decision over what was listed.
 *
 * Commits are gated so that a trickle makes few snapshots. One event a second seals a segment every
 * few seconds, and the age gate of ten seconds turns those into at most six commits a minute.
 * Queries do not wait for a commit, they read the WAL as well. Who wants the commit itself asks for
 * it (`commit=force`).
 */

import type { SegmentInfo } from "../wal/types.ts";

const MIB = 1024 * 1024;

/** When a lane's sealed segments become a commit, and how much one commit takes. */
export interface DrainGate {
  /** Commit when this many bytes of rows wait. */
  readonly targetBytes: number;
  /** Commit when the oldest waiting segment was last written this long ago. */
  readonly ageMsMax: number;
  /**
   * Bytes of rows that one commit takes at most (always one segment); the rest waits for the next.
   */
  readonly commitBytesMax: number;
}

/** `SVC_COMMIT_BATCH_TARGET_MB` is 32: docs/api/command_line.md#options-of-the-servers. */
export const DRAIN_GATE_DEFAULT: DrainGate = {
  targetBytes: 32 * MIB,
  ageMsMax: 10_000,
  commitBytesMax: 256 * MIB,
};

/** Commits whatever there is. */
export const DRAIN_GATE_OPEN: DrainGate = { ...DRAIN_GATE_DEFAULT, targetBytes: 0, ageMsMax: 0 };

/** A segment, and how many bytes its rows come to: those of its messages, not of its file. */
export interface WaitingSegment extends Pick<SegmentInfo, "name" | "modifiedMs"> {
  readonly messageBytes: number;
}

/** What is known of a lane when its drain is planned. */
export interface LaneState {
  /** Oldest first. */
  readonly sealed: readonly WaitingSegment[];
  /**
   * Which of them the catalog holds already: an earlier drain ended between its commit and the
   * move.
   */
  readonly consumed: ReadonlySet<string>;
  readonly nowMs: number;
  /** Someone waits for the commit. */
  readonly requested: boolean;
}

/** What a drain does with a lane's segments. */
export interface DrainPlan {
  /** Segments to move to `committed` without reading them. */
  readonly mark: readonly string[];
  /** Segments to write into the table in one commit, oldest first; empty: nothing to do yet. */
  readonly commit: readonly string[];
  /** Bytes of rows of `commit`, at most. */
  readonly commitBytes: number;
  /** Whether further segments wait that pass the gate. */
  readonly more: boolean;
}

/** What to do with a lane now: which segments to commit, to move, or to leave. Pure. */
export function planDrain(state: LaneState, gate: DrainGate): DrainPlan {
  const names = state.sealed.map((segment) => segment.name);
  const mark = names.filter((name) => state.consumed.has(name));
  const waiting = state.sealed.filter((segment) => !state.consumed.has(segment.name));
  if (!state.requested && !passes(gate, waiting, state.nowMs)) {
    return { mark, commit: [], commitBytes: 0, more: false };
  }
  let bytes = 0;
  let taken = 0;
  for (const segment of waiting) {
    if (taken > 0 && bytes + segment.messageBytes > gate.commitBytesMax) break;
    bytes += segment.messageBytes;
    taken += 1;
  }
  const rest = waiting.slice(taken);
  return {
    mark,
    commit: waiting.slice(0, taken).map((segment) => segment.name),
    commitBytes: bytes,
    more: rest.length > 0 && (state.requested || passes(gate, rest, state.nowMs)),
  };
}

function passes(gate: DrainGate, waiting: readonly WaitingSegment[], nowMs: number): boolean {
  const oldest = waiting[0];
  if (oldest === undefined) return false;
  // A clock that stepped back makes the age negative; such a segment must not wait for the clock.
  const age = Math.abs(nowMs - oldest.modifiedMs);
  return bytesOf(waiting) >= gate.targetBytes || age >= gate.ageMsMax;
}

function bytesOf(segments: readonly WaitingSegment[]): number {
  return segments.reduce((sum, segment) => sum + segment.messageBytes, 0);
}
