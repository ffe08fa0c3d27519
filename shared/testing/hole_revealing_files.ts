/**
 * The machine's files, but a hole shows: where a file is extended it holds 0xAA instead of zeros.
 * Its modification time never changes, so that a reader which keeps what it read of a hole goes on
 * believing it after the hole is filled.
 */

import { DenoFileSystem } from "../os/deno_file_system.ts";
import type { File } from "../os/file_system.ts";

export const HOLE_BYTE = 0xaa;
const MODIFIED_MS = 1_000_000_000_000;

export class HoleRevealingFiles extends DenoFileSystem {
  override async create(path: string): Promise<File> {
    const file = await super.create(path);
    const truncate = file.truncate.bind(file);
    file.truncate = async (size) => {
      const before = await file.size();
      await truncate(size);
      if (size > before) {
        await file.writeAt(new Uint8Array(size - before).fill(HOLE_BYTE), before);
      }
    };
    return file;
  }

  override setModified(path: string, _modifiedMs: number): Promise<void> {
    return super.setModified(path, MODIFIED_MS);
  }
}
