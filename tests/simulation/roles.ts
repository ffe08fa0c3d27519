/** What the processes of a simulated life do, over the product's own code. */

import { PLAN_ATTEMPTS_MAX } from "../../shared/engine/limits.ts";
import { sweepDeleteTasks } from "../../shared/upkeep/delete_loop.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { applyDrain, lookAtLane } from "../../shared/drain/drain.ts";
import { sweepLane } from "../../shared/drain/sweep_lane.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { EVENTS_LANE } from "../../shared/testing/drain_lab.ts";
import { EVENTS } from "../../shared/testing/table_lab.ts";
import { applyOrphans, lookForOrphans } from "../../shared/upkeep/orphans.ts";
import { mirrorSegments } from "../../shared/wal/mirror/mirror_segments.ts";
import type { Wal } from "../../shared/wal/types.ts";
import { openWal } from "../../shared/wal/wal.ts";
import { batchOfNumbers } from "./event_rows.ts";
import { pickOf } from "./faults.ts";
import { type CompactorParts, compactorParts, filesOf, mirrorDeps, readerSource } from "./parts.ts";
import type { Life, SentBatch } from "./life.ts";
import { ask, checkAnswer, readAnswer } from "./read_answer.ts";
import { WAL_ROOT } from "./sim_machine.ts";
import type { SimProcess } from "./sim_process.ts";
import { MODULUS } from "./truth.ts";
import { requirePromise } from "./violation.ts";

/** A role's program; it returns when the world closes. */
export type Role = (world: Life, process: SimProcess) => Promise<void>;

const REPEATS_MS_MAX = 8 * 60_000;
/** A statement that takes no longer finds every file that it chose. */
const SHORT_READ_MS = 55_000;

export const ingestRole: Role = async (world, process) => {
  const { random, clock } = process;
  const wal = await untilOpen(world, process);
  if (wal === undefined) return;
  const mirror = mirrorDeps(world, process);
  const mirrored = new Map<string, Set<string>>();
  while (!world.isClosing) {
    const dice = random.float();
    if (dice < 0.62) await appendSome(world, process, wal);
    else if (dice < 0.7) await quietly(world, process, () => wal.seal(EVENTS_LANE));
    else if (dice < 0.74) await quietly(world, process, () => wal.requestDrain(EVENTS_LANE));
    else if (dice < 0.78) await wal.unreadyReason();
    else if (dice < 0.8) return await wal.close();
    else if (mirror !== undefined) {
      const { signal } = new AbortController();
      await quietly(world, process, () => mirrorSegments(mirror, mirrored, signal));
    }
    await clock.sleep(pause(random, 400));
  }
  await wal.close();
};

/** Waits while another process has the WAL. */
async function untilOpen(world: Life, process: SimProcess): Promise<Wal | undefined> {
  const { clock, random } = process;
  while (!world.isClosing) {
    try {
      const fs = filesOf(world, process);
      const eventsMax = 4 + random.below(20);
      return await openWal({ fs, clock, random, root: WAL_ROOT, freeBytesMin: 0, eventsMax });
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      await clock.sleep(1_000 + random.below(4_000));
    }
  }
  return undefined;
}

async function appendSome(world: Life, process: SimProcess, wal: Wal): Promise<void> {
  const { random } = process;
  const appends = Array.from({ length: 1 + random.below(3) }, async () => {
    const sent = toSend(world, process);
    const mode = random.chance(0.6) ? "wait_for" : "auto";
    const batch = batchOfNumbers(sent.rows.map(({ number }) => number));
    const key = { digest: sent.digest, bodyDigest: sent.digest, takenMs: process.clock.nowMs() };
    try {
      const receipt = await wal.append(
        EVENTS_LANE,
        world.plan.repeats ? { ...batch, key } : batch,
        mode,
      );
      world.truth.acknowledge(sent.rows, mode, receipt.segment);
      world.count(receipt.isRepeat ? "repeated appends" : "appends");
      world.sent.get(process.machine)?.delete(sent);
    } catch (error) {
      refuseBug(world, error);
      world.count("refused appends");
    }
  });
  await Promise.all(appends);
}

/** New rows, or those of a request that got no answer. */
function toSend(world: Life, { machine, random }: SimProcess): SentBatch {
  const waiting = world.sent.get(machine) ?? new Set();
  world.sent.set(machine, waiting);
  const nowMs = world.scheduler.nowMs;
  for (const batch of waiting) if (nowMs - batch.sentMs > REPEATS_MS_MAX) waiting.delete(batch);
  if (world.plan.repeats && waiting.size > 0 && random.chance(0.5)) {
    return pickOf([...waiting], random);
  }
  const rows = world.truth.send(machine.name, 1 + random.below(5));
  const batch = { rows, digest: random.bytes(16), sentMs: nowMs };
  waiting.add(batch);
  return batch;
}

export const compactorRole: Role = async (world, process) => {
  const parts = await compactorParts(world, process);
  const { random, clock } = process;
  while (!world.isClosing) {
    const dice = random.float();
    await quietly(world, process, async () => {
      if (dice < 0.35) await drainOnce(world, process, parts);
      else if (dice < 0.45) await sweepLane(parts.drain, EVENTS_LANE);
      else if (dice < 0.6) await sweepTasks(world, parts);
      else await upkeepOnce(world, process, parts);
    });
    await clock.sleep(pause(random, 2_000));
  }
};

