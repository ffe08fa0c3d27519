import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { EVENTS_LANE } from "../testing/drain_lab.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { ClaimLab, type Gate, lostCall } from "../testing/claim_lab.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { applyDrain, type DrainDeps, type DrainOutcome, lookAtLane } from "./drain.ts";
import { DRAIN_GATE_DEFAULT, DRAIN_GATE_OPEN } from "./plan_drain.ts";

const LEASE = { leaseMs: 10_000, attemptsMax: 3 };
const SEEDS = Number(Deno.env.get("SVC_TEST_CLAIM_SEEDS") ?? 6);

Deno.test({
  name: "two claimants share the mirror: each takes what the other has not, all rows come once",
  fn: () =>
    withLab(1, async (lab, clock) => {
      for (let at = 0; at < 6; at += 1) await lab.mirror([2 * at, 2 * at + 1]);
      const outcomes: DrainOutcome[] = [];
      const one = await lab.drainer({ claimant: "one", lease: LEASE });
      const two = await lab.drainer({ claimant: "two", lease: LEASE });
      // One segment a commit.
      const gate = { ...DRAIN_GATE_OPEN, commitBytesMax: 1 };
      for (let round = 0; round < 3; round += 1) {
        const plans = [];
        for (const deps of [one, two]) {
          const plan = await lookAtLane(deps, EVENTS_LANE, { gate, requested: true });
          plans.push(applyDrain(deps, EVENTS_LANE, plan));
        }
        outcomes.push(...await settled(Promise.all(plans), clock));
      }
      while (await drain(one) !== "idle");
      assert.ok(outcomes.includes("committed"));
      assert.deepEqual(await lab.tableNumbers(), Array.from({ length: 12 }, (_, at) => at));
      assert.deepEqual((await lab.claims.quarantined(9)).count, 0);
    }),
});

Deno.test({
  name: "a drain paused past its lease fails its late commit, and the rows come from the other",
  fn: () =>
    withLab(2, async (lab, clock) => {
      const other = await lab.drainer({ claimant: "other", lease: LEASE });
      await lab.mirror([0]);
      assert.equal(await drain(other), "committed", "the table exists");
      const name = await lab.mirror([1, 2, 3]);
      const pause = Promise.withResolvers<void>();
      const reached = Promise.withResolvers<void>();
      const paused = await lab.drainer({
        claimant: "paused",
        lease: LEASE,
        gate: (call) => {
          // With the commit its renewals stand still too, as in a process that is stopped.
          if (call === "before commit") reached.resolve();
          return call === "before commit" || call === "before renew"
            ? pause.promise
            : Promise.resolve();
        },
      });
      const late = drain(paused);
      await reached.promise;
      assert.equal(await drain(other), "idle", "the segment is claimed");
      await clock.advance(LEASE.leaseMs + 1);
      pause.resolve();
      assert.equal(await settled(late, clock), "claim_lost");
      assert.deepEqual(await lab.tableNumbers(), [0]);
      assert.equal((await lab.claims.states([name])).get(name)?.attempts, 1, "it counts");
      while (await drain(other) !== "idle");
      assert.deepEqual(await lab.tableNumbers(), [0, 1, 2, 3]);
      assert.deepEqual(
        await dataFiles(lab),
        await lab.tableFiles(),
        "the late drain left no files",
      );
    }),
});

Deno.test({
  name: "a claim is renewed while its drain works longer than the lease",
  fn: () =>
    withLab(3, async (lab, clock) => {
      await lab.mirror([1]);
      const slow = Promise.withResolvers<void>();
      const deps = await lab.drainer({
        claimant: "slow",
        lease: LEASE,
        gate: (call) => call === "before putNew" ? slow.promise : Promise.resolve(),
      });
      const other = await lab.drainer({ claimant: "other", lease: LEASE });
      const working = drain(deps);
      for (let secs = 0; secs < 60; secs += 1) {
        await clock.advance(1_000);
        assert.equal(await drain(other), "idle", `after ${secs} s`);
      }
      slow.resolve();
      assert.equal(await settled(working, clock), "committed");
      assert.deepEqual(await lab.tableNumbers(), [1]);
    }),
});

