/**
 * Writes many rows of the WAL as Parquet on a thread of its own: the server's thread goes on with
 * other statements, and reads the next segment meanwhile. Where there can be no thread, or where it
 * fails, the caller's does the work.
 *
 * Messages are given away: to copy half a gigabyte for a million rows is an eighth of the work.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import { TaskThread, ThreadUnavailable } from "../../os/task_thread.ts";
import { type DeltaContent, type DeltaRows, encodeDelta } from "./delta_file.ts";

const CATEGORY = ["svc", "engine"];
/** Writes rows of the WAL as Parquet, beside the caller. */
export interface DeltaEncoder extends Disposable {
  /**
   * Takes the memory of the messages; `again` reads the same rows once more. Errors: as
   * `encodeDelta`, and those of `again`.
   */
  encode(rows: DeltaRows, again: () => Promise<DeltaRows>): Promise<DeltaContent>;
}

/** An encoder whose thread starts with its first rows, and ends when it is disposed of. */
export function openDeltaEncoder(): DeltaEncoder {
  const thread = new TaskThread<DeltaRows, DeltaContent>(
    new URL("./delta_worker.ts", import.meta.url),
    { what: "converts rows of the WAL", category: CATEGORY },
  );
  return {
    async encode(rows, again) {
      if (!thread.isAvailable) return encodeDelta(rows);
      try {
        return await thread.run(rows, rows.messages.flatMap(ownBuffer));
      } catch (error) {
        if (!(error instanceof ThreadUnavailable)) {
          getLogger(CATEGORY).warn("a thread could not convert rows of the WAL: {error}", {
            error: messageOf(error),
          });
        }
        return encodeDelta(await again());
      }
    },
    [Symbol.dispose]: () => thread[Symbol.dispose](),
  };
}

/** The buffer of a message that has it to itself, but for what unpacking left unused. */
function ownBuffer({ buffer, byteLength }: Uint8Array): readonly ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength <= byteLength + 1 ? [buffer] : [];
}
