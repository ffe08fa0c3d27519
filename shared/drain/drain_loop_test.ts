import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import { encodeBatch } from "../columns/ipc.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { abortListenersLeft } from "../testing/abort_listeners.ts";
import { batchOf, DrainLab, EVENTS_LANE, numberedGroups } from "../testing/drain_lab.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { until } from "../testing/until.ts";
import type { DrainDeps } from "./drain.ts";
import { type DrainLoopOptions, startDrainLoop } from "./drain_loop.ts";
import type { LaneStall } from "./drain_observer.ts";
import { DRAIN_GATE_DEFAULT } from "./plan_drain.ts";

const OPTIONS: DrainLoopOptions = {
  gate: DRAIN_GATE_DEFAULT,
  drains: true,
  sweeps: true,
  intervalMs: 1_000,
};

Deno.test({
  name: "DrainLoop commits by age, and sweeps after the retention floor",
  fn: () =>
    withLoop(OPTIONS, async ({ lab, clock }) => {
      await lab.seal(numberedGroups(2, 5));
      await clock.advance(9_000);
      assert.deepEqual(await lab.tableNumbers(), []);
      await clock.advance(3_000);
      assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 10).flat());
      assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, 2);
      await clock.advance(75_000);
      assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, 0);
    }),
});

Deno.test({
  name: "DrainLoop commits at once when asked, with nothing but the marker in the WAL",
  fn: () =>
    withLoop(OPTIONS, async ({ lab, clock }) => {
      await clock.advance(1_000);
      await using wal = await lab.openWal();
      await wal.append(EVENTS_LANE, encodeBatch(batchOf([1, 2])), "wait_for");
      await wal.seal(EVENTS_LANE);
      await wal.requestDrain(EVENTS_LANE);
      await clock.advance(150);
      assert.deepEqual(await lab.tableNumbers(), [1, 2]);
    }),
});

Deno.test({
  name: "DrainLoop.wake looks without waiting for the next poll",
  fn: () =>
    withLoop(OPTIONS, async ({ lab, clock, loop }) => {
      await clock.advance(1_050);
      await using wal = await lab.openWal();
      await wal.append(EVENTS_LANE, encodeBatch(batchOf([1, 2])), "wait_for");
      await wal.seal(EVENTS_LANE);
      await wal.requestDrain(EVENTS_LANE);
      loop.wake();
      await clock.advance(0);
      assert.deepEqual(await lab.tableNumbers(), [1, 2]);
    }),
});

