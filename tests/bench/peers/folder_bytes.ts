/** Bytes that a folder takes on its disk, in whole blocks. Files that end meanwhile count 0. */

import { join } from "node:path";

const BLOCK_BYTES = 512;

export async function folderBytes(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      const path = join(folder, name);
      bytes += isDirectory ? await folderBytes(path) : await fileBytes(path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return bytes;
}

async function fileBytes(path: string): Promise<number> {
  try {
    const { blocks, size } = await Deno.lstat(path);
    return blocks === null ? size : blocks * BLOCK_BYTES;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
