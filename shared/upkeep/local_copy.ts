/** An object as a file of this machine: where it is, or as a copy that is removed in the end. */

import { join } from "node:path";
import type { FileSystem } from "../os/file_system.ts";
import { type Random, uuidV4 } from "../os/random.ts";
import type { ReadableStore } from "../storage/object_store.ts";

export interface LocalCopyDeps {
  readonly store: Pick<ReadableStore, "get" | "localPath">;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Absolute path of a folder that is there. */
  readonly scratchDir: () => Promise<string>;
  readonly random: Random;
}

export class LocalCopy implements AsyncDisposable {
  private constructor(readonly path: string, private readonly remove: () => Promise<void>) {}

  /** Errors: the store's and the file system's. */
  static async of(
    { store, files, scratchDir, random }: LocalCopyDeps,
    key: string,
  ): Promise<LocalCopy> {
    const path = store.localPath(key);
    if (path !== undefined) return new LocalCopy(path, () => Promise.resolve());
    const copy = join(await scratchDir(), `${uuidV4(random)}.parquet`);
    const bytes = await store.get(key);
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
