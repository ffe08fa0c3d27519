import { deepStrictEqual } from "node:assert/strict";
import { binMsOf, instantsOf } from "./time_range.ts";

const NOW = Date.parse("2026-11-27T12:34:56.789Z");

Deno.test("a last hour and more is of whole minutes, and bins of them; less ends a minute from now", () => {
  for (
    const [ms, from, to, binMs] of [
      [900_000, "12:19:56.789", "12:35:56.789", 15_000],
      [3_600_000, "11:34:00.000", "12:36:00.000", 60_000],
      [21_600_000, "06:34:00.000", "12:36:00.000", 300_000],
    ] as const
  ) {
    const instants = instantsOf({ kind: "last", ms }, NOW);
    deepStrictEqual(instants, {
      from: Date.parse(`2026-11-27T${from}Z`),
      to: Date.parse(`2026-11-27T${to}Z`),
    });
    deepStrictEqual(binMsOf(instants, 90), binMs);
  }
  const between = { from: NOW - 5_000_000, to: NOW };
  deepStrictEqual(instantsOf({ kind: "between", ...between }, NOW), between);
});