async function drainOnce(world: Life, { random }: SimProcess, parts: CompactorParts) {
  const gate = { targetBytes: 4_096, ageMsMax: 10_000, commitBytesMax: 16_384 };
  const requested = random.chance(0.5) || await parts.drain.admin.takeDrainRequest(EVENTS_LANE);
  const plan = await lookAtLane(parts.drain, EVENTS_LANE, { gate, requested });
  world.count(`drain ${await applyDrain(parts.drain, EVENTS_LANE, plan)}`);
}

async function sweepTasks(world: Life, parts: CompactorParts): Promise<void> {
  if (parts.deletes === undefined) return;
  for (const outcome of (await sweepDeleteTasks(parts.deletes)).values()) {
    world.count(`delete ${outcome}`);
  }
}

async function upkeepOnce(world: Life, { random }: SimProcess, parts: CompactorParts) {
  if (world.mutation === "young orphans") {
    const plan = await lookForOrphans(parts.upkeep, EVENTS, { ageMsMin: 0 });
    if (plan !== undefined) await applyOrphans(parts.upkeep, plan);
  }
  const sweep = pickOf(parts.sweeps, random);
  await sweep.run(EVENTS, new AbortController().signal);
  world.count(`upkeep ${sweep.name}`);
}

export const readerRole: Role = async (world, process) => {
  const { random, clock, machine, scheduler } = process;
  const source = readerSource(world, process);
  while (!world.isClosing) {
    await clock.sleep(pause(random, 6_000));
    // What was listed may go meanwhile: then a statement is planned anew.
    for (let attempt = 1; attempt <= PLAN_ATTEMPTS_MAX; attempt += 1) {
      const asked = ask(world.truth, machine.name);
      const startMs = scheduler.nowMs;
      try {
        checkAnswer(world.truth, asked, await readAnswer(source));
        world.count("answers");
        break;
      } catch (error) {
        refuseBug(world, error);
        world.count("failed plans");
        if (!isOperatingError(error, "not_found")) break;
        requirePromise(
          !/\.parquet/.test(error.message) || scheduler.nowMs - startMs > SHORT_READ_MS ||
            world.jumps > 0,
          () => `a statement of ${Math.floor(scheduler.nowMs - startMs)} ms: ${error.message}`,
        );
      }
    }
  }
};

/** Sends delete tasks, which a query server takes in. */
export const clientRole: Role = async (world, process) => {
  const { random, clock } = process;
  const { ledger, catalog, reader } = await compactorParts(world, process);
  for (let count = 0; !world.isClosing; count += 1) {
    await clock.sleep(pause(random, 20_000));
    await quietly(world, process, async () => {
      const residue = random.below(MODULUS);
      const location = await catalog.metadataLocation(EVENTS);
      if (location === undefined) return;
      const { uuid } = await reader.loadTable(EVENTS, location);
      const taskId = `${process.name}-${process.random.below(2 ** 31)}-${count}`;
      const mustGo = [...world.truth.rows.values()]
        .filter((row) => row.number % MODULUS === residue && world.mustGo(row))
        .map(({ number }) => number);
      world.truth.tasks.set(taskId, { residue, mustGo, isDone: false });
      const times = { startNs: undefined, endNs: undefined };
      const task = { taskId, ident: EVENTS, tableUuid: uuid, epoch: 0, predicate: String(residue) };
      await ledger.submit({ ...task, ...times }, 100);
      world.count("delete tasks");
    });
  }
};

/** Ends a life: recovers each WAL, drains it, carries out what is left to do. */
export const lastRole: Role = async (world, process) => {
  const { clock, random } = process;
  const fs = filesOf(world, process);
  await (await openWal({ fs, clock, random, root: WAL_ROOT, freeBytesMin: 0 })).close();
  const parts = await compactorParts(world, process, { isBesideWal: true });
  const drained = await drainAll(parts.drain);
  for (const { error } of drained.failures) throw error;
  await clock.sleep(70_000);
  await sweepLane(parts.drain, EVENTS_LANE);
  for (let round = 0; round < 8 && parts.deletes !== undefined; round += 1) {
    await sweepTasks(world, parts);
    await clock.sleep(100_000);
  }
  const listed = await parts.drain.wal.list(EVENTS_LANE, ["active", "sealed"]);
  requirePromise(listed.length === 0, () => `the WAL of ${process.name} holds ${listed[0]?.name}`);
};

/** Runs `act`; what its network, its disk or another process does to it is no defect. */
async function quietly(
  world: Life,
  process: SimProcess,
  act: () => Promise<unknown>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    refuseBug(world, error);
    world.scheduler.note(
      `${process.name} failed: ${error instanceof Error ? error.message : error}`,
    );
    world.count("failures");
  }
}

/** Errors: `error`, when it is of no kind that a failing world explains. */
export function refuseBug(world: Life, error: unknown): void {
  if (isOperatingError(error) && error.code !== "corrupt") return;
  const isExplained = error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.AlreadyExists ||
    error instanceof Error && /os error 5|ran out|failed before/.test(error.message);
  if (!isExplained) world.scheduler.fail(error);
}

/** Mostly short, sometimes long: up to 40 times `ms`. */
function pause(random: SimProcess["random"], ms: number): number {
  return random.below(random.chance(0.1) ? 40 * ms : ms);
}