Deno.test({
  name: "DrainLoop commits what was asked for before the other lanes of a long round",
  fn: () => {
    const options = { ...OPTIONS, sweeps: false, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    const lanes = Array.from({ length: 40 }, (_, at) => ({ tenant: `t${at + 10}`, index: "web" }));
    return withLoop(options, async ({ lab, clock }) => {
      await clock.advance(500);
      for (const lane of lanes) await lab.seal([[1]], lane);
      await clock.advance(5_000);
      const last = lanes.at(-1) ?? EVENTS_LANE;
      const wal = await lab.openWal();
      for (const lane of [last, { tenant: "new", index: "web" }]) {
        await wal.append(lane, encodeBatch(batchOf([2])), "wait_for");
        await wal.seal(lane);
        await wal.requestDrain(lane);
      }
      await wal.close();
      await clock.advance(5_000);
      assert.deepEqual(await lab.tableNumbers(last), [1, 2]);
      assert.deepEqual(await lab.tableNumbers({ tenant: "new", index: "web" }), [2]);
      assert.deepEqual(await lab.tableNumbers(lanes[30] ?? EVENTS_LANE), []);
      await clock.advance(60_000);
      assert.deepEqual(await lab.tableNumbers(lanes[30] ?? EVENTS_LANE), [1]);
    }, slowly);
  },
});

Deno.test({
  name: "DrainLoop gives each tenant a turn before another has all of its lanes drained",
  fn: () => {
    const options = { ...OPTIONS, sweeps: false, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    const lanes = [10, 11, 12].flatMap((tenant) =>
      Array.from({ length: 40 }, (_, at) => ({ tenant: `t${tenant}`, index: `web-${at}` }))
    );
    const small = { tenant: "t13", index: "web" };
    return withLoop(options, async ({ lab, clock }) => {
      await clock.advance(500);
      for (const lane of lanes) await lab.seal([[1]], lane);
      await clock.advance(5_000);
      for (const number of [1, 2, 3]) {
        await lab.seal([[number]], small);
        await clock.advance(10_000);
        assert.equal((await lab.tableNumbers(small)).length, number);
      }
      await clock.advance(120_000);
      for (const lane of lanes) assert.deepEqual(await lab.tableNumbers(lane), [1]);
    }, slowly);
  },
});

Deno.test({
  name: "DrainLoop commits what one tenant asks for before all that another asked for",
  fn: () => {
    const lanes = Array.from({ length: 40 }, (_, at) => ({ tenant: "t10", index: `web-${at}` }));
    const small = { tenant: "t11", index: "web" };
    return withLoop({ ...OPTIONS, sweeps: false }, async ({ lab, clock }) => {
      await clock.advance(500);
      const ask = async (lane: LaneId) => {
        await using wal = await lab.openWal();
        await wal.append(lane, encodeBatch(batchOf([1])), "wait_for");
        await wal.seal(lane);
        await wal.requestDrain(lane);
      };
      for (const lane of lanes) await ask(lane);
      await clock.advance(5_000);
      await ask(small);
      await clock.advance(5_000);
      assert.deepEqual(await lab.tableNumbers(small), [1]);
      assert.deepEqual(await lab.tableNumbers(lanes[30] ?? EVENTS_LANE), []);
      await clock.advance(60_000);
      for (const lane of lanes) assert.deepEqual(await lab.tableNumbers(lane), [1]);
    }, slowly);
  },
});

Deno.test({
  name: "DrainLoop asks no lane for requests while the WAL has had none",
  async fn() {
    let asked = 0;
    const counted = ({ admin, ...deps }: DrainDeps): DrainDeps => ({
      ...deps,
      admin: {
        ...admin,
        takeDrainRequest: (lane) => {
          asked += 1;
          return admin.takeDrainRequest(lane);
        },
      },
    });
    await withLoop({ ...OPTIONS, intervalMs: 10_000 }, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      await clock.advance(10_500);
      const before = asked;
      await clock.advance(9_000);
      assert.equal(asked, before);
    }, counted);
  },
});

Deno.test({
  name: "DrainLoop leaves nothing of a turn behind",
  fn: () =>
    withLoop(OPTIONS, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      assert.ok(await abortListenersLeft(() => clock.advance(100_000)) < 10);
    }),
});

Deno.test({
  name: "DrainLoop goes on with a backlog without waiting for the interval",
  fn: () => {
    const gate = { ...DRAIN_GATE_DEFAULT, targetBytes: 1, commitBytesMax: 1 };
    return withLoop({ ...OPTIONS, gate, intervalMs: 60_000 }, async ({ lab, clock }) => {
      await lab.seal(numberedGroups(5, 5));
      await clock.advance(61_000);
      assert.deepEqual(await lab.tableNumbers(), numberedGroups(1, 25).flat());
    });
  },
});

