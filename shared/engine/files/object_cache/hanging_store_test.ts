import { deepStrictEqual, ok } from "node:assert/strict";
import { isOperatingError } from "../../../base/errors.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { RemoteStore } from "../../../testing/remote_store.ts";
import { until } from "../../../testing/until.ts";
import { turnsFor } from "../../turns/turns.ts";

const START_NS = 1_790_000_000_000_000_000n;
/** More than have a slot, and fewer than have a connection. */
const HANGING = turnsFor(2).light + 4;
/** Less than a statement has time, by default. */
const WAITS = { light: 10_000, dear: 10_000 };

Deno.test({
  name: "statements that wait for a store that hangs leave slots to those that need nothing of it",
  fn: async () => {
    const store = new RemoteStore();
    await using lab = await EngineLab.open({ store });
    await lab.commit([{ ns: START_NS, raw: "a" }], { derived: true });
    const hanging = Promise.withResolvers<void>();
    store.onRead = ({ key }) => key.endsWith(".parquet") ? hanging.promise : undefined;
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
