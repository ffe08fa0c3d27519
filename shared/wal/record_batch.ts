/**
 * Batches of the WAL as Apache Arrow's own `RecordBatch` (`svc/wal/arrow`). It is a module of its
 * own, so that the package `apache-arrow` is loaded only where this is imported.
 */

import { type RecordBatch, tableFromIPC } from "apache-arrow";
import { present } from "../base/assert.ts";
import { concatBytes } from "../base/bytes.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { encodeColumns, encodeSchemaMessage, ipcStreamOf } from "../columns/ipc.ts";

/**
 * The rows of `batch`, which has at least one, with the columns of its schema: `timestamptz` as
 * `Timestamp<MICROSECOND>` in UTC, `long` as `Int64`, `string` as `Utf8`. The buffers are copied
 * once, so the result does not keep the segment's memory.
 *
 * ```ts
 * import { openWalConsumer } from "svc/wal";
 * import { recordBatchOf } from "svc/wal/arrow";
 *
 * const consumer = await openWalConsumer("data/wal", { consumerId: "arrow", stateDir: "cursors" });
 * for (const { name } of await consumer.poll()) {
 *   for await (const batch of consumer.batches(name)) {
 *     const { numRows, schema } = recordBatchOf(batch);
 *     console.log(`${numRows} rows of ${schema.names.join(", ")}`);
 *   }
 *   await consumer.commit(name);
 * }
 * ```
 */
export function recordBatchOf(batch: ColumnBatch): RecordBatch {
  const message = concatBytes(encodeColumns(batch).pieces);
  const { batches } = tableFromIPC(ipcStreamOf(encodeSchemaMessage(batch.schema), [message]));
  return present(batches[0], "the one batch of the stream");
}
