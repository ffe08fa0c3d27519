/** The directory of a WAL that a command looks at: `--wal`. */

import { resolve } from "node:path";
import { OperatingError } from "../shared/base/errors.ts";
import type { ReadableFiles } from "../shared/os/file_system.ts";
import { lanesIn, lockPath, SEGMENT_STATES, stateDirectory } from "../shared/wal/layout.ts";

/** Absolute. Errors: `not_found` for what is no WAL; `what` says what it was wanted for. */
export async function requireWal(
  files: ReadableFiles,
  wal: string,
  what: string,
): Promise<string> {
  const root = resolve(wal);
  const notFound = (why: string) =>
    new OperatingError(
      "not_found",
      `Cannot ${what} --wal ${wal}: ${why}; give the ingest server's, which is <data-dir>/wal ` +
        "where nobody said otherwise",
    );
  if (!await files.exists(root)) {
    throw notFound("there is no such directory");
  }
  if (await isWal(files, root)) return root;
  throw notFound("it is no WAL");
}

/** Also a copy of one without its lock; one without lanes has the lock alone. */
async function isWal(files: ReadableFiles, root: string): Promise<boolean> {
  if (await files.exists(lockPath(root))) return true;
  for (const lane of await lanesIn(files, root)) {
    for (const state of SEGMENT_STATES) {
      if (await files.exists(stateDirectory(root, lane, state))) return true;
    }
  }
  return false;
}
