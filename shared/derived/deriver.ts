/**
 * Makes sidecars beside the caller: each part of what is derived on a thread of its own, while
 * another writes the data file. Where there can be no thread (`TaskThread`) the caller's does the
 * work.
 */

import { TaskThread, type ThreadMemory, ThreadUnavailable } from "../os/task_thread.ts";
import { derive, DERIVED_PARTS, type DerivedPart, derivePart } from "./derive.ts";
import { type SidecarSubject, writeSidecar } from "./sidecar.ts";
import type { SummaryLimits } from "./summary/build_summary.ts";
import type { Blob, FileRows } from "./types.ts";

export interface DeriveRequest {
  readonly part: DerivedPart;
  readonly file: FileRows;
  readonly limits: SummaryLimits;
}

/** Makes the derived data of data files, on threads of its own. */
export interface Deriver extends Disposable {
  /**
   * The bytes of the sidecar of `subject`, whose rows are `file`; they must stay as they are until
   * then. They get to a thread without a copy where they are in shared memory, as `ParquetInput`
   * has them. The subject may come later: a data file's name is known once the file is written.
   * Errors: also those of `subject`.
   */
  derive(file: FileRows, subject: SidecarSubject | Promise<SidecarSubject>): Promise<Uint8Array>;
}

export interface DeriverOptions {
  /**
   * Whether both parts are made at the same time, on a thread each. One after the other, on one
   * thread, they take half of the memory. Default true.
   */
  readonly isParallel?: boolean;
  readonly memory?: ThreadMemory;
}

/**
 * A deriver whose threads start with the first file that they have work of, and end when it is
 * disposed of.
 */
export function openDeriver(
  limits: SummaryLimits,
  options: DeriverOptions = {},
): Deriver {
  return new ThreadDeriver(limits, options);
}

/** For tests, and processes that cannot have a thread. */
export function inlineDeriver(limits: SummaryLimits = {}): Deriver {
  return {
    derive: async (file, subject) => writeSidecar(derive(file, limits), await subject),
    [Symbol.dispose]() {},
  };
}

export const INLINE_DERIVER: Deriver = inlineDeriver();

type DeriveThread = TaskThread<DeriveRequest, Blob[]>;

function deriveThread(part: DerivedPart, memory: ThreadMemory | undefined): DeriveThread {
  const module = new URL("./derive_worker.ts", import.meta.url);
  const category = ["svc", "derived"];
  return new TaskThread(module, { what: `derives ${part}`, category, memory });
}

class ThreadDeriver implements Deriver {
  readonly #threads: Readonly<Record<DerivedPart, DeriveThread>>;

  constructor(
    private readonly limits: SummaryLimits,
    { isParallel = true, memory }: DeriverOptions,
  ) {
    const words = deriveThread("words", memory);
    const values = isParallel ? deriveThread("values", memory) : words;
    this.#threads = { words, values };
  }

  async derive(
    file: FileRows,
    subject: SidecarSubject | Promise<SidecarSubject>,
  ): Promise<Uint8Array> {
    const sent = withoutFunctions(file);
    const parts = DERIVED_PARTS.map((part) => this.#part(part, sent));
    // Also if one fails the other reads the rows until it ends.
    await Promise.allSettled(parts);
    return writeSidecar((await Promise.all(parts)).flat(), await subject);
  }

  async #part(part: DerivedPart, file: FileRows): Promise<Blob[]> {
    const { limits } = this;
    const thread = this.#threads[part];
    // Where nothing is indexed, no thread starts for the words.
    const isEmpty = part === "words" && file.text === undefined;
    if (!isEmpty && thread.isAvailable) {
      try {
        return await thread.run({ part, file, limits });
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) throw error;
      }
    }
    return derivePart(part, file, limits);
  }

  [Symbol.dispose](): void {
    for (const thread of Object.values(this.#threads)) thread[Symbol.dispose]();
  }
}

/**
 * What can be sent to a thread: columns in shared memory as they are, of others a copy of each
 * buffer.
 */
function withoutFunctions(file: FileRows): FileRows {
  const batches = file.batches.map(({ schema, rows, columns }) => ({ schema, rows, columns }));
  return { ...file, batches };
}
