import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { until } from "../testing/until.ts";
import { startMaintenanceLoop } from "./maintenance_loop.ts";
import type { TableSweep } from "./table_sweeps.ts";

const TABLES: Readonly<Record<string, readonly string[]>> = {
  acme: Array.from({ length: 40 }, (_, at) => `app-${at}`),
  beta: ["web"],
};
const CATALOG = {
  namespaces: () => Promise.resolve(Object.keys(TABLES)),
  tables: (namespace: string) => Promise.resolve([...TABLES[namespace] ?? []]),
};

Deno.test({
  name: "MaintenanceLoop gives each tenant a turn before another has all of its tables swept",
  async fn() {
    const clock = new FakeClock();
    const turns: string[] = [];
    const sweep = (name: string, hasMore: (namespace: string) => boolean): TableSweep => ({
      name,
      intervalMs: 5_000,
      async run(ident, signal) {
        await clock.sleep(1_000, { signal });
        turns.push(`${name} ${ident.namespace}.${ident.name}`);
        return hasMore(ident.namespace);
      },
    });
    const sweeps = [
      sweep("merge", (namespace) => namespace === "acme"),
      sweep("rollups", () => false),
    ];
    await using _loop = startMaintenanceLoop({ catalog: CATALOG, clock }, sweeps);
    await clock.advance(80_500);
    const count = (text: string) => turns.filter((turn) => turn.startsWith(text)).length;
    assert.ok(count("merge beta") >= 8 && count("rollups beta") >= 8, turns.join(", "));
    assert.equal(new Set(turns.filter((turn) => turn.startsWith("merge acme"))).size, 40);
    assert.ok(count("rollups acme") > 0);
  },
});

Deno.test({
  name: "MaintenanceLoop tells of a sweep that hangs, and why one fails, until it ends well again",
  async fn() {
    const clock = new FakeClock();
    const told: [sweep: string, why: string | undefined][] = [];
    let isWell = false;
    const sweeps: TableSweep[] = [
      { name: "retention", intervalMs: 5_000, run: () => new Promise<boolean>(() => {}) },
      {
        name: "merge",
        intervalMs: 5_000,
        run: () =>
          isWell
            ? Promise.resolve(false)
            : Promise.reject(new OperatingError("unavailable", "away", { reason: "store_away" })),
      },
    ];
    const catalog = {
      namespaces: () => Promise.resolve(["svc"]),
      tables: () => Promise.resolve(["events"]),
    };
    const observer = {
      stalled: (_: unknown, sweep: string, stall: { why: string } | undefined) =>
        void told.push([sweep, stall?.why]),
    };
    const deps = { catalog, clock, observer, turnMsMax: 50, endingMsMax: 50 };
    await using _loop = startMaintenanceLoop(deps, sweeps);
    await clock.advance(1_000);
    await until(() => told.length > 0);
    await clock.advance(1_000);
    assert.deepEqual(told, [["retention", "hangs"], ["merge", "store_away"]]);
    isWell = true;
    await clock.advance(20_000);
    assert.deepEqual(told.slice(2), [["merge", undefined]], "the one that hangs is skipped");
  },
});
