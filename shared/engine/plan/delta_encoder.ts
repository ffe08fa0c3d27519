/**
 * Writes many rows of the WAL as Parquet on a thread of its own: the server's thread goes on with
 * other statements, and reads the next segment meanwhile. Where there can be no thread, or where it
 * fails, the caller's does the work.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import { TaskThread, ThreadUnavailable } from "../../os/task_thread.ts";
import { type DeltaContent, type DeltaRows, encodeDelta } from "./delta_file.ts";

const CATEGORY = ["svc", "engine"];
/** It is for a start with a backlog, and its heap is tens of MiB. */
const IDLE_MS_MAX = 10_000;

/** Writes rows of the WAL as Parquet, beside the caller. */
export interface DeltaEncoder extends Disposable {
  /** Errors: as `encodeDelta`. */
  encode(rows: DeltaRows): Promise<DeltaContent>;
}

/** An encoder whose thread starts with its first rows, and ends when it is disposed of. */
export function openDeltaEncoder(): DeltaEncoder {
  const thread = new TaskThread<DeltaRows, DeltaContent>(
    new URL("./delta_worker.ts", import.meta.url),
    { what: "converts rows of the WAL", category: CATEGORY, idleMsMax: IDLE_MS_MAX },
  );
  return {
    async encode(rows) {
      try {
        return await thread.run(rows);
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) {
          getLogger(CATEGORY).warn("a thread could not convert rows of the WAL: {error}", {
            error: messageOf(error),
          });
        }
        return encodeDelta(rows);
      }
    },
    [Symbol.dispose]: () => thread[Symbol.dispose](),
  };
}
