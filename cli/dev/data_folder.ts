/**
 * Whose a data folder is. A stack holds a lock of its own in it, from before its processes start
 * until they have ended. An ingest server holds its WAL and a query server its cache, also when
 * somebody else started them.
 */

import { join, resolve } from "node:path";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { lockPath } from "../../shared/wal/layout.ts";

interface Holder {
  readonly who: string;
  /** What it holds locked. */
  readonly path: (dataDir: string) => string;
}

const STACK: Holder = {
  who: "another stack",
  path: (dataDir) => join(dataDir, "dev.lock"),
};

const HOLDERS: readonly Holder[] = [
  STACK,
  { who: "an ingest server", path: (dataDir) => lockPath(join(dataDir, "wal")) },
  { who: "a query server", path: (dataDir) => join(dataDir, "query-cache", "lock") },
];

/** Makes nothing. Errors: `conflict` for a folder in which something runs; `permission_denied`. */
export async function requireFreeFolder(dataDir: string): Promise<void> {
  const files = new DenoFileSystem();
  for (const holder of HOLDERS) {
    const isThere = await files.exists(holder.path(dataDir)).catch((cause) => {
      throw cannotUse(resolve(dataDir), cause);
    });
    if (!isThere) continue;
    using _free = await take(dataDir, holder);
  }
}

/** The folder, which is there, is this stack's until the claim is disposed of. Errors: as above. */
export function claimFolder(dataDir: string): Promise<Disposable> {
  return take(dataDir, STACK);
}

async function take(dataDir: string, { who, path }: Holder): Promise<Disposable> {
  const place = resolve(dataDir);
  let lock: Disposable | undefined;
  try {
    lock = await new DenoFileSystem().tryLock(path(dataDir));
  } catch (cause) {
    throw cannotUse(place, cause);
  }
  if (lock !== undefined) return lock;
  throw new OperatingError(
    "conflict",
    `Cannot start a stack in ${place}: ${who} runs there; use that one, end it, ` +
      "or choose another folder with --data-dir",
  );
}

function cannotUse(place: string, cause: unknown): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot start a stack in ${place}: ${messageOf(cause)}; ` +
      "let this user write there, or choose another folder with --data-dir",
    { cause },
  );
}
