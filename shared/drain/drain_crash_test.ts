/**
 * The process is killed before every single file operation of a drain and its sweep, and power is
 * cut there in one way or two.
 * Whatever survives, a query at once sees each row exactly once, and the next drain puts each into
 * the table exactly once.
 */

import assert from "node:assert/strict";
import { DrainLab, EVENTS_LANE, numberedGroups } from "../testing/drain_lab.ts";
import type { PowerLoss } from "../testing/power_loss.ts";
import { waysAt } from "../testing/ways_at.ts";
import { sweepLane } from "./sweep_lane.ts";
import { drainAll } from "./drain_all.ts";

const GROUPS = numberedGroups(3, 10);
const NUMBERS = GROUPS.flat();
const SEED = 20261120;
const CUTS = ["drop", "prefix", "torn"] as const;

for (const loss of ["kill", ...CUTS] as const) {
  Deno.test({
    name: `drain exactly once when it ends before any file operation: ${loss}`,
    async fn() {
      let ended = 0;
      for (let crashAt = 0;; crashAt += 1) {
        ended = crashAt;
        if (loss !== "kill" && !waysAt(CUTS, crashAt).includes(loss)) continue;
        await using lab = await sealedLab();
        lab.restart({ crashAt });
        await drainAndSweep(lab);
        if (lab.fs.powered) break;
        recover(lab, loss);
        const where = `before operation ${crashAt}`;
        assert.deepEqual(await lab.visibleNumbers(), NUMBERS, `${where}, seen after the crash`);
        // The ingester starts again: a segment may be back under `active`, where only it may remove
        // it.
        await (await lab.openWal()).close();
        await drainAndSweep(lab);
        assert.deepEqual(await lab.tableNumbers(), NUMBERS, `${where}, in the table`);
        assert.deepEqual(await lab.visibleNumbers(), NUMBERS, `${where}, seen at the end`);
        const left = await lab.deps.wal.list(EVENTS_LANE, ["active", "sealed", "committed"]);
        assert.deepEqual(left, [], `${where}, left in the WAL`);
      }
      assert.ok(ended > 40, `the drain has only ${ended} operations`);
    },
  });
}

Deno.test({
  name: "drain exactly once while rows keep coming and power fails again and again",
  async fn() {
    await using lab = await DrainLab.open(SEED);
    const sent: number[] = [];
    let crashes = 0;
    for (const group of numberedGroups(40, 3)) {
      lab.restart();
      await lab.seal([group]);
      sent.push(...group);
      lab.restart({ crashAt: lab.random.below(60) });
      await drainAndSweep(lab);
      if (lab.fs.powered) continue;
      crashes += 1;
      recover(lab, "torn");
      assert.deepEqual(await lab.visibleNumbers(), sent, `crash ${crashes}, seed ${SEED}`);
    }
    assert.ok(crashes > 20, `only ${crashes} crashes`);
    await drainAndSweep(lab);
    assert.deepEqual(await lab.tableNumbers(), sent);
  },
});

async function sealedLab(): Promise<DrainLab> {
  const lab = await DrainLab.open(SEED);
  await lab.seal(GROUPS);
  return lab;
}

/** A whole drain, then a sweep past the retention floor; ends silently when the machine stops. */
async function drainAndSweep(lab: DrainLab): Promise<void> {
  const { deps } = lab;
  try {
    const { failures } = await drainAll(deps);
    if (failures.length > 0 && lab.fs.powered) throw failures[0]?.error;
    lab.clock.shift(61_000);
    await sweepLane(deps, EVENTS_LANE);
  } catch (error) {
    if (lab.fs.powered) throw error;
  }
}

function recover(lab: DrainLab, loss: "kill" | PowerLoss): void {
  if (loss === "kill") return lab.restart();
  lab.fs = lab.fs.reboot(loss, lab.random, { nowMs: () => lab.clock.nowMs() });
}
