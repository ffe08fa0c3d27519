/**
 * A data file as a file of this machine: where it is, or as a copy that is removed in the end. All
 * of its bytes are held against their sums before anything reads it.
 */

import { join } from "node:path";
import type { FileSystem } from "../os/file_system.ts";
import type { DataFile } from "../iceberg/types.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import { parseFooter } from "../parquet/footer.ts";
import { checkFile } from "../parquet/summed_places.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import { requireIntact } from "../tables/verify_file.ts";

export interface LocalCopyDeps {
  readonly store: Pick<ReadableStore, "get" | "getRange" | "head" | "localPath">;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Absolute path of a folder that is there. */
  readonly scratchDir: () => Promise<string>;
  readonly random: Random;
}

export class LocalCopy implements AsyncDisposable {
  private constructor(readonly path: string, private readonly remove: () => Promise<void>) {}

  /** Errors: `damaged_file`; the store's and the file system's. */
  static async of(
    { store, files, scratchDir, random }: LocalCopyDeps,
    { key, rows }: Pick<DataFile, "key" | "rows">,
  ): Promise<LocalCopy> {
    const path = store.localPath(key);
    if (path !== undefined) {
      await requireIntact(store, { key, rows });
      return new LocalCopy(path, () => Promise.resolve());
    }
    const copy = join(await scratchDir(), `${uuidV4(random)}.parquet`);
    const bytes = await store.get(key);
    checkFile(bytes, { key, footer: parseFooter(bytes, key) });
    const file = await files.create(copy);
    try {
      await file.write(bytes);
    } catch (error) {
      await files.remove(copy).catch(() => {});
      throw error;
    } finally {
      file.close();
    }
    return new LocalCopy(copy, () => files.remove(copy));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.remove();
  }
}