Deno.test({
  name: "a segment that cannot be read is quarantined alone, its reason kept, and requeued by name",
  fn: () =>
    withLab(4, async (lab) => {
      await lab.mirror([1]);
      const bad = await lab.mirrorRubbish();
      await lab.mirror([2]);
      const deps = await lab.drainer({ claimant: "one", lease: LEASE });
      assert.equal(await drain(deps), "poisoned");
      while (await drain(deps) !== "idle");
      assert.deepEqual(await lab.tableNumbers(), [1, 2]);
      const { segments } = await lab.claims.quarantined(9);
      assert.deepEqual(segments.map(({ segment }) => segment), [bad]);
      assert.match(segments[0]?.reason ?? "", /does not begin with SVCW/);
      assert.deepEqual(await lab.claims.requeue([bad]), [bad]);
      assert.equal(await drain(deps), "poisoned");
    }),
});

Deno.test({
  name:
    "segments whose drain crashes each time are tried alone, and only the guilty is quarantined",
  fn: () =>
    withLab(5, async (lab, clock) => {
      await lab.mirror([1]);
      const guilty = await lab.mirror([666]);
      await lab.mirror([2]);
      // A process that dies whenever it reads this segment: it leaves its claim behind.
      for (let process = 0; process < 8; process += 1) {
        const dead = Promise.withResolvers<void>();
        const claimed = new Set<string>();
        const deps = await lab.drainer({
          claimant: `process ${process}`,
          lease: LEASE,
          gate: (call) => {
            const dies = call === "before getRange" && claimed.has(guilty);
            if (dies) dead.resolve();
            return dies || claimed.has("dead") ? new Promise<void>(() => {}) : Promise.resolve();
          },
        });
        const plan = await lookAtLane(deps, EVENTS_LANE, {
          gate: DRAIN_GATE_OPEN,
          requested: true,
        });
        plan.commit.forEach((name) => claimed.add(name));
        await Promise.race([applyDrain(deps, EVENTS_LANE, plan), dead.promise]);
        claimed.add("dead");
        await clock.advance(LEASE.leaseMs + 1);
      }
      assert.deepEqual(await lab.tableNumbers(), [1, 2]);
      const { segments } = await lab.claims.quarantined(9);
      assert.deepEqual(segments.map(({ segment }) => segment), [guilty]);
      assert.match(segments[0]?.reason ?? "", /3 claims ended without a commit or a word/);
    }),
});

Deno.test({
  name: "an object store that fails counts no attempt",
  fn: () =>
    withLab(6, async (lab) => {
      const name = await lab.mirror([1]);
      const deps = await lab.drainer({
        claimant: "one",
        lease: LEASE,
        gate: (call) =>
          call === "before getRange" ? Promise.reject(lostCall(call)) : Promise.resolve(),
      });
      for (let tries = 0; tries < 2 * LEASE.attemptsMax; tries += 1) {
        await assert.rejects(drain(deps), /the connection was lost/);
      }
      assert.equal((await lab.claims.states([name])).size, 0);
    }),
});

Deno.test({
  name:
    `simulation: ${SEEDS} seeds of pauses past the lease, crashes and lost answers, one drain ` +
    "without claims among them: every row once, nothing stuck",
  async fn(t) {
    const first = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
    for (let seed = first; seed < first + SEEDS; seed += 1) {
      await t.step(`seed ${seed}`, () => simulate(seed));
    }
  },
});

/** What a simulated process is held by. */
interface Process {
  readonly name: string;
  readonly deps: DrainDeps;
  /** Calls that wait to go on. */
  readonly waiting: ((error?: Error) => void)[];
  pausedUntilMs: number;
  isDead: boolean;
  busy: boolean;
}

