/**
 * `svc rebuild-time-aggregates`: counts by minute of a table's committed files, made anew. See
 * docs/api/command_line.md#what-changes-something.
 */

import { defineCommand } from "../command.ts";
import { REBUILD_OPTIONS, rebuildSummaries } from "../rebuild_summaries.ts";

export const command = defineCommand({
  options: REBUILD_OPTIONS,
  async run(settings, { console }) {
    return await rebuildSummaries(settings, { console, options: { part: "times", wide: false } });
  },
});