Deno.test({
  name:
    "DrainLoop keeps draining the other lanes while one fails, and tries that one again less and less often",
  async fn() {
    const bad: LaneId = { tenant: "bad", index: "events" };
    const attempts: number[] = [];
    let broken = true;
    const faulty = (deps: DrainDeps, clock: FakeClock): DrainDeps => ({
      ...deps,
      wal: {
        ...deps.wal,
        list(lane, states) {
          if (lane.tenant !== bad.tenant || !broken) return deps.wal.list(lane, states);
          attempts.push(clock.nowMs());
          return Promise.reject(new OperatingError("unavailable", "no such disk"));
        },
      },
    });
    const options = { ...OPTIONS, sweeps: false, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    await withLoop(options, async ({ lab, clock }) => {
      await lab.seal([[1]], bad);
      await lab.seal([[2]]);
      await clock.advance(30_000);
      assert.deepEqual(await lab.tableNumbers(), [2]);
      const pauses = attempts.slice(1).map((ms, at) => ms - (attempts[at] ?? 0));
      assert.ok(attempts.length >= 3 && attempts.length < 10, `${attempts.length} attempts`);
      assert.ok((pauses.at(-1) ?? 0) > 4 * (pauses[0] ?? 0), `pauses ${pauses}`);
      broken = false;
      await clock.advance(60_000);
      assert.deepEqual(await lab.tableNumbers(bad), [1]);
    }, faulty);
  },
});

Deno.test({
  name:
    "DrainLoop tries a lane that failed at once when a commit is asked for, and never without a pause",
  async fn() {
    let attempts = 0;
    let broken = true;
    const faulty = (deps: DrainDeps): DrainDeps => ({
      ...deps,
      wal: {
        ...deps.wal,
        list(lane, states) {
          if (!broken) return deps.wal.list(lane, states);
          attempts += 1;
          return Promise.reject(new OperatingError("unavailable", "no such disk"));
        },
      },
    });
    await withLoop({ ...OPTIONS, sweeps: false }, async ({ lab, clock }) => {
      await using wal = await lab.openWal();
      await wal.append(EVENTS_LANE, encodeBatch(batchOf([1, 2])), "wait_for");
      await wal.seal(EVENTS_LANE);
      await clock.advance(120_000);
      attempts = 0;
      for (let times = 0; times < 20; times += 1) {
        await wal.requestDrain(EVENTS_LANE);
        await clock.advance(100);
      }
      assert.ok(attempts >= 2 && attempts <= 5, `${attempts} attempts in 2 s`);
      await clock.advance(120_000);
      broken = false;
      await clock.advance(1_000);
      assert.deepEqual(await lab.tableNumbers(), [], "it waits");
      await wal.requestDrain(EVENTS_LANE);
      await clock.advance(700);
      assert.deepEqual(await lab.tableNumbers(), [1, 2]);
    }, faulty);
  },
});

Deno.test({
  name: "DrainLoop does not spin on a lane whose every commit another drain has made",
  async fn() {
    let overtaken = 0;
    const always = (deps: DrainDeps): DrainDeps => {
      let asked = 0;
      // What a look finds due is consumed whenever the commit asks, for so long.
      const consumedOf = (names: readonly string[]) => {
        asked += 1;
        const isDue = asked % 2 === 1 || overtaken >= 100;
        return Promise.resolve(new Set(isDue ? [] : names));
      };
      const catalog = new Proxy(deps.catalog, {
        get: (target, name) => {
          if (name === "consumedOf") return consumedOf;
          const value = Reflect.get(target, name);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
      return { ...deps, catalog, observer: { overtaken: () => overtaken += 1 } };
    };
    const options = { ...OPTIONS, sweeps: false, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    await withLoop(options, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      while (overtaken < 3) await clock.advance(1_000);
      await clock.advance(30_000);
      assert.ok(overtaken < 20, `overtaken ${overtaken} times in some 30 s`);
    }, always);
  },
});

Deno.test({
  name: "DrainLoop tells what waits in each lane while a turn hangs, and while its lane is skipped",
  async fn() {
    const { promise: gateOpen, resolve: openGate } = Promise.withResolvers<void>();
    const lags = new Map<string, number>();
    const hanging = (deps: DrainDeps): DrainDeps => ({
      ...deps,
      observer: { lag: ({ index }, { segments }) => void lags.set(index, segments) },
      encoder: {
        ...deps.encoder,
        async encode(input, options) {
          await gateOpen;
          return await deps.encoder.encode(input, options);
        },
      },
    });
    const options = { ...OPTIONS, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    await withLoop(options, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      await clock.advance(1_000);
      const wal = await lab.openWal();
      for (let waiting = 2; waiting < 5; waiting += 1) {
        await wal.append(EVENTS_LANE, encodeBatch(batchOf([waiting])), "wait_for");
        await wal.seal(EVENTS_LANE);
        await clock.advance(20_000);
        assert.equal(lags.get("events"), waiting);
      }
      await wal.close();
      openGate();
      await clock.advance(20_000);
      assert.deepEqual(await lab.tableNumbers(), [1, 2, 3, 4]);
      assert.equal(lags.get("events"), 0);
    }, hanging);
  },
});

Deno.test({
  name: "DrainLoop tells where a lane's turn hangs and since when, until a turn ends well again",
  async fn() {
    const { promise: gateOpen, resolve: openGate } = Promise.withResolvers<void>();
    const stalls: (LaneStall | undefined)[] = [];
    const hanging = (deps: DrainDeps): DrainDeps => ({
      ...deps,
      observer: { stalled: (_, stall) => void stalls.push(stall) },
      encoder: {
        ...deps.encoder,
        async encode(input, options) {
          await gateOpen;
          return await deps.encoder.encode(input, options);
        },
      },
    });
    const gate = { ...OPTIONS.gate, ageMsMax: 0 };
    await withLoop({ ...OPTIONS, gate, turnMsMax: 50 }, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      const startMs = clock.nowMs();
      await clock.advance(1_000);
      await until(() => stalls.length > 0);
      const { sinceMs = 0, ...first } = stalls[0] ?? {};
      assert.deepEqual(first, { step: "stage", why: "hangs" });
      assert.ok(sinceMs >= startMs && sinceMs <= startMs + 1_000);
      await clock.advance(120_000);
      assert.equal(stalls.length, 1, "its lane is skipped");
      openGate();
      await clock.advance(60_000);
      assert.deepEqual(await lab.tableNumbers(), [1]);
      assert.equal(stalls.at(-1), undefined);
    }, hanging);
  },
});

Deno.test({
  name: "DrainLoop tells since when a lane fails, in which step, and the reason of the last error",
  async fn() {
    const stalls: (LaneStall | undefined)[] = [];
    let isAway = true;
    const failing = (deps: DrainDeps): DrainDeps => ({
      ...deps,
      observer: { stalled: (_, stall) => void stalls.push(stall) },
      encoder: {
        ...deps.encoder,
        encode: (input, options) =>
          isAway
            ? Promise.reject(new OperatingError("unavailable", "away", { reason: "store_away" }))
            : deps.encoder.encode(input, options),
      },
    });
    const gate = { ...OPTIONS.gate, ageMsMax: 0 };
    await withLoop({ ...OPTIONS, gate }, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      await clock.advance(30_000);
      assert.ok(stalls.length > 2);
      const [first] = stalls;
      assert.deepEqual(first, { ...first, step: "stage", why: "store_away" });
      assert.deepEqual(stalls.at(-1), first, "since the first failure");
      isAway = false;
      await clock.advance(61_000);
      assert.equal(stalls.at(-1), undefined);
    }, failing);
  },
});

Deno.test({
  name: "DrainLoop.stop lets the commit under way end",
  async fn() {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const { promise: gateOpen, resolve: openGate } = Promise.withResolvers<void>();
    const slow = (deps: DrainDeps): DrainDeps => ({
      ...deps,
      encoder: {
        ...deps.encoder,
        async encode(input, options) {
          reach();
          await gateOpen;
          return await deps.encoder.encode(input, options);
        },
      },
    });
    const options = { ...OPTIONS, gate: { ...OPTIONS.gate, ageMsMax: 0 } };
    await withLoop(options, async ({ lab, clock, loop }) => {
      await lab.seal([[1]]);
      await clock.advance(1_000);
      await reached;
      const stopped = loop.stop();
      openGate();
      await stopped;
      assert.deepEqual(await lab.tableNumbers(), [1]);
      assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["sealed"])).length, 0);
    }, slow);
  },
});

