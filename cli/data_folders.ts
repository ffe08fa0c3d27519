/** The folders of a data directory. */

import { messageOf, OperatingError } from "../shared/base/errors.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { auditFolder, jobResultsFolder, type RoleInput } from "./role_places.ts";

/**
 * Makes the folders that the roles work in. A role under its own permission set cannot: its
 * permissions begin inside them. `query`: how the query server is started. Errors: `unavailable`
 * naming the folder.
 */
export async function makeDataFolders(
  dataDir: string,
  query: RoleInput = { args: [], env: {} },
): Promise<void> {
  const files = new DenoFileSystem();
  const below = ["wal", "warehouse", "query-cache", "compactor-scratch"].map((name) =>
    `${dataDir}/${name}`
  );
  for (const path of [...below, auditFolder(dataDir, query), jobResultsFolder(dataDir, query)]) {
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
