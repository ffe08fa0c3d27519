/**
 * Moves of a segment between state directories. At every moment at least one of the two names is
 * durable, so readers that list the states in order never miss the segment.
 */

import { dirname } from "node:path";
import type { FileSystem } from "../os/file_system.ts";

/**
 * Gives the file at `from` the name `to` as well; a name that is there already is the same segment.
 */
export async function linkSegment(fs: FileSystem, from: string, to: string): Promise<void> {
  try {
    await fs.link(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

/** Moves `from` to `to`; both directories exist, and `to` is durable before `from` goes. */
export async function moveSegment(fs: FileSystem, from: string, to: string): Promise<void> {
  await linkSegment(fs, from, to);
  await fs.syncDir(dirname(to));
  await removeIfPresent(fs, from);
}

/** Removes the file; whether it was there. */
export async function removeIfPresent(fs: FileSystem, path: string): Promise<boolean> {
  try {
    await fs.remove(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
