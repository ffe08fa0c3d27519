/**
 * Makes sidecars beside the caller: on a thread of its own, while another writes the data file. Where there can be no
 * thread (`TaskThread`) the caller's does the work.
 */

import type { ColumnData } from "../columns/batch.ts";
import { TaskThread, ThreadUnavailable } from "../os/task_thread.ts";
import { columnsToDerive, derive } from "./derive.ts";
import { type SidecarSubject, writeSidecar } from "./sidecar.ts";
import type { FileRows } from "./types.ts";

export interface DeriveRequest {
  readonly file: FileRows;
  readonly subject: SidecarSubject;
}

export interface Deriver extends Disposable {
  /** The bytes of the sidecar of `subject`, whose rows are `file`; they must stay as they are until then. */
  derive(file: FileRows, subject: SidecarSubject): Promise<Uint8Array>;
}

/** A deriver whose thread starts with its first file and ends when it is disposed of. */
export function openDeriver(): Deriver {
  return new ThreadDeriver();
}

/** For tests, and processes that cannot have a thread. */
export const INLINE_DERIVER: Deriver = {
  derive: (file, subject) => Promise.resolve(writeSidecar(derive(file), subject)),
  [Symbol.dispose]() {},
};

class ThreadDeriver implements Deriver {
  readonly #thread = new TaskThread<DeriveRequest, ArrayBuffer>(
    new URL("./derive_worker.ts", import.meta.url),
    { what: "derives", category: ["svc", "derived"] },
  );

  async derive(file: FileRows, subject: SidecarSubject): Promise<Uint8Array> {
    if (this.#thread.isAvailable) {
      try {
        return new Uint8Array(await this.#thread.run({ file: toSend(file), subject }));
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) throw error;
      }
    }
    return await INLINE_DERIVER.derive(file, subject);
  }

  [Symbol.dispose](): void {
    this.#thread[Symbol.dispose]();
  }
}

const NOT_SENT: ColumnData = {
  validity: null,
  nullCount: 0,
  offsets: null,
  values: new Uint8Array(0),
};

/**
 * What the thread needs of a file. Its columns are copied on the way, each with the whole buffer that it is a view of:
 * where only some are looked into, these go as copies of their own, since copying all took three times the deriving.
 */
function toSend(file: FileRows): FileRows {
  const read = new Set(columnsToDerive(file));
  const all = read.size === file.schema.columns.length;
  const batches = file.batches.map(({ schema, rows, columns }) => ({
    schema,
    rows,
    columns: all ? columns : columns.map((data, at) => {
      const column = file.schema.columns[at];
      return column !== undefined && read.has(column) ? ownCopy(data) : NOT_SENT;
    }),
  }));
  return { ...file, batches };
}

function ownCopy({ validity, nullCount, offsets, values }: ColumnData): ColumnData {
  return {
    validity: validity?.slice() ?? null,
    nullCount,
    offsets: offsets?.slice() ?? null,
    values: values.slice(),
  };
}
