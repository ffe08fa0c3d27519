/**
 * Arrow streams of any types as Parquet files that are soon thrown away. The writer is
 * `parquet-wasm`, on a thread of its own which starts with the first file.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import { TaskThread } from "../os/task_thread.ts";

/** Writes one file after the other. Disposing it ends its thread. */
export class ArrowFiles implements Disposable {
  readonly #thread = new TaskThread<ArrowFileRequest, ArrayBuffer>(
    new URL("./arrow_file_worker.ts", import.meta.url),
    { what: "writes rows of other servers", category: ["svc", "parquet"] },
  );

  /**
   * The file with the rows of a whole stream. WASM memory never shrinks, so callers bound a stream.
   * Errors: `internal`; `unavailable` where there can be no thread.
   */
  async write(stream: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
    if (!this.#thread.isAvailable) {
      throw new OperatingError(
        "unavailable",
        "Cannot take rows of other servers: there is no thread to write them; " +
          "grant read permission on the source tree",
      );
    }
    try {
      return new Uint8Array(await this.#thread.run({ stream }, [stream.buffer]));
    } catch (cause) {
      throw new OperatingError(
        "internal",
        `Cannot write rows of other servers: ${messageOf(cause)}`,
        { cause },
      );
    }
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

/** What the thread is asked. */
export interface ArrowFileRequest {
  readonly stream: Uint8Array<ArrayBuffer>;
}
