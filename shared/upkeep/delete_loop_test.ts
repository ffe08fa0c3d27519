import assert from "node:assert/strict";
import { SystemClock } from "../os/clock.ts";
import { DeleteLab } from "../testing/delete_lab.ts";
import { until } from "../testing/until.ts";
import { startDeleteLoop } from "./delete_loop.ts";

Deno.test({
  name: "a delete loop closes the matcher when no task is left, and a later task opens it again",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const events: string[] = [];
    const saw = (event: string) => {
      if (events.at(-1) !== event) events.push(event);
      return Promise.resolve();
    };
    const deps = {
      ...lab.deps,
      clock: new SystemClock(),
      matcher: () => saw("opened").then(() => lab.matcher),
      rest: () => saw("closed"),
    };
    await using _loop = startDeleteLoop(deps, { intervalMs: 20 });
    for (const _ of [1, 2]) {
      await until(() => events.at(-1) === "closed");
      const task = await lab.submit("raw = '2'");
      await until(async () => (await lab.task(task)).status === "done");
    }
    await until(() => events.at(-1) === "closed");
    assert.deepEqual(events, ["closed", "opened", "closed", "opened", "closed"]);
  },
});
