/**
 * A sample of the rows that a drain commits, in which their attributes are counted: the first rows
 * of segments at even distances. The same segments give the same sample.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import { decodeBatch, decodeSchemaMessage } from "../columns/ipc.ts";
import { sliceRows } from "../columns/gather.ts";
import { narrowed } from "../columns/rows.ts";
import { ATTRIBUTES } from "../schema/promoted.ts";
import { isOperatingError } from "../base/errors.ts";
import { type AttributeCounts, countAttributes } from "../tables/count_attributes.ts";
import type { LaneId } from "../tenant/tenant.ts";
import type { WalReader } from "../wal/types.ts";

const SEGMENTS_MAX = 8;
/**
 * Rows of a segment. A batch may have hundreds of thousands. Each drain of a table with room for
 * columns counts a sample, and what an attribute of 5 % has in a thousand rows is near enough.
 */
const SEGMENT_ROWS = 128;

/**
 * The attributes of some rows of `names`. A segment that cannot be read is left out: whoever reads
 * its rows finds the same, and knows what to do.
 */
export async function sampleAttributes(
  wal: WalReader,
  lane: LaneId,
  names: readonly string[],
): Promise<AttributeCounts> {
  const step = Math.max(1, names.length / SEGMENTS_MAX);
  const batches: ColumnBatch[] = [];
  for (let at = 0; at < names.length; at += step) {
    try {
      batches.push(...await firstRows(wal, lane, names[Math.floor(at)] as string));
    } catch (error) {
      if (!isOperatingError(error)) throw error;
    }
  }
  return countAttributes(batches);
}

async function firstRows(wal: WalReader, lane: LaneId, name: string): Promise<ColumnBatch[]> {
  await using segment = await wal.open(lane, name);
  const schema = { columns: decodeSchemaMessage(segment.schemaMessage), tags: [] };
  const batches: ColumnBatch[] = [];
  let rows = 0;
  for await (const { message } of segment.frames()) {
    const batch = narrowed(decodeBatch(message, schema), [ATTRIBUTES]);
    const taken = Math.min(batch.rows, SEGMENT_ROWS - rows);
    // A copy, so that the message may go.
    batches.push(sliceRows(batch, 0, taken));
    rows += taken;
    if (rows === SEGMENT_ROWS) break;
  }
  return batches;
}
