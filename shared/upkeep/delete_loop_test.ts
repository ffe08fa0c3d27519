import assert from "node:assert/strict";
import { SystemClock } from "../os/clock.ts";
import { DeleteLab } from "../testing/delete_lab.ts";
import { until } from "../testing/until.ts";
import { startDeleteLoop, sweepDeleteTasks } from "./delete_loop.ts";
import type { DeleteTaskDeps } from "./delete_task.ts";

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

Deno.test({
  name: "a delete loop takes a tenant's task that comes meanwhile before another's waiting ones",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const acme = { namespace: "acme", name: "events" };
    await lab.commit([1, 2, 3], acme);
    for (const number of [1, 2, 3]) await lab.submit(`raw = '${number}'`);
    const clock = new AheadClock();
    const done: string[] = [];
    const deps: DeleteTaskDeps = {
      ...lab.deps,
      clock,
      matcher: async () => {
        // The first one takes long, and meanwhile somebody else asks.
        if (clock.aheadMs === 0) await lab.submit("raw = '2'", { ident: acme });
        clock.aheadMs += 5_000;
        return lab.matcher;
      },
      observer: { done: ({ ident, predicate }) => done.push(`${ident.namespace} ${predicate}`) },
    };
    await using _loop = startDeleteLoop(deps, { intervalMs: 20 });
    await until(() => done.length === 4);
    assert.deepEqual(done, ["svc raw = '1'", "acme raw = '2'", "svc raw = '2'", "svc raw = '3'"]);
  },
});

Deno.test({
  name: "a matcher that is closed leaves nothing in its folder that names whom it looked for",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    await lab.submit("raw = 'somebody' OR raw = '2'");
    await sweepDeleteTasks(lab.deps);
    assert.deepEqual(await lab.numbers(), [1, 3]);
    const scratch = `${lab.dir}/scratch`;
    assert.ok((await Array.fromAsync(Deno.readDir(scratch))).length > 0);
    await lab.matcher[Symbol.asyncDispose]();
    await assert.rejects(Deno.stat(scratch), Deno.errors.NotFound);
  },
});

class AheadClock extends SystemClock {
  aheadMs = 0;

  override monotonicMs(): number {
    return super.monotonicMs() + this.aheadMs;
  }
}
