/** What `WalDelta` knows of a segment of the WAL. */

import type { TimeRange } from "../../iceberg/types.ts";
import type { Column } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import type { SegmentOutline } from "../../wal/types.ts";
import { nearestUnits, type OrderedRequest, unitTimes } from "../order/nearest_units.ts";
import { FrameCount } from "./counted_frames.ts";
import type { DeltaFile } from "./delta_file.ts";
import type { LostRows } from "./lost_rows.ts";
import { meets } from "./plan.ts";

/** About what a segment has whose rows are not on record. */
const SEGMENT_ROWS = 4_096;

/** A segment, its files, and what is known of it. */
export interface Segment {
  readonly lane: LaneId;
  readonly name: string;
  columns: readonly Column[] | undefined;
  /** Epoch of its rows: `TableSchema.epoch`. */
  epoch: number;
  /** What it held when it was sealed; undefined: not known, or not looked at yet. */
  outline: SegmentOutline | undefined;
  pieces: DeltaFile[];
  /** What of it cannot be read. */
  lost: LostRows | undefined;
  /** Offset where the next frame starts; undefined is the first. */
  nextOffset: number | undefined;
  /** Whether nothing will be appended any more, and all of it was converted. */
  complete: boolean;
  leases: number;
  running: Promise<void> | undefined;
  readonly count: FrameCount;
  /** Whether it was looked at since it was sealed. */
  looked: boolean;
}

/** A segment that was not looked at yet. */
export function newSegment(lane: LaneId, name: string): Segment {
  return {
    lane,
    name,
    columns: undefined,
    epoch: 0,
    outline: undefined,
    pieces: [],
    lost: undefined,
    nextOffset: undefined,
    complete: false,
    leases: 0,
    running: undefined,
    count: new FrameCount(),
    looked: false,
  };
}

/** Segments that are known to hold rows that are wanted, and are not converted yet. */
export function unconverted(
  segments: readonly Segment[],
  range: TimeRange,
  nearest: OrderedRequest | undefined,
): Segment[] {
  const units = segments.flatMap((segment) => {
    const { outline, complete, pieces } = segment;
    const held = complete || outline === undefined ? pieces : [outline];
    return held.filter((one) => meets(range, one.timestampNsMin, one.timestampNsMax))
      .map((one) => ({ segment, rows: one.rows, ...unitTimes(one) }));
  });
  const wanted = nearest === undefined ? units : [...nearestUnits(units, range, nearest)];
  return wanted.map(({ segment }) => segment).filter(({ outline, complete }) =>
    outline !== undefined && !complete
  );
}

/** Rows of segments, about. */
export function sumOfRows(segments: readonly Segment[]): number {
  return segments.reduce((sum, { outline }) => sum + (outline?.rows ?? SEGMENT_ROWS), 0);
}
