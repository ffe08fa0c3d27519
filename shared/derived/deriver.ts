/**
 * Makes sidecars beside the caller: each part of what is derived on a thread of its own, while
 * another writes the data file. Where there can be no thread (`TaskThread`) the caller's does the
 * work.
 */

import { messageOf, OperatingError } from "../base/errors.ts";
import { type RunsTasks, TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import {
  deriveBlobs,
  type DerivedPart,
  derivePart,
  type DeriveRequest,
  withoutColumns,
} from "./derive.ts";
import { type SidecarSubject, writeSidecar } from "./sidecar.ts";
import type { SummaryLimits } from "./summary/build_summary.ts";
import type { Derived, FileRows } from "./types.ts";

/** Makes the derived data of data files, on threads of its own. */
export interface Deriver extends Disposable {
  /**
   * What is derived of the words of `file`, before the data file is written: it gets columns of it.
   * The rows must stay as they are until then, here and below. They get to a thread without a copy
   * where they are in shared memory, as `ParquetInput` has them.
   */
  words(file: FileRows): Promise<Derived>;
  /**
   * The bytes of the sidecar of `subject`, whose rows are `file`. The subject may come later: a
   * data file's name is known once the file is written. `words` are those of the file, where it has
   * the columns. Without them it is there already, and has none. Errors: `internal` when
   * a thread fails or takes too long; those of both promises.
   */
  derive(
    file: FileRows,
    subject: SidecarSubject | Promise<SidecarSubject>,
    words?: Promise<Derived>,
  ): Promise<Uint8Array>;
}

export interface DeriverOptions {
  /**
   * A thread for both parts, one after the other, which take half of the memory so. Default: they
   * are made at the same time, on a thread each.
   */
  readonly thread?: DeriveThread;
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
    words: (file) => Promise.try(() => derivePart("words", file, limits)),
    derive: async (file, subject, words) =>
      writeSidecar(
        words === undefined
          ? deriveBlobs(file, limits)
          : [...(await words).blobs, ...derivePart("values", file, limits).blobs],
        await subject,
      ),
    [Symbol.dispose]() {},
  };
}

export const INLINE_DERIVER: Deriver = inlineDeriver();

/** What a deriver needs of a thread. */
export type DeriveThread = RunsTasks<DeriveRequest, Derived>;

function deriveThread(part: DerivedPart): DeriveThread {
  const module = new URL("./derive_worker.ts", import.meta.url);
  return new TaskThread(module, { what: `derives ${part}`, category: ["svc", "derived"] });
}

class ThreadDeriver implements Deriver {
  readonly #threads: Readonly<Record<DerivedPart, DeriveThread>>;

  constructor(
    private readonly limits: SummaryLimits,
    { thread }: DeriverOptions,
  ) {
    const words = thread ?? deriveThread("words");
    const values = thread ?? deriveThread("values");
    this.#threads = { words, values };
  }

  words(file: FileRows): Promise<Derived> {
    return this.#part("words", withoutFunctions(file));
  }

  async derive(
    file: FileRows,
    subject: SidecarSubject | Promise<SidecarSubject>,
    words?: Promise<Derived>,
  ): Promise<Uint8Array> {
    const sent = withoutFunctions(file);
    const parts = [
      words?.then(({ blobs }) => blobs) ?? this.#part("words", sent).then(withoutColumns),
      this.#part("values", sent).then(({ blobs }) => blobs),
    ];
    // Also if one fails the other reads the rows until it ends.
    await Promise.allSettled(parts);
    return writeSidecar((await Promise.all(parts)).flat(), await subject);
  }

  async #part(part: DerivedPart, file: FileRows): Promise<Derived> {
    const { limits } = this;
    const thread = this.#threads[part];
    // Where nothing is indexed, no thread starts for the words.
    const isEmpty = part === "words" && file.text === undefined;
    if (!isEmpty && thread.isAvailable) {
      try {
        return await thread.run({ part, file, limits });
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) {
          throw new OperatingError(
            "internal",
            `Cannot derive the ${part} of a data file: ${messageOf(error)}`,
            { cause: error },
          );
        }
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
