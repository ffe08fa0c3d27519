import { deepStrictEqual, ok } from "node:assert/strict";
import { binMsOf, instantsOf, parseRange, rangeText, type TimeRange } from "./time_range.ts";

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

Deno.test("an address holds each range that can be typed", () => {
  const ranges: readonly TimeRange[] = [
    { kind: "last", ms: 30_000 },
    { kind: "last", ms: 999_999 * 7 * 86_400_000 },
    { kind: "between", from: 5, to: 9 },
    { kind: "between", from: -315_622_800_000, to: 169_200_000 },
    { kind: "between", from: -9_000, to: -5_000 },
  ];
  for (const range of ranges) deepStrictEqual(parseRange(rangeText(range)), range);
  deepStrictEqual(parseRange("6h"), parseRange("360m"));
  deepStrictEqual(parseRange("3d"), { kind: "last", ms: 3 * 86_400_000 });
  for (const text of ["", "0m", "9..5", "5..5", "-5m", "253370761200000..253402297200000"]) {
    deepStrictEqual(parseRange(text), undefined, text);
  }
});

Deno.test("a range has no instant that 64-bit nanoseconds do not hold", () => {
  const held = 9_223_372_036_854n;
  const spans: readonly (TimeRange | undefined)[] = [
    { kind: "last", ms: 999_999 * 7 * 86_400_000 },
    parseRange("-99999999999999..99999999999999"),
  ];
  for (const span of spans) {
    const { from, to } = instantsOf(span ?? { kind: "last", ms: 0 }, NOW);
    ok(BigInt(from) >= -held && from < NOW - 200 * 365 * 86_400_000, String(from));
    ok(BigInt(to) <= held && to >= NOW, String(to));
  }
});
