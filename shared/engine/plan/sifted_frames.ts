/** Reads the frames of a WAL segment that can hold wanted rows, where these are few. */

import { isOperatingError } from "../../base/errors.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import type { Column } from "../../schema/schema.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import type { FrameOutline, SegmentReader, WalFrame, WalReader } from "../../wal/types.ts";
import { mayHoldTrace, type TraceWords } from "../../wal/trace_filter.ts";
import type { CountedFrames } from "./counted_frames.ts";
import { learnSchema, type Segment } from "./delta_segment.ts";
import type { FrameSieve } from "./frame_sieve.ts";
import { meets } from "./plan.ts";

/** Frames are few when they have at most this share of a segment's rows. */
const FEW_SHARE = 1 / 4;
/** After so many rows it is clear that they are not few. */
const ROWS_TO_TELL = 4_096;
/** Bytes of messages that are few: the server's thread converts them. */
const FEW_BYTES_MAX = 4 * 1024 * 1024;

/** What tells the frames that hold wanted rows in a segment of such columns. */
export interface FrameTests {
  /** A text that these have; undefined: any frame can hold some. */
  readonly sieve: (columns: readonly Column[]) => FrameSieve | undefined;
  /** Traces of which each of the rows is; undefined: it may be of any. Absent: so it is. */
  readonly traces?: ((columns: readonly Column[]) => readonly TraceWords[] | undefined) | undefined;
}

/** Which frames are read. */
interface WantedFrames extends Required<FrameTests> {
  readonly range: TimeRange;
  /** Ends the search between two frames, with its reason. */
  readonly signal: AbortSignal | undefined;
}

/**
 * The frames of a segment that can hold wanted rows. Undefined: these are not few, or part of the
 * segment is damaged, so that whoever converts it tells of that. Errors: the WAL's, the signal's.
 */
export async function siftedFrames(
  wal: WalReader,
  segment: Segment,
  { range, sieve, signal }: Omit<WantedFrames, "traces">,
): Promise<readonly WalFrame[] | undefined> {
  const kept: WalFrame[] = [];
  let [rows, keptRows, keptBytes] = [0, 0, 0];
  const areMany = () => keptRows > FEW_SHARE * rows || keptBytes > FEW_BYTES_MAX;
  try {
    await using reader = await wal.open(segment.lane, segment.name);
    const mayHold = sieve(learnSchema(segment, reader));
    if (mayHold === undefined) return undefined;
    for await (const frame of reader.frames()) {
      signal?.throwIfAborted();
      rows += frame.rows;
      const isInRange = meets(range, frame.timestampNsMin, frame.timestampNsMax);
      if (!isInRange || !mayHold(frame.message)) continue;
      kept.push(frame);
      keptRows += frame.rows;
      keptBytes += frame.message.byteLength;
      if (rows >= ROWS_TO_TELL && areMany()) return undefined;
    }
  } catch (error) {
    if (!isOperatingError(error, "corrupt") && !isUnfinishedSegment(error)) throw error;
    return undefined;
  }
  return areMany() ? undefined : kept;
}

/** So many rows are few, whatever their share. */
const FEW_ROWS = 4_096;
/** To read a whole converted segment takes less than to convert more of its frames. */
const FEW_SHARE_CONVERTED = 1 / 32;

/**
 * The frames of a segment, of which `counted` tells, that can hold rows of the wanted traces.
 * `isConverted`: all its rows are in files that serve. Undefined and errors: as `siftedFrames`, and
 * where any row can be wanted.
 */
export async function framesOfTraces(
  wal: WalReader,
  segment: Segment,
  counted: Pick<CountedFrames, "frames" | "rows"> & { readonly isConverted: boolean },
  { range, sieve, traces, signal }: WantedFrames,
): Promise<readonly WalFrame[] | undefined> {
  const columns = segment.columns ?? [];
  const wanted = traces?.(columns);
  if (wanted === undefined) return undefined;
  const kept = counted.frames.filter((frame) =>
    meets(range, frame.timestampNsMin, frame.timestampNsMax) && mayHold(frame.traces, wanted)
  );
  const { rows, isConverted } = counted;
  const rowsMax = isConverted ? FEW_SHARE_CONVERTED * rows : Math.max(FEW_ROWS, FEW_SHARE * rows);
  if (totalRows(kept) > rowsMax) return undefined;
  if (kept.length === 0) return [];
  const has = sieve(columns);
  const read: WalFrame[] = [];
  let bytes = 0;
  try {
    await using reader = await wal.open(segment.lane, segment.name);
    for (const one of kept) {
      signal?.throwIfAborted();
      const frame = await frameAt(reader, one);
      if (frame === undefined) return undefined;
      if (has !== undefined && !has(frame.message)) continue;
      read.push(frame);
      bytes += frame.message.byteLength;
      if (bytes > FEW_BYTES_MAX) return undefined;
    }
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
    return undefined;
  }
  return read;
}

/** Undefined: no intact frame is there any more, as at the end of a segment that is written. */
async function frameAt(
  reader: SegmentReader,
  { offset, endOffset }: FrameOutline,
): Promise<WalFrame | undefined> {
  for await (const frame of reader.frames(offset, { endOffset })) {
    return frame.offset === offset ? frame : undefined;
  }
  return undefined;
}

function mayHold(filter: Uint8Array | undefined, traces: readonly TraceWords[]): boolean {
  return filter === undefined || traces.some((trace) => mayHoldTrace(filter, trace));
}
