/** What an engine tells when the process of its DuckDB is replaced. */

import { match, ok, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { processesBelow } from "../../../testing/processes.ts";
import { until } from "../../../testing/until.ts";

const ignore = Deno.build.os !== "linux";

Deno.test({
  name:
    "Engine tells that its process is being replaced, and answers memory() and ping() afterwards",
  ignore,
  fn: async () => {
    await using lab = await EngineLab.open({ engine: { processes: {} } });
    strictEqual(lab.engine.problem, undefined);
    await lab.engine.ping();
    const [pid = 0] = await processesBelow(Deno.pid, lab.dir);
    Deno.kill(pid, "SIGKILL");
    await until(() => lab.engine.problem !== undefined, { pollMs: 0 });
    match(lab.engine.problem ?? "", /^DuckDB for light statements is being replaced$/);
    await lab.engine.ping();
    ok((await lab.engine.memory()).poolBytes >= 0);
    strictEqual(lab.engine.problem, undefined);
  },
});
