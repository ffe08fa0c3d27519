import assert from "node:assert/strict";
import { SystemClock } from "../os/clock.ts";
import { DeleteLab, NO_WAL } from "../testing/delete_lab.ts";
import { until } from "../testing/until.ts";
import { startDeleteLoop, sweepDeleteTasks } from "./delete_loop.ts";
import type { SegmentInfo } from "../wal/types.ts";
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
  name: "a delete loop looks every second, and at a task that waits for the WAL every five",
  async fn() {
    await using lab = await DeleteLab.open();
    await lab.commit([1, 2, 3]);
    const waiting = await lab.submit("raw = '1'");
    let [looks, lists] = [0, 0];
    const clock = new HastyClock();
    const segment = { lane: { tenant: "default", index: "events" }, name: "s", state: "sealed" };
    const wal = {
      ...NO_WAL,
      list: () => {
        lists += 1;
        return Promise.resolve([segment as SegmentInfo]);
      },
    };
    const ledger = new Proxy(lab.ledger, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (name === "claimable") looks += 1;
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const startMs = clock.monotonicMs();
    await using _loop = startDeleteLoop({ ...lab.deps, clock, wal, ledger });
    await until(() => looks >= 41);
    const secs = (clock.monotonicMs() - startMs) / 1_000;
    assert.ok(looks >= secs, `${looks} looks in ${secs} s`);
    // The first look lists twice.
    assert.ok(lists > 4 && lists <= 1 + looks / 5 + 1, `${lists} lists in ${looks} looks`);
    assert.equal((await lab.task(waiting)).status, "pending");
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

/** Sleeps pass at once. */
class HastyClock extends AheadClock {
  override async sleep(ms: number): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve));
    this.aheadMs += ms;
  }
}
