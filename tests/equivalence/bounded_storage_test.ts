/**
 * A trickle of one event a second for hours, by a clock that the test moves: a commit each ten seconds as the drain's gate
 * makes them, and every sweep of maintenance when it is due. Bytes of everything in the warehouse stay below a bound for
 * each event, and files and snapshots do not grow with time.
 *
 * `SVC_STORAGE_HOURS=72 deno test -A tests/equivalence/bounded_storage_test.ts` is issue 8's three days.
 */

import assert from "node:assert/strict";
import { EXPIRE_POLICY_DEFAULT, REMOVAL_GRACE_MS } from "../../shared/maintenance/expire.ts";
import { tableSweeps } from "../../shared/maintenance/table_sweeps.ts";
import { type LabRow, MaintenanceLab } from "../../shared/testing/maintenance_lab.ts";
import { EVENTS } from "../../shared/testing/table_lab.ts";

const HOURS = Number(Deno.env.get("SVC_STORAGE_HOURS") ?? 0.5);
const COMMIT_SECS = 10;
const HOUR_SECS = 3_600;
const BYTES_PER_EVENT_MAX = 3_000;
/** In a short run snapshots and files must go sooner to show that they do. */
const RETAIN_LAST = Math.min(EXPIRE_POLICY_DEFAULT.retainLast, 20 * HOURS);
const GRACE_MS = Math.min(REMOVAL_GRACE_MS, HOURS * HOUR_SECS * 1_000 / 8);
const NEVER = new AbortController().signal;

interface Sample {
  readonly events: number;
  readonly bytes: number;
  readonly objects: number;
  readonly files: number;
  readonly snapshots: number;
}

Deno.test({
  name:
    `${HOURS} hours of one event a second: bytes for each event are bounded, files and snapshots stay few`,
  async fn() {
    await using lab = await MaintenanceLab.open(1);
    const sweeps = tableSweeps(lab.deps(), {
      expire: { ...EXPIRE_POLICY_DEFAULT, retainLast: RETAIN_LAST, removalGraceMs: GRACE_MS },
    });
    const dueMs = new Map(sweeps.map(({ name }) => [name, 0]));
    const samples: Sample[] = [];
    const commits = HOURS * HOUR_SECS / COMMIT_SECS;
    for (let commit = 0; commit < commits; commit += 1) {
      await lab.append(rowsOf(commit, lab.clock.nowNs()));
      for (const sweep of sweeps) {
        if ((dueMs.get(sweep.name) ?? 0) > lab.clock.nowMs()) continue;
        while (await sweep.run(EVENTS, NEVER));
        dueMs.set(sweep.name, lab.clock.nowMs() + sweep.intervalMs);
      }
      lab.clock.shift(COMMIT_SECS * 1_000);
      if ((commit + 1) % Math.floor(commits / 8) === 0) samples.push(await sample(lab, commit + 1));
    }
    // From a quarter on the table is in its steady state.
    const steady = samples.slice(1);
    for (const { events, bytes } of steady) {
      const perEvent = bytes / events;
      assert.ok(perEvent <= BYTES_PER_EVENT_MAX, `${perEvent} bytes an event after ${events}`);
    }
    for (const one of samples) {
      assert.ok(one.files <= 7 * 6, `${one.files} files after ${one.events} events`);
      assert.ok(
        one.snapshots <= RETAIN_LAST + 30,
        `${one.snapshots} snapshots after ${one.events} events`,
      );
    }
    const [early, late] = [steady[1], steady.at(-1)];
    assert.ok(early !== undefined && late !== undefined);
    const growth = late.objects / early.objects;
    assert.ok(growth <= 1.5, `${early.objects} objects became ${late.objects}`);
    const numbers = (await lab.rows()).map(({ number }) => number);
    assert.deepEqual(numbers, [...Array(commits * COMMIT_SECS).keys()]);
    if (Deno.env.has("SVC_STORAGE_HOURS")) {
      for (const one of samples) await Deno.stdout.write(new TextEncoder().encode(lineOf(one)));
    }
  },
});

function rowsOf(commit: number, nowNs: bigint): LabRow[] {
  return Array.from({ length: COMMIT_SECS }, (_, at) => ({
    number: commit * COMMIT_SECS + at,
    ns: nowNs - BigInt(COMMIT_SECS - at) * 1_000_000_000n,
  }));
}

async function sample(lab: MaintenanceLab, commits: number): Promise<Sample> {
  const objects = await Array.fromAsync(lab.store.list(""));
  return {
    events: commits * COMMIT_SECS,
    bytes: objects.reduce((sum, { size }) => sum + size, 0),
    objects: objects.length,
    files: (await lab.files()).length,
    snapshots: (await lab.table())?.metadata.snapshots.length ?? 0,
  };
}

function lineOf({ events, bytes, objects, files, snapshots }: Sample): string {
  const perEvent = (bytes / events).toFixed(0);
  return `${events} events: ${perEvent} bytes each, ${objects} objects, ${files} files, ${snapshots} snapshots\n`;
}
