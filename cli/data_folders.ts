/** The folders of a data directory. */

import { messageOf, OperatingError } from "../shared/base/errors.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";

/**
 * Makes the folders that the roles work in. A role under its own permission set cannot: its permissions begin
 * inside them. Errors: `unavailable` naming the folder.
 */
export async function makeDataFolders(dataDir: string): Promise<void> {
  const files = new DenoFileSystem();
  for (const name of ["wal", "warehouse", "query-cache"]) {
    const path = `${dataDir}/${name}`;
    try {
      await files.mkdir(path);
    } catch (cause) {
      throw new OperatingError(
        "unavailable",
        `Cannot create the folder ${path}: ${messageOf(cause)}; ` +
          "choose a writable place with --data-dir",
        { cause },
      );
    }
  }
}