Deno.test({
  name: "DrainLoop.stop does not wait for a store that is silent",
  async fn() {
    const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
    const lanes = () => {
      reach();
      return new Promise<never>(() => {});
    };
    await withLoop({ ...OPTIONS, stopMsMax: 50 }, async ({ loop }) => {
      await reached;
      await loop.stop();
    }, ({ wal, ...deps }) => ({
      ...deps,
      wal: {
        lanes,
        list: (lane, states) => wal.list(lane, states),
        names: (lane, states) => wal.names(lane, states),
        open: (lane, name) => wal.open(lane, name),
        messageBytes: (segment) => wal.messageBytes(segment),
      },
    }));
  },
});

Deno.test({
  name: "DrainLoop does only what its role is",
  async fn() {
    const maintenance = { ...OPTIONS, drains: false };
    await withLoop(maintenance, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      await clock.advance(80_000);
      assert.deepEqual(await lab.tableNumbers(), []);
    });
    const drain = { ...OPTIONS, sweeps: false };
    await withLoop(drain, async ({ lab, clock }) => {
      await lab.seal([[1]]);
      await clock.advance(100_000);
      assert.equal((await lab.deps.wal.list(EVENTS_LANE, ["committed"])).length, 1);
    });
  },
});

interface LoopTest {
  readonly lab: DrainLab<FakeClock>;
  readonly clock: FakeClock;
  readonly loop: ReturnType<typeof startDrainLoop>;
}

/** A commit takes a second. */
function slowly(deps: DrainDeps, clock: FakeClock): DrainDeps {
  return {
    ...deps,
    encoder: {
      ...deps.encoder,
      async encode(input, options) {
        await clock.sleep(1_000);
        return await deps.encoder.encode(input, options);
      },
    },
  };
}

async function withLoop(
  options: DrainLoopOptions,
  body: (test: LoopTest) => Promise<void>,
  change: (deps: DrainDeps, clock: FakeClock) => DrainDeps = (deps) => deps,
): Promise<void> {
  const clock = new FakeClock();
  await using lab = await DrainLab.open(1, clock);
  const loop = startDrainLoop(change(lab.deps, clock), options);
  try {
    await body({ lab, clock, loop });
  } finally {
    await loop.stop();
  }
}
