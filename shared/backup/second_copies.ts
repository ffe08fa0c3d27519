/** A backup as the second copy of a warehouse's files: what a scrub repairs by. */

import { isOperatingError } from "../base/errors.ts";
import type { SecondCopies } from "../upkeep/scrub_table.ts";
import type { BackupTarget } from "./backup_target.ts";
import type { StoredSum } from "./point.ts";

/** Copies of all points, the newest first; each sum once. */
export class BackupCopies implements SecondCopies {
  readonly #target: BackupTarget;
  #copies: Promise<ReadonlyMap<string, readonly StoredSum[]>> | undefined;

  constructor(target: BackupTarget) {
    this.#target = target;
  }

  async *copiesOf(key: string): AsyncIterable<Uint8Array> {
    this.#copies ??= this.#list();
    for (const stored of (await this.#copies).get(key) ?? []) {
      try {
        yield await this.#target.get(stored);
      } catch (error) {
        // Damaged or gone itself: an older one may not be.
        if (!isOperatingError(error, "corrupt") && !isOperatingError(error, "not_found")) {
          throw error;
        }
      }
    }
  }

  async #list(): Promise<ReadonlyMap<string, readonly StoredSum[]>> {
    const copies = new Map<string, StoredSum[]>();
    for (const name of (await this.#target.points()).reverse()) {
      let point;
      try {
        point = await this.#target.point(name);
      } catch (error) {
        if (isOperatingError(error, "corrupt")) continue;
        throw error;
      }
      for (const { key, sum, bytes } of point.files) {
        const known = copies.get(key) ?? [];
        if (!known.some((one) => one.sum === sum)) known.push({ sum, bytes });
        copies.set(key, known);
      }
    }
    return copies;
  }
}
