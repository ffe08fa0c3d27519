/**
 * `svc rebuild-group-counts`: counts by value of a table's committed files, made anew. See
 * docs/api/command_line.md#what-changes-something.
 */

import type { OptionTable } from "../../shared/config/options.ts";
import { defineCommand } from "../command.ts";
import { REBUILD_OPTIONS, rebuildSummaries } from "../rebuild_summaries.ts";

const OPTIONS = {
  ...REBUILD_OPTIONS,
  admitTypedColumns: {
    kind: "switch",
    flag: "admit-typed-columns",
    help:
      "Count columns of type long, double and bool also where a file has more values of them than " +
      "--typed-group-count-cardinality, up to 65,534.",
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const options = { part: "groups", wide: settings.admitTypedColumns } as const;
    return await rebuildSummaries(settings, { console, options });
  },
});
