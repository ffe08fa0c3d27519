/**
 * The consumer library as others import it (`svc/wal`): a WAL is opened by its path, and its
 * segments are read as decoded batches. README.md says what a consumer must do to miss nothing.
 *
 * Needs permission to read the WAL and the state folder, and to write the state folder and
 * `<wal>/<tenant>/<index>/consumers`.
 */

import { OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { decodeBatch, decodeSchemaMessage } from "../columns/ipc.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { type Consumer, openConsumer } from "./consumer.ts";
import { lockPath } from "./layout.ts";

export { isOperatingError, OperatingError } from "../base/errors.ts";
export { type ColumnValue, type RowObject, rowsOf } from "../columns/rows.ts";
export type { ColumnBatch, ColumnData } from "../columns/batch.ts";
export type { Column, ColumnType, TableSchema } from "../schema/schema.ts";
export type { LaneId } from "../tenant/tenant.ts";
export type { Consumer } from "./consumer.ts";
export type { SegmentInfo, SegmentReader, WalFrame } from "./types.ts";

export interface WalConsumerOptions {
  /** Letters, digits, `.`, `_`, `-`; one process at a time may use it. */
  readonly consumerId: string;
  /** Folder of the cursor; created when it is not there. */
  readonly stateDir: string;
  /** Tenant and index to read. Default: `events` of the tenant `default`. */
  readonly lane?: LaneId;
}

export interface WalConsumer extends Consumer {
  /**
   * The rows of a polled segment, a batch for each frame, in the order in which they were appended.
   * Each batch has its segment's schema. One batch is in memory at a time; `rowsOf` makes objects
   * of it, `recordBatchOf` of `svc/wal/arrow` a `RecordBatch`. Errors: those of `read`, while the
   * segment is read.
   */
  batches(name: string): AsyncIterable<ColumnBatch>;
}

/**
 * Opens or continues a consumer of the WAL at `path`, which is `<data-dir>/wal` of an ingest
 * server. Errors: `not_found` when there is no WAL, `invalid_argument` for an id or a lane that is
 * no file name, `corrupt` when the consumer's cursor cannot be read.
 *
 * ```ts
 * import { openWalConsumer, rowsOf } from "svc/wal";
 *
 * const consumer = await openWalConsumer("data/wal", { consumerId: "mine", stateDir: "cursors" });
 * for (const { name } of await consumer.poll()) {
 *   for await (const batch of consumer.batches(name)) {
 *     for (const { timestamp, source, raw } of rowsOf(batch)) console.log(timestamp, source, raw);
 *   }
 *   await consumer.commit(name);
 * }
 * ```
 */
export async function openWalConsumer(
  path: string,
  options: WalConsumerOptions,
): Promise<WalConsumer> {
  const fs = new DenoFileSystem();
  if (!await fs.exists(lockPath(path))) {
    throw new OperatingError(
      "not_found",
      `cannot open the WAL at ${JSON.stringify(path)}: it has no file LOCK; name the folder wal ` +
        `in the data directory of an ingest server that has been started`,
    );
  }
  const consumer = await openConsumer({ ...options, fs, clock: new SystemClock(), walDir: path });
  return {
    get position() {
      return consumer.position;
    },
    poll: () => consumer.poll(),
    read: (name) => consumer.read(name),
    commit: (name) => consumer.commit(name),
    withdraw: () => consumer.withdraw(),
    batches: (name) => batchesOf(consumer, name),
  };
}

async function* batchesOf(consumer: Consumer, name: string): AsyncGenerator<ColumnBatch> {
  await using segment = await consumer.read(name);
  const schema = { columns: decodeSchemaMessage(segment.schemaMessage), tags: [] };
  for await (const { message } of segment.frames()) yield decodeBatch(message, schema);
}
