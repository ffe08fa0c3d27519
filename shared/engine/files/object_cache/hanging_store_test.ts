import { deepStrictEqual, ok } from "node:assert/strict";
import { isOperatingError } from "../../../base/errors.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { RemoteStore } from "../../../testing/remote_store.ts";
import { until } from "../../../testing/until.ts";
import { LENT_SLOTS_MAX } from "../../limits.ts";
import { turnsFor } from "../../turns/turns.ts";

const START_NS = 1_790_000_000_000_000_000n;
/** More than have a slot, and fewer than have a connection. */
const HANGING = turnsFor(2).light + 4;
/** Less than a statement has time, by default. */
const WAITS = { light: 10_000, dear: 10_000 };

/** From `hang` on reads of data files wait until what it returns is resolved. */
async function openLab() {
  const store = new RemoteStore();
  const lab = await EngineLab.open({ store });
  await lab.commit([{ ns: START_NS, raw: "a" }], { derived: true });
  const hang = () => {
    const hanging = Promise.withResolvers<void>();
    store.onRead = ({ key }) => key.endsWith(".parquet") ? hanging.promise : undefined;
    return hanging;
  };
  return { store, lab, hang };
}

Deno.test({
  name: "statements that wait for a store that hangs leave slots to those that need nothing of it",
  fn: async () => {
    const { store, lab, hang } = await openLab();
    await using _lab = lab;
    const hanging = hang();
    const waiting = Array.from(
      { length: HANGING },
      () =>
        lab.query("SELECT max(raw) FROM events").then(
          ({ rows }) => rows,
          (error: unknown) => error,
        ),
    );
    await until(() => store.dataReads.length > 0);
    for (let at = 0; at < 3; at += 1) {
      deepStrictEqual((await lab.query("SELECT 1", { waitMs: WAITS })).rows, [[1]]);
    }
    hanging.resolve();
    for (const rows of await Promise.all(waiting)) {
      ok(!isOperatingError(rows), String(rows));
      deepStrictEqual(rows, [["a"]]);
    }
  },
});

Deno.test({
  name: "one tenant's statements that wait for a store leave a slot and a connection to another's",
  fn: async () => {
    const { store, lab, hang } = await openLab();
    await using _lab = lab;
    const other = () => lab.query("SELECT 1", { tenant: "other", waitMs: WAITS });
    await other();
    const hanging = hang();
    const flood = Array.from(
      { length: turnsFor(2).light + 2 * LENT_SLOTS_MAX },
      () => lab.query("SELECT max(raw) FROM events").catch(() => {}),
    );
    await until(() => store.dataReads.length > 0);
    // Slots are lent in waves, a second apart: by now all that may be.
    const endMs = performance.now() + 7_000;
    while (performance.now() < endMs) {
      deepStrictEqual((await other()).rows, [[1]]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    hanging.resolve();
    await Promise.all(flood);
  },
});
