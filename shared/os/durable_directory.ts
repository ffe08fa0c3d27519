/** Directories whose names survive a power failure. */

import { dirname } from "node:path";
import type { FileSystem, ReadableFiles } from "./file_system.ts";

/**
 * Creates `path` and its missing parents and syncs every name on the way, from `base` (a directory
 * that is taken to be durable, and lies above `path`) downwards. Names that were there already are
 * synced too: an earlier process may have created them and lost power before its sync.
 */
export async function mkdirDurable(fs: FileSystem, base: string, path: string): Promise<void> {
  await fs.mkdir(path);
  const parents: string[] = [];
  for (let at = path; at !== base && at !== dirname(at); at = dirname(at)) {
    parents.push(dirname(at));
  }
  for (const parent of parents.reverse()) await fs.syncDir(parent);
}

/** `path` when it is there, else its nearest parent that is. */
export async function nearestExisting(fs: ReadableFiles, path: string): Promise<string> {
  let at = path;
  while (!await fs.exists(at)) at = dirname(at);
  return at;
}

/**
 * Creates `path` and its missing parents, each synced in the one above. A directory that was there
 * is synced there too, because its maker may have lost power before. What the process may not look
 * at, above its own directories, is taken to be there and durable.
 */
export async function ensureDirectory(fs: FileSystem, path: string): Promise<void> {
  const parent = dirname(path);
  if (!await fs.exists(path)) {
    await unlessForbidden(ensureDirectory(fs, parent));
    await fs.mkdir(path);
  }
  await unlessForbidden(fs.syncDir(parent));
}

async function unlessForbidden(attempt: Promise<void>): Promise<void> {
  try {
    await attempt;
  } catch (error) {
    const { NotCapable, PermissionDenied } = Deno.errors;
    if (!(error instanceof NotCapable || error instanceof PermissionDenied)) throw error;
  }
}
