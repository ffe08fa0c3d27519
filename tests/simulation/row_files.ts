/** Numbers of rows in data files and in messages of the WAL, each read once. */

import { decodeBatch, decodeSchemaMessage } from "../../shared/columns/ipc.ts";
import { rowsOf } from "../../shared/columns/rows.ts";
import { numbersOfFile } from "../../shared/testing/delete_lab.ts";
import type { ReadableStore } from "../../shared/storage/object_store.ts";
import type { WalFrame } from "../../shared/wal/types.ts";

export class RowFiles {
  readonly #files = new Map<string, readonly number[]>();
  readonly #frames = new Map<string, readonly number[]>();

  constructor(readonly store: Pick<ReadableStore, "get">) {}

  /** In the order of the file. Errors: the store's; `corrupt`. */
  async numbersOf(key: string): Promise<readonly number[]> {
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    const numbers = await numbersOfFile(this.store, key);
    this.#files.set(key, numbers);
    return numbers;
  }

  /** Rows of a frame, whose checksum its reader has looked at. */
  numbersOfFrame(segment: string, frame: WalFrame, schemaMessage: Uint8Array): readonly number[] {
    // After a crash another frame may lie there: the length and the times tell them apart.
    const { offset, endOffset, timestampNsMin, timestampNsMax } = frame;
    const name = `${segment} ${offset} ${endOffset} ${timestampNsMin} ${timestampNsMax}`;
    let numbers = this.#frames.get(name);
    if (numbers === undefined) {
      const columns = decodeSchemaMessage(schemaMessage);
      const batch = decodeBatch(frame.message, { columns, tags: [] });
      numbers = rowsOf(batch).map(({ raw }) => Number(raw));
      this.#frames.set(name, numbers);
    }
    return numbers;
  }
}
