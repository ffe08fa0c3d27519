/** The frames of a segment that a conversion reads, whatever of the segment is damaged. */

import { isOperatingError, messageOf } from "../../base/errors.ts";
import { isUnfinishedSegment } from "../../wal/reader.ts";
import type { FrameDamage, WalFrame, WalReader } from "../../wal/types.ts";
import { type DeltaPiece, learnSchema, type Segment } from "./delta_segment.ts";
import type { LostRows } from "./lost_rows.ts";

/** Called for each part of a segment that cannot be read, with why. */
export type TellLost = (lost: Pick<LostRows, "bytes" | "rows">, error: string) => void;

/**
 * Returns what was appended since the last time, as far as it is intact. Errors: the WAL's, but not
 * that a segment is damaged.
 */
export async function appendedFrames(
  wal: Pick<WalReader, "open">,
  segment: Segment,
  tellLost: TellLost,
): Promise<WalFrame[]> {
  const frames: WalFrame[] = [];
  try {
    await using reader = await wal.open(segment.lane, segment.name);
    learnSchema(segment, reader);
    const onDamage = ({ offset, endOffset, rows }: FrameDamage) =>
      tellLost({ bytes: endOffset - offset, rows }, `at offset ${offset}`);
    for await (const frame of reader.frames(segment.nextOffset, { onDamage })) frames.push(frame);
  } catch (error) {
    if (isUnfinishedSegment(error)) return [];
    if (!isOperatingError(error, "corrupt")) throw error;
    tellLost({ bytes: 0, rows: undefined }, messageOf(error));
  }
  return frames;
}

/**
 * Returns frames that were read before, as far as they are still intact. Errors: the WAL's, but not
 * that the segment is damaged.
 */
export async function framesBetween(
  wal: Pick<WalReader, "open">,
  segment: Pick<Segment, "lane" | "name">,
  { offset, endOffset }: Pick<DeltaPiece, "offset" | "endOffset">,
): Promise<WalFrame[]> {
  const frames: WalFrame[] = [];
  try {
    await using reader = await wal.open(segment.lane, segment.name);
    for await (const frame of reader.frames(offset, { onDamage: () => {}, endOffset })) {
      if (frame.offset < endOffset) frames.push(frame);
      if (frame.endOffset >= endOffset) break;
    }
  } catch (error) {
    if (!isOperatingError(error, "corrupt")) throw error;
  }
  return frames;
}
