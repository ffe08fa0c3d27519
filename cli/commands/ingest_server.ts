/** `svc ingest-server`: the ingest server, alone or with the compactor in the same process. */

import {
  compactorPaths,
  deleteOptionsOf,
  OPTIONS as COMPACTOR_OPTIONS,
  startDrain,
} from "../../compactor/mod.ts";
import { type IngestDeps, OPTIONS as INGEST_OPTIONS, startIngest } from "../../ingest/mod.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { configureLogging, type LogThreshold } from "../../shared/os/logging.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { defineCommand } from "../command.ts";

const OPTIONS = {
  ...INGEST_OPTIONS,
  withCompactor: {
    kind: "switch",
    flag: "with-compactor",
    help:
      "Also drain the WAL into tables, every second, in this process. Without it only segments are written.",
  },
  deleteTasks: COMPACTOR_OPTIONS.deleteTasks,
  deleteGraceSecs: COMPACTOR_OPTIONS.deleteGraceSecs,
  scratchDir: COMPACTOR_OPTIONS.scratchDir,
} as const satisfies OptionTable;

const DRAIN_INTERVAL_MS = 1_000;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings) {
    await configureLogging({ level: settings.logLevel as LogThreshold });
    using end = listenForEnd(settings);
    const paths = compactorPaths(settings);
    const deletes = deleteOptionsOf(settings);
    const options = {
      intervalMs: DRAIN_INTERVAL_MS,
      ...(deletes === undefined ? {} : { deletes }),
    };
    const deps: IngestDeps = settings.withCompactor
      ? { startDrain: (observers) => startDrain(paths, { ...options, observers }) }
      : {};
    await using _server = await startIngest({ ...settings, catalogUri: paths.catalog }, deps);
    await end.requested;
  },
});
