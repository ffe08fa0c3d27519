import assert from "node:assert/strict";
import { NS_PER_SEC } from "../base/time.ts";
import { readSidecar } from "../derived/sidecar.ts";
import type { DataFile } from "../iceberg/types.ts";
import { type LabRow, MaintenanceLab } from "../testing/maintenance_lab.ts";
import { EVENTS } from "../testing/table_lab.ts";
import { applyRetention, lookForRetention, overdueNsMax, planRetention } from "./retention.ts";

const PERIOD_SECS = 7_200;
const MINUTE_NS = 60n * NS_PER_SEC;

Deno.test("planRetention takes whole files that are past, and cuts those that were long enough, some at a time", () => {
  const file = (key: string, min: bigint | undefined, max: bigint | undefined, mib = 1) =>
    ({ key, timestampNsMin: min, timestampNsMax: max, byteLength: mib * 1024 * 1024 }) as DataFile;
  const past = file("past", 0n, 99n);
  const files = [past, file("open", undefined, undefined), file("soon", 95n, 200n)];
  const keys = (chosen: readonly DataFile[]) => chosen.map(({ key }) => key);
  const whole = planRetention([...files, file("old", 10n, 200n)], { horizonNs: 100n });
  assert.deepEqual([keys(whole.files), keys(whole.cut), whole.more], [["past"], [], false]);
  const horizons = { horizonNs: 100n, cutNs: 90n };
  const exact = planRetention([...files, file("old", 10n, 200n)], horizons);
  assert.deepEqual([keys(exact.files), keys(exact.cut), exact.more], [["past"], ["old"], false]);
  const many = Array.from({ length: 20 }, (_, at) => file(`f${at}`, 10n, 200n));
  const some = planRetention(many, horizons);
  assert.deepEqual([some.cut.length, some.more], [16, true]);
  const large = planRetention([file("a", 1n, 200n, 300), file("b", 1n, 200n)], horizons);
  assert.deepEqual([keys(large.cut), large.more], [["a"], true]);
});

Deno.test("overdueNsMax is a 24th of the period, between a minute and an hour", () => {
  const secs = [1, 7_200, 864_000].map((period) => overdueNsMax(period) / NS_PER_SEC);
  assert.deepEqual(secs, [60n, 300n, 3_600n]);
});

Deno.test("exact retention takes just the rows before the horizon, and leaves a file alone that was cut just now", async () => {
  await using lab = await MaintenanceLab.open(1);
  const deps = lab.deps();
  const now = lab.clock.nowNs();
  const minutesAgo = (minutes: number, number: number): LabRow => ({
    number,
    ns: now - BigInt(minutes) * MINUTE_NS,
  });
  await lab.append([200, 190].map(minutesAgo));
  await lab.append([180, 150, 130, 119, 60].map((minutes, at) => minutesAgo(minutes, 10 + at)));
  await lab.append([20, 10].map((minutes, at) => minutesAgo(minutes, 20 + at)));
  const rule = { period_secs: PERIOD_SECS, exact: true };
  const plan = await lookForRetention(deps, EVENTS, rule);
  assert.ok(plan !== undefined);
  const report = await applyRetention(deps, plan);
  const { outcome, files, cut, rows } = report;
  assert.deepEqual({ outcome, files, cut, rows }, {
    outcome: "dropped",
    files: 1,
    cut: 1,
    rows: 5,
  });
  assert.deepEqual((await lab.rows()).map(({ number }) => number), [13, 14, 20, 21]);
  for (const file of await lab.files()) {
    assert.ok(await readSidecar(lab.store, file) !== undefined, file.key);
  }
  // Row 13 is past the horizon four minutes later, and overdue ten minutes later.
  for (const [shiftMinutes, expected] of [[4, 0], [6, 1]] as const) {
    lab.clock.shift(shiftMinutes * 60_000);
    const next = await lookForRetention(deps, EVENTS, rule);
    assert.equal(next?.cut.length, expected, `${shiftMinutes}`);
  }
  const last = await lookForRetention(deps, EVENTS, { period_secs: PERIOD_SECS });
  assert.deepEqual([last?.files.length, last?.cut.length], [0, 0]);
});

Deno.test("exact retention that fails at any call loses no row that it should keep, and ends the next time", async () => {
  for (let failing = 0;; failing += 1) {
    await using lab = await MaintenanceLab.open(1);
    const now = lab.clock.nowNs();
    const rows = [180, 130, 110, 60].map((minutes, number) => ({
      number,
      ns: now - BigInt(minutes) * MINUTE_NS,
    }));
    await lab.append(rows);
    let calls = 0;
    const gate = (call: string) => {
      if (calls++ === failing) throw new Error(`${call} fails`);
    };
    let failed = false;
    for (const deps of [lab.deps({ gate }), lab.deps()]) {
      try {
        const plan = await lookForRetention(deps, EVENTS, {
          period_secs: PERIOD_SECS,
          exact: true,
        });
        if (plan !== undefined) await applyRetention(deps, plan);
      } catch {
        failed = true;
      }
      const left = (await lab.rows()).map(({ number }) => number);
      assert.ok(left.length === 4 || left.length === 2, `${failing}: ${left}`);
      assert.deepEqual(left.slice(-2), [2, 3], `call ${failing}`);
    }
    assert.equal((await lab.rows()).length, 2, `call ${failing}`);
    if (!failed) break;
  }
});