async function simulate(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  await withLab(seed, async (lab, clock) => {
    const names: string[] = [];
    const numbers: number[] = [];
    const mirror = async () => {
      const some = Array.from({ length: 1 + random.below(3) }, (_, at) => numbers.length + at);
      numbers.push(...some);
      names.push(await lab.mirror(some));
    };
    const seen: DrainOutcome[] = [];
    let processes: Process[] = [];
    let started = 0;
    const start = async () => {
      // Every third works without claims, as a drain beside the ingester does.
      processes.push(await startProcess(lab, { name: `p${started}`, claims: started % 3 !== 2 }));
      started += 1;
    };
    for (let at = 0; at < 3; at += 1) await start();
    for (let step = 0; step < 600; step += 1) {
      if (names.length < 12 && random.chance(0.05)) await mirror();
      const process = processes[random.below(processes.length)];
      if (process === undefined) continue;
      if (!process.busy) run(process, { seen });
      else if (random.chance(0.01)) {
        process.isDead = true;
        processes = processes.filter((one) => one !== process);
        await start();
      } else if (random.chance(0.02)) {
        process.pausedUntilMs = clock.nowMs() + random.below(3 * LEASE.leaseMs);
      } else if (clock.nowMs() >= process.pausedUntilMs) {
        process.waiting.shift()?.(random.chance(0.02) ? lostCall(`seed ${seed}`) : undefined);
      }
      await clock.advance(random.chance(0.1) ? random.below(2_000) : 0);
      if (step % 50 === 0) assertOnce(await lab.tableNumbers());
    }
    for (const process of processes) process.isDead = true;
    await clock.advance(2 * LEASE.leaseMs);
    // A drain that nothing befalls finds whatever is left, once those that crashed too often are
    // requeued.
    const last = await lab.drainer({ claimant: "last", lease: LEASE });
    do {
      while (await drain(last) !== "idle");
    } while ((await lab.claims.requeue()).length > 0);
    assert.deepEqual(await lab.tableNumbers(), numbers, `seed ${seed}: ${seen.join(" ")}`);
    assert.deepEqual(await lab.catalog.consumedOf(names), new Set(names));
  });
}

async function startProcess(
  lab: ClaimLab,
  { name, claims }: { readonly name: string; readonly claims: boolean },
): Promise<Process> {
  const waiting: ((error?: Error) => void)[] = [];
  const gate: Gate = () =>
    new Promise((resolve, reject) => {
      waiting.push((error) => error === undefined ? resolve() : reject(error));
    });
  const deps = await lab.drainer({ claimant: name, gate, ...(claims ? { lease: LEASE } : {}) });
  return { name, deps, waiting, pausedUntilMs: 0, isDead: false, busy: false };
}

function run(process: Process, { seen }: { readonly seen: DrainOutcome[] }): void {
  process.busy = true;
  drain(process.deps)
    .then((outcome) => seen.push(outcome), () => {})
    .finally(() => process.busy = false);
}

function assertOnce(numbers: readonly number[]): void {
  assert.equal(new Set(numbers).size, numbers.length, `doubled: ${numbers}`);
}

async function drain(deps: DrainDeps): Promise<DrainOutcome> {
  const gate = { ...DRAIN_GATE_DEFAULT, ...DRAIN_GATE_OPEN };
  const plan = await lookAtLane(deps, EVENTS_LANE, { gate, requested: true });
  return await applyDrain(deps, EVENTS_LANE, plan);
}

/** The result of `work`, time passing as it waits. */
async function settled<T>(work: Promise<T>, clock: FakeClock): Promise<T> {
  let done = false;
  const ended = work.finally(() => done = true);
  ended.catch(() => {});
  for (let tries = 0; !done && tries < 1_000; tries += 1) {
    await clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return await ended;
}

/** Keys of all data files there are, in order. */
async function dataFiles(lab: ClaimLab): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of lab.store.list("")) if (key.endsWith(".parquet")) keys.push(key);
  return keys.sort();
}

async function withLab(
  seed: number,
  body: (lab: ClaimLab, clock: FakeClock) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  await using lab = await ClaimLab.open(seed, clock);
  await body(lab, clock);
}
