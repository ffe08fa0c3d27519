/**
 * Reads Parquet beside the caller: on a thread of its own, so that what was read before is worked on meanwhile. Where
 * there can be no thread (`TaskThread`) the caller's does the work.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import { rowsOfStream, type StreamRows } from "../columns/ipc_stream.ts";
import { TaskThread, ThreadUnavailable } from "../os/task_thread.ts";

export interface DecodeRequest {
  /** The whole file. */
  readonly file: Uint8Array;
  /** Positions in the file. */
  readonly rowGroups: readonly number[];
}

export interface ParquetDecoder extends Disposable {
  /**
   * The rows of some row groups, with the file's own columns, in its order. Bytes in shared memory
   * are not copied on their way to the thread. Errors: `corrupt`, naming `what`.
   */
  decode(request: DecodeRequest, what: string): Promise<StreamRows>;
}

/** A decoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetDecoder(): ParquetDecoder {
  return new ThreadDecoder();
}

/** The decoder of processes that cannot have a thread, and of tests. */
export const INLINE_PARQUET_DECODER: ParquetDecoder = {
  async decode({ file, rowGroups }, what) {
    // Loaded when it is needed: whoever has a thread does not need a second copy of the reader.
    const { decodeParquet } = await import("./decode_parquet.ts");
    try {
      return rowsOfStream(decodeParquet(file, rowGroups));
    } catch (error) {
      throw unreadable(what, error);
    }
  },
  [Symbol.dispose]() {},
};

class ThreadDecoder implements ParquetDecoder {
  readonly #thread = new TaskThread<DecodeRequest, ArrayBuffer>(
    new URL("./decode_worker.ts", import.meta.url),
    { what: "reads Parquet", category: ["svc", "parquet"] },
  );

  async decode(request: DecodeRequest, what: string): Promise<StreamRows> {
    if (this.#thread.isAvailable) {
      try {
        return rowsOfStream(new Uint8Array(await this.#thread.run(request)));
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) throw unreadable(what, error);
      }
    }
    return await INLINE_PARQUET_DECODER.decode(request, what);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

function unreadable(what: string, cause: unknown): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot read the rows of ${what}: ${messageOf(cause)}. Restore the file from a copy.`,
    { cause },
  );
}
