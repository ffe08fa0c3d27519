/** What `WalDelta` knows of a segment of the WAL. */

import { decodeSchemaMessage, epochOfSchemaMessage } from "../../columns/ipc.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import { ATTRIBUTES } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import type { SegmentOutline, SegmentReader } from "../../wal/types.ts";
import { nearestUnits, type OrderedRequest, unitTimes } from "../order/nearest_units.ts";
import { FrameCount } from "./counted_frames.ts";
import type { DeltaFile } from "./delta_file.ts";
import { lacks, type NeededColumns } from "./left_out.ts";
import type { LostRows } from "./lost_rows.ts";
import { meets } from "./plan.ts";

/** About what a segment has whose rows are not on record. */
const SEGMENT_ROWS = 4_096;

/** Files of one piece. A statement that none of them serves has all columns converted. */
const FILES_MAX = 4;

/** Rows of a segment that were converted: those of its frames between two offsets. */
export interface DeltaPiece extends Pick<DeltaFile, "rows" | "timestampNsMin" | "timestampNsMax"> {
  readonly offset: number;
  readonly endOffset: number;
  /** All these rows, with other columns in each. */
  readonly files: DeltaFile[];
  /** How many of the rows could be read the last time. Where it is none, no file follows. */
  readable: number;
}

/** A segment, its files, and what is known of it. */
export interface Segment {
  readonly lane: LaneId;
  readonly name: string;
  columns: readonly Column[] | undefined;
  /** Epoch of its rows: `TableSchema.epoch`. */
  epoch: number;
  /** What it held when it was sealed; undefined: not known, or not looked at yet. */
  outline: SegmentOutline | undefined;
  /** In the order of their offsets. */
  pieces: DeltaPiece[];
  /** What of it cannot be read. */
  lost: LostRows | undefined;
  /** Offset where the next frame starts; undefined is the first. */
  nextOffset: number | undefined;
  /** Whether nothing will be appended any more, and all of it was converted. */
  isConverted: boolean;
  leases: number;
  running: Promise<void> | undefined;
  readonly count: FrameCount;
  /** Memory of `count`, as it was noted. */
  countedBytes: number;
  /** Whether it was looked at since it was sealed. */
  isLookedAt: boolean;
  /** How often its frames were searched in place of being converted. */
  siftings: number;
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
    isConverted: false,
    leases: 0,
    running: undefined,
    count: new FrameCount(),
    countedBytes: 0,
    isLookedAt: false,
    siftings: 0,
  };
}

/** Notes the columns and the epoch of a segment that was opened, and returns the columns. */
export function learnSchema(
  segment: Segment,
  { schemaMessage }: Pick<SegmentReader, "schemaMessage">,
): readonly Column[] {
  segment.epoch = epochOfSchemaMessage(schemaMessage);
  return segment.columns ??= decodeSchemaMessage(schemaMessage);
}

/** Whether rows of a segment count in an epoch, as far as that is known. */
export function mayCount(
  { columns, epoch: own }: Pick<Segment, "columns" | "epoch">,
  epoch: number,
): boolean {
  return columns === undefined || own >= epoch;
}

/** Whether a segment may be left to others than a conversion, which tells of what is damaged. */
export function isIntact(segment: Segment, epoch: number): boolean {
  return segment.lost === undefined && mayCount(segment, epoch);
}

/** Whether rows of a segment lie in a range, as far as that is known. */
export function mayLieIn({ outline }: Pick<Segment, "outline">, range: TimeRange): boolean {
  return outline === undefined || meets(range, outline.timestampNsMin, outline.timestampNsMax);
}

/** What a statement wants of the rows of segments. */
export interface WantedPieces {
  readonly range: TimeRange;
  /** Which rows in `range` count; undefined: all of them. Other rows may be missing. */
  readonly nearest: OrderedRequest | undefined;
  /** The columns it can need; undefined: all. */
  readonly needed: NeededColumns | undefined;
}

/** Segments that are known to hold rows that are wanted, and are not all converted yet. */
export function unconverted(
  segments: readonly Segment[],
  { range, nearest, needed }: WantedPieces,
): Segment[] {
  const units = segments.flatMap((segment) => {
    const { outline, isConverted, pieces } = segment;
    const held = isConverted || outline === undefined ? pieces : [outline];
    return held.filter((one) => meets(range, one.timestampNsMin, one.timestampNsMax))
      .map((one) => ({ segment, rows: one.rows, ...unitTimes(one) }));
  });
  const wanted = nearest === undefined ? units : [...nearestUnits(units, range, nearest)];
  return wanted.map(({ segment }) => segment).filter((segment) =>
    segment.outline !== undefined &&
    (!segment.isConverted || lackingPieces(segment, { range, needed }).length > 0)
  );
}

/** Pieces with wanted rows of which no file has all columns that are needed. */
export function lackingPieces(
  { pieces }: Pick<Segment, "pieces">,
  { range, needed }: Pick<WantedPieces, "range" | "needed">,
): DeltaPiece[] {
  return pieces.filter((piece) =>
    piece.readable > 0 && meets(range, piece.timestampNsMin, piece.timestampNsMax) &&
    servingFile(piece, needed) === undefined
  );
}

/**
 * Files of a segment with wanted rows. A piece that lacks a needed column holds no row that counts,
 * or came after the statement asked.
 */
export function filesOf(
  { pieces }: Pick<Segment, "pieces">,
  { range, needed }: Pick<WantedPieces, "range" | "needed">,
): DeltaFile[] {
  return pieces.filter((piece) => meets(range, piece.timestampNsMin, piece.timestampNsMax))
    .flatMap((piece) => servingFile(piece, needed) ?? []);
}

/** The file of a piece that has the columns that are needed. */
function servingFile(
  { files }: Pick<DeltaPiece, "files">,
  needed: NeededColumns | undefined,
): DeltaFile | undefined {
  return files.find((file) => !lacks(file, needed));
}

/**
 * The columns of one more file of a piece. With `attributes`, where one was asked that no column
 * held: the next statement may ask for another. Undefined: all.
 */
export function neededOfNext(
  { files }: Pick<DeltaPiece, "files">,
  needed: NeededColumns | undefined,
  columns: readonly Column[],
): NeededColumns | undefined {
  if (needed === undefined || files.length >= FILES_MAX - 1) return undefined;
  const { holders } = needed;
  const attributes = columns.filter(({ name }) => holders.length > 0 && name === ATTRIBUTES);
  return { ...needed, ids: new Set([...needed.ids, ...attributes.map(({ id }) => id)]) };
}

/** Rows of segments, about. */
export function sumOfRows(segments: readonly Segment[]): number {
  return segments.reduce((sum, { outline }) => sum + (outline?.rows ?? SEGMENT_ROWS), 0);
}
