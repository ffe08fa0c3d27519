/**
 * An Arrow stream of an answer as a Parquet file, while it is made: on a thread of its own, which
 * holds one row group. Types are Arrow's; the writer is `parquet-wasm`.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import { TaskThread } from "../os/task_thread.ts";

/** What the thread is asked: it answers with the bytes of the file that are ready. */
export interface ArrowParquetRequest {
  readonly step: "schema" | "batch" | "end";
  /** A message of an Arrow IPC stream; none with `end`. */
  readonly message: Uint8Array<ArrayBuffer>;
}

const NONE = new Uint8Array();
/** Each has a thread and some 60 MiB. */
const FILES_AT_ONCE_MAX = 2;
const RETRY_AFTER_SECS = 5;

let filesAtOnce = 0;

/** One file. Disposing it ends its thread. */
export class ArrowParquet implements Disposable {
  readonly #thread: TaskThread<ArrowParquetRequest, ArrayBuffer>;
  #isOver = false;

  /** Errors: `rate_limited` when others are being written. */
  constructor() {
    if (filesAtOnce >= FILES_AT_ONCE_MAX) {
      throw new OperatingError(
        "rate_limited",
        `Cannot write a Parquet file now: ${filesAtOnce} are being written; ask again`,
        { reason: "parquet_busy", retryAfterSecs: RETRY_AFTER_SECS },
      );
    }
    filesAtOnce += 1;
    this.#thread = new TaskThread(new URL("./arrow_parquet_worker.ts", import.meta.url), {
      what: "writes Parquet answers",
      category: ["svc", "parquet"],
      // It holds the file. Rows may be long in coming, and their reader slow.
      idleMsMax: Infinity,
    });
  }

  /** The file begins with the schema message. Errors: those of all steps are `internal`. */
  schema(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return this.#ask({ step: "schema", message });
  }

  /** Adds rows; returns the bytes of the file that are ready. */
  batch(message: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    return this.#ask({ step: "batch", message });
  }

  /** The rest of the file. */
  end(): Promise<Uint8Array<ArrayBuffer>> {
    return this.#ask({ step: "end", message: NONE });
  }

  [Symbol.dispose](): void {
    if (this.#isOver) return;
    this.#isOver = true;
    filesAtOnce -= 1;
    this.#thread[Symbol.dispose]();
  }

  async #ask(request: ArrowParquetRequest): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return new Uint8Array(await this.#thread.run(request));
    } catch (cause) {
      throw new OperatingError("internal", `Cannot write a Parquet file: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
}
