/** Reads the frames of a WAL segment that can hold wanted rows, where these are few. */

import { isOperatingError } from "../../base/errors.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import type { Column } from "../../schema/schema.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import type { WalFrame, WalReader } from "../../wal/types.ts";
import { learnSchema, type Segment } from "./delta_segment.ts";
import type { FrameSieve } from "./frame_sieve.ts";
import { meets } from "./plan.ts";

/** Frames are few when they have at most this share of a segment's rows. */
const FEW_SHARE = 1 / 4;
/** After so many rows it is clear that they are not few. */
const ROWS_TO_TELL = 4_096;
/** Bytes of messages that are few: the server's thread converts them. */
const FEW_BYTES_MAX = 4 * 1024 * 1024;

/** Which frames of segments hold wanted rows. */
export interface WantedFrames {
  readonly range: TimeRange;
  /** What tells them in a segment of such columns; undefined: any frame can. */
  readonly sieve: (columns: readonly Column[]) => FrameSieve | undefined;
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
  { range, sieve, signal }: WantedFrames,
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
