/**
 * What every `MaintenanceCatalog` must do: cases for a fresh catalog, seen through two connections.
 */

import assert from "node:assert/strict";
import type { MaintenanceCatalog } from "../catalog/sql_maintenance_catalog.ts";

export interface MaintenanceCatalogCase {
  readonly name: string;
  run(one: MaintenanceCatalog, other: MaintenanceCatalog): Promise<void>;
}

const HOUR_MS = 3_600_000;
/** What is left of an hour's lease when the clock is set back by nine. */
const TAKEN_AHEAD = 10 * HOUR_MS;

export const MAINTENANCE_CATALOG_CASES: readonly MaintenanceCatalogCase[] = [
  {
    name: "a lease is one holder's until it is released or runs out",
    async run({ leases }, { leases: others }) {
      assert.equal(await leases.take("merge/svc.events", "a", HOUR_MS), true);
      assert.equal(await others.take("merge/svc.events", "b", HOUR_MS), false);
      assert.equal(await others.take("merge/svc.traces", "b", HOUR_MS), true);
      assert.equal(await leases.take("merge/svc.events", "a", HOUR_MS), true, "renewed");
      await others.release("merge/svc.events", "b");
      assert.equal(await others.take("merge/svc.events", "b", HOUR_MS), false, "not b's to end");
      await leases.release("merge/svc.events", "a");
      assert.equal(await others.take("merge/svc.events", "b", 0), true);
      assert.equal(await leases.take("merge/svc.events", "a", HOUR_MS), true, "b's ran out");
    },
  },
  {
    name: "a lease that was taken before the clock was set back is free",
    async run({ leases }, { leases: others }) {
      assert.equal(await leases.take("merge/svc.events", "a", TAKEN_AHEAD), true);
      assert.equal(await others.take("merge/svc.events", "b", HOUR_MS), true);
      assert.equal(await leases.take("merge/svc.events", "a", HOUR_MS), false, "it is b's");
    },
  },
  {
    name: "leases that race have one holder",
    async run({ leases }, { leases: others }) {
      for (let round = 0; round < 20; round += 1) {
        const name = `merge/${round}`;
        const taken = await Promise.all([
          leases.take(name, "a", HOUR_MS),
          others.take(name, "b", HOUR_MS),
        ]);
        assert.equal(taken.filter((one) => one).length, 1);
      }
    },
  },
  {
    name: "a scrub is kept as it was told, and damage until it is forgotten",
    async run({ scrubs }, { scrubs: others }) {
      const pass = { beganMs: 1, cursor: "k", files: 2, bytes: 2 ** 40, unsummed: 1 };
      await scrubs.keep("svc/t", { ...pass, wholeMs: undefined });
      await scrubs.keep("svc/u", { ...pass, cursor: undefined, wholeMs: 1 });
      await scrubs.keep("svc/t", { ...pass, files: 3, wholeMs: undefined });
      assert.deepEqual(Object.fromEntries(await others.passes()), {
        "svc/t": { ...pass, files: 3, wholeMs: undefined },
        "svc/u": { ...pass, cursor: undefined, wholeMs: 1 },
      });
      await scrubs.found("svc/t", { key: "b", damage: "one", foundMs: 5 });
      await scrubs.found("svc/t", { key: "a", damage: "x", foundMs: 6 });
      await others.found("svc/t", { key: "b", damage: "two", foundMs: 7 });
      assert.deepEqual(await scrubs.damaged("svc/t"), [
        { key: "a", damage: "x", foundMs: 6 },
        { key: "b", damage: "two", foundMs: 5 },
      ]);
      assert.deepEqual(await others.damagedCounts(), new Map([["svc/t", 2]]));
      await scrubs.forgetDamage(["a", "never"]);
      assert.deepEqual((await scrubs.damaged("svc/t")).map(({ key }) => key), ["b"]);
      await scrubs.forgetTables(["svc/t"]);
      assert.deepEqual(await scrubs.damaged("svc/t"), []);
      assert.deepEqual([...(await others.passes()).keys()], ["svc/u"]);
    },
  },
  {
    name: "a file is due when the later of its graces has passed, and is forgotten once",
    async run({ removals }, { removals: others }) {
      await removals.enter("svc/t", ["late", "later"], HOUR_MS);
      await removals.enter("svc/t", ["b", "a", "late"], 0);
      await removals.enter("svc/t", ["later"], 2 * HOUR_MS);
      await removals.enter("svc/other", ["x"], 0);
      await removals.enter("svc/t", [], 0);
      assert.deepEqual(await others.due("svc/t", { max: 10, graceMs: 0 }), ["a", "b"]);
      assert.deepEqual(await others.due("svc/t", { max: 1, graceMs: 0 }), ["a"]);
      assert.deepEqual(await others.entered("svc/t"), new Set(["a", "b", "late", "later"]));
      await others.forget(["a", "late", "later", "never entered"]);
      await others.forget([]);
      assert.deepEqual(await removals.entered("svc/t"), new Set(["b"]));
      assert.deepEqual(await removals.due("svc/other", { max: 10, graceMs: 0 }), ["x"]);
    },
  },
  {
    name: "a file is not due while a statement lasts that began before it was entered",
    async run({ removals, longReads }, { removals: others, longReads: elsewhere }) {
      const due = () => others.due("svc/t", { max: 10, graceMs: 0 });
      await elsewhere.hold("ran out", 0);
      await longReads.hold("long", HOUR_MS);
      await later();
      await removals.enter("svc/t", ["a"], 0);
      assert.deepEqual(await due(), []);
      await later();
      // It began later than "a" was entered, and holds what is entered from now on alone.
      await elsewhere.hold("second", HOUR_MS);
      await longReads.end("long");
      assert.deepEqual(await due(), ["a"]);
      await later();
      await removals.enter("svc/t", ["b"], 0);
      // Holding it again is no new beginning.
      await elsewhere.hold("second", HOUR_MS);
      assert.deepEqual(await due(), ["a"]);
      await longReads.end("second");
      assert.deepEqual(await due(), ["a", "b"]);
    },
  },
];

/** A later millisecond of the catalog's clock. */
function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20));
}
