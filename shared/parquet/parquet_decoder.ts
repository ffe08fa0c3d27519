/**
 * Reads Parquet beside the caller: on a thread of its own, so that what was read before is worked
 * on meanwhile. Where there can be no thread (`TaskThread`) the caller's does the work.
 *
 * Our own files are read by `reader/`, others by `parquet-wasm`, on another thread that starts with
 * the first of them.
 */

import { DAMAGED_FILE } from "../base/damaged_file.ts";
import { messageOf, OperatingError } from "../base/errors.ts";
import { rowsOfStream, type StreamRows } from "../columns/ipc_stream.ts";
import { TaskThread, type ThreadMemory, ThreadUnavailable } from "../os/task_thread.ts";
import { batchesOf, type PlacedRows, readOwnFile } from "./reader/own_file.ts";

export interface DecodeRequest {
  /** The whole file. */
  readonly file: Uint8Array;
  /** Positions in the file. */
  readonly rowGroups: readonly number[];
}

export interface OwnRequest extends DecodeRequest {
  /** Memory for the rows. */
  readonly spare?: ArrayBuffer;
}

/** Reads Parquet files, mostly on a thread of its own. */
export interface ParquetDecoder extends Disposable {
  /**
   * The rows of some row groups, with the file's own columns, in its order. Bytes in shared memory
   * are not copied on their way to the thread. Batches that are released lend their memory to
   * others. Errors: `corrupt`, naming `what`.
   */
  decode(request: DecodeRequest, what: string): Promise<StreamRows>;
}

/** A decoder whose thread starts with its first file and ends when it is disposed of. */
export function openParquetDecoder(memory?: ThreadMemory): ParquetDecoder {
  return new ThreadDecoder(memory);
}

/** The decoder of processes that cannot have a thread, and of tests. */
export const INLINE_PARQUET_DECODER: ParquetDecoder = {
  async decode({ file, rowGroups }, what) {
    try {
      const own = readOwnFile(file, rowGroups);
      if (own !== undefined) return batchesOf(own);
      // Loaded when it is needed: a process with a thread does not need a second copy of the
      // reader.
      const { decodeParquet } = await import("./decode_parquet.ts");
      return rowsOfStream(decodeParquet(file, rowGroups));
    } catch (error) {
      throw unreadable(what, error);
    }
  },
  [Symbol.dispose]() {},
};

/**
 * Buffers that are kept for the next rows: what a merge of files that do not overlap has in use,
 * and none of rows that are very large.
 */
const SPARES_MAX = 1;
const SPARE_BYTES_MAX = 64 * 1024 * 1024;

class ThreadDecoder implements ParquetDecoder {
  readonly #own: TaskThread<OwnRequest, PlacedRows | undefined>;
  readonly #others = new TaskThread<DecodeRequest, ArrayBuffer>(
    new URL("./decode_wasm_worker.ts", import.meta.url),
    { what: "reads Parquet of others", category: ["svc", "parquet"] },
  );
  readonly #spares: ArrayBuffer[] = [];

  constructor(memory: ThreadMemory | undefined) {
    this.#own = new TaskThread(new URL("./decode_worker.ts", import.meta.url), {
      what: "reads Parquet",
      category: ["svc", "parquet"],
      memory,
      onIdle: () => this.#spares.length = 0,
    });
  }

  async decode(request: DecodeRequest, what: string): Promise<StreamRows> {
    if (this.#own.isAvailable && this.#others.isAvailable) {
      try {
        return await this.#decodeOwn(request) ??
          rowsOfStream(new Uint8Array(await this.#others.run(request)));
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) throw unreadable(what, error);
      }
    }
    return await INLINE_PARQUET_DECODER.decode(request, what);
  }

  async #decodeOwn(request: DecodeRequest): Promise<StreamRows | undefined> {
    const spare = this.#spares.pop();
    const placed = spare === undefined
      ? await this.#own.run(request)
      : await this.#own.run({ ...request, spare }, [spare]);
    return placed && this.#lent(placed);
  }

  /** The rows; their memory is spare when each of their batches was released. */
  #lent(placed: PlacedRows): StreamRows {
    const { columns, batches } = batchesOf(placed);
    let held = batches.length;
    const lent = batches.map((batch) => {
      let isHeld = true;
      const release = () => {
        if (!isHeld) return;
        isHeld = false;
        held -= 1;
        if (held > 0 || this.#spares.length === SPARES_MAX) return;
        if (placed.buffer.byteLength <= SPARE_BYTES_MAX) this.#spares.push(placed.buffer);
      };
      return { ...batch, release };
    });
    return { columns, batches: lent };
  }

  [Symbol.dispose](): void {
    this.#own[Symbol.dispose]();
    this.#others[Symbol.dispose]();
  }
}

function unreadable(what: string, cause: unknown): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot read the rows of ${what}: ${messageOf(cause)}. Restore the file from a copy.`,
    { cause, reason: DAMAGED_FILE, details: { file: what } },
  );
}
