/** `svc compactor`: drains sealed WAL segments and tidies up, as a service or once. */

import { OPTIONS, runOnce, startCompactor } from "../../compactor/mod.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import { configureLogging, type LogThreshold } from "../../shared/logging/logging.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { defineCommand } from "../command.ts";

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await configureLogging({ level: settings.logLevel as LogThreshold });
    using end = listenForEnd(settings);
    if (!settings.once) {
      await using _compactor = await startCompactor(settings);
      await end.requested;
      return;
    }
    const ending = new AbortController();
    end.requested.then(() =>
      ending.abort(new OperatingError("cancelled", "Cannot go on draining: asked to end"))
    );
    await console.output.write(`${await runOnce(settings, { signal: ending.signal })}\n`);
  },
});
