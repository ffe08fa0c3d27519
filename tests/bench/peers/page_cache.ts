/** Drops the files of a folder from the page cache, which takes no privileges. */

import { runTool } from "./obtain/run_tool.ts";

const SECS_MAX = 120;

/** Nothing may have them mapped: such pages stay. */
export async function dropFromPageCache(folder: string): Promise<void> {
  const each = "dd if={} iflag=nocache count=0 status=none";
  await runTool("sh", ["-c", `sync && find "$1" -type f -exec ${each} ';'`, "sh", folder], {
    secs: SECS_MAX,
  });
}
