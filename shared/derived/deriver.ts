/**
 * Makes sidecars beside the caller: on a thread of its own, while another writes the data file. Where there can be no
 * thread (`TaskThread`) the caller's does the work.
 */

import { TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import { derive } from "./derive.ts";
import { type SidecarSubject, writeSidecar } from "./sidecar.ts";
import type { SummaryLimits } from "./summary/build_summary.ts";
import type { FileRows } from "./types.ts";

export interface DeriveRequest {
  readonly file: FileRows;
  readonly subject: SidecarSubject;
  readonly limits: SummaryLimits;
}

export interface Deriver extends Disposable {
  /**
   * The bytes of the sidecar of `subject`, whose rows are `file`; they must stay as they are until then. They get to a
   * thread without a copy where they are in shared memory, as `ParquetInput` has them.
   */
  derive(file: FileRows, subject: SidecarSubject): Promise<Uint8Array>;
}

/** A deriver whose thread starts with its first file and ends when it is disposed of. */
export function openDeriver(limits: SummaryLimits = {}): Deriver {
  return new ThreadDeriver(limits);
}

/** For tests, and processes that cannot have a thread. */
export function inlineDeriver(limits: SummaryLimits = {}): Deriver {
  return {
    derive: (file, subject) => Promise.resolve(writeSidecar(derive(file, limits), subject)),
    [Symbol.dispose]() {},
  };
}

export const INLINE_DERIVER: Deriver = inlineDeriver();

class ThreadDeriver implements Deriver {
  readonly #thread = new TaskThread<DeriveRequest, ArrayBuffer>(
    new URL("./derive_worker.ts", import.meta.url),
    { what: "derives", category: ["svc", "derived"] },
  );

  constructor(private readonly limits: SummaryLimits) {}

  async derive(file: FileRows, subject: SidecarSubject): Promise<Uint8Array> {
    const { limits } = this;
    if (this.#thread.isAvailable) {
      try {
        return new Uint8Array(
          await this.#thread.run({ file: withoutFunctions(file), subject, limits }),
        );
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) throw error;
      }
    }
    return await inlineDeriver(limits).derive(file, subject);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

/** What can be sent to a thread: columns in shared memory as they are, of others a copy of each buffer. */
function withoutFunctions(file: FileRows): FileRows {
  const batches = file.batches.map(({ schema, rows, columns }) => ({ schema, rows, columns }));
  return { ...file, batches };
}
