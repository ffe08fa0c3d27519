/**
 * How copies are written: in the background, and so that DuckDB trusts them at once.
 */

import type { FileSystem } from "../../../os/file_system.ts";
import { type Behind, behind } from "../../turns/behind.ts";

/** A time long ago: DuckDB keeps nothing of a file that was changed within the last seconds. */
const MODIFIED_MS = 1_000_000_000_000;

/** Runs the statement that writes a copy. Errors: DuckDB's; those of `behind`. */
export async function runDecoding(sql: string, options: Behind): Promise<void> {
  await behind((connection) => connection.texts(sql), options);
}

/** Makes a file look old enough to be trusted. Returns its bytes. Errors: the file system's. */
export async function settledSize(
  files: Pick<FileSystem, "setModified" | "stat">,
  path: string,
): Promise<number> {
  await files.setModified(path, MODIFIED_MS);
  return (await files.stat(path)).size;
}
