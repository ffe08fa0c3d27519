/** What a statement wants of the rows of a lane, and what serves it without a conversion. */

import type { Column } from "../../schema/schema.ts";
import type { CountedRows, TallyBy } from "./counted_by.ts";
import type { DeltaFile } from "./delta_file.ts";
import type { Segment, WantedPieces } from "./delta_segment.ts";
import type { NeededColumns } from "./left_out.ts";
import type { FrameTests } from "./sifted_frames.ts";

/** Which columns of rows are wanted. */
export interface DeltaColumns {
  /** Promoted columns that the statement reads: what is converted from now on has them. */
  readonly promoted: readonly Column[];
  /** What is converted for it may lack others; undefined: none. */
  readonly needed: NeededColumns | undefined;
}

/** Which rows of a lane's segments are wanted. */
export interface LaneRequest extends WantedPieces, DeltaColumns {
  /** Segments of an earlier epoch are left out. */
  readonly epoch: number;
  /** Segments to which nothing is appended any more. */
  readonly complete: ReadonlySet<string>;
  /**
   * What rows are counted by, where that is all that is wanted of segments that lie in `range`;
   * undefined: more is.
   */
  readonly countedBy: TallyBy | undefined;
  /** What tells frames with wanted rows; undefined: any frame can have some. */
  readonly frames: FrameTests | undefined;
  /** Ends the work between two segments, with its reason. */
  readonly signal: AbortSignal | undefined;
}

/** What stands for the wanted rows of a segment. */
export interface ServedRows {
  readonly counted: readonly CountedRows[];
  readonly files: readonly DeltaFile[];
}

/** The segments that a statement need not have converted. The files are its own. */
export type ServedSegments = Map<Segment, ServedRows>;
