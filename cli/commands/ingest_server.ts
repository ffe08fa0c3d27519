/** `svc ingest-server`: the ingest server, alone or with the compactor in the same process. */

import { getLogger } from "@logtape/logtape";
import {
  compactorPaths,
  embeddedSettings,
  idleWork,
  startDrain,
  WORK_OPTIONS,
} from "../../compactor/mod.ts";
import { type IngestDeps, OPTIONS as INGEST_OPTIONS, startIngest } from "../../ingest/mod.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { configureLogging, type LogThreshold } from "../../shared/logging/logging.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { defineCommand } from "../command.ts";

const OPTIONS = {
  ...INGEST_OPTIONS,
  withCompactor: {
    kind: "switch",
    flag: "with-compactor",
    help:
      "Also drain the WAL into tables, every second, and maintain them, in this process, with the options of svc compactor " +
      "below. Without it only segments are written.",
  },
  ...WORK_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings) {
    await configureLogging({ level: settings.logLevel as LogThreshold });
    using end = listenForEnd(settings);
    const deps: IngestDeps = settings.withCompactor
      ? { startDrain: (observers) => startDrain(embeddedSettings(settings), observers) }
      : {};
    for (const idle of settings.withCompactor ? [] : idleWork(settings)) {
      getLogger(["svc", "ingest"]).warning("{idle}", { idle });
    }
    const { catalog: catalogUri } = compactorPaths(settings);
    await using _server = await startIngest({ ...settings, catalogUri }, deps);
    await end.requested;
  },
});
