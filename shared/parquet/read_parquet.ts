/**
 * Rows of a Parquet file in memory, a row group at a time, so that of its rows no more than that are held decoded.
 *
 * For files whose columns have field ids and types that a table of ours can have: those that this service wrote.
 */

import * as wasm from "parquet-wasm";
import { messageOf, OperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { rowsOfStream } from "../columns/ipc_stream.ts";
import { ROW_GROUP_ROWS } from "./row_groups.ts";

/** Batches with the file's own columns, in the order of its rows; `name` is for messages. Errors: `corrupt`. */
export async function* readParquet(
  bytes: Uint8Array<ArrayBuffer>,
  name: string,
): AsyncGenerator<ColumnBatch> {
  const file = await orCorrupt(name, () => wasm.ParquetFile.fromFile(new Blob([bytes])));
  try {
    const groups = file.metadata().numRowGroups();
    for (let group = 0; group < groups; group += 1) {
      const stream = await orCorrupt(name, async () => {
        const table = await file.read({ rowGroups: [group], batchSize: ROW_GROUP_ROWS });
        return table.intoIPCStream();
      });
      yield* rowsOfStream(stream).batches;
    }
  } finally {
    file.free();
  }
}

async function orCorrupt<T>(name: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    throw new OperatingError("corrupt", `Cannot read the rows of ${name}: ${messageOf(cause)}`, {
      cause,
    });
  }
}
