import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseTimePhrase } from "./time_phrase.ts";
import { instantText } from "./time_zone.ts";

const NOW_MS = Date.parse("2026-11-20T21:04:05Z");
const CLOCK = { nowMs: NOW_MS, zone: "utc" } as const;
const HOUR = 3_600_000;

const at = (text: string) => Date.parse(text);

const SPANS: readonly (readonly [phrase: string, ms: number])[] = [
  ["last 2h", 2 * HOUR],
  ["Last 15 minutes", HOUR / 4],
  ["90s", 90_000],
  ["last hour", HOUR],
  ["past 7 days", 168 * HOUR],
  ["-2w", 336 * HOUR],
];

const RANGES: readonly (readonly [phrase: string, from: string, to: string])[] = [
  ["yesterday", "2026-11-19T00:00:00Z", "2026-11-20T00:00:00Z"],
  ["today", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"],
  ["2026-11-18", "2026-11-18T00:00:00Z", "2026-11-19T00:00:00Z"],
  ["2026-11-18 .. 2026-11-19", "2026-11-18T00:00:00Z", "2026-11-20T00:00:00Z"],
  ["2026-11-18 to yesterday", "2026-11-18T00:00:00Z", "2026-11-20T00:00:00Z"],
  ["2026-11-18 09:30 .. 2026-11-18 10:00:01.5", "2026-11-18T09:30:00Z", "2026-11-18T10:00:01.500Z"],
  ["2026-11-18T09:30:00+01:00..now", "2026-11-18T08:30:00Z", "2026-11-20T21:04:05Z"],
  ["9:30 - 10:00", "2026-11-20T09:30:00Z", "2026-11-20T10:00:00Z"],
  ["now-2h .. now-1h", "2026-11-20T19:04:05Z", "2026-11-20T20:04:05Z"],
  ["3h ago .. 30m ago", "2026-11-20T18:04:05Z", "2026-11-20T20:34:05Z"],
  ["2026-11-20 20:00", "2026-11-20T20:00:00Z", "2026-11-20T21:04:05Z"],
];

Deno.test({
  name: "parseTimePhrase reads spans, days and ranges",
  fn() {
    for (const [phrase, ms] of SPANS) {
      deepStrictEqual(parseTimePhrase(phrase, CLOCK), { kind: "last", ms }, phrase);
    }
    for (const [phrase, from, to] of RANGES) {
      const range = { kind: "between", from: at(from), to: at(to) };
      deepStrictEqual(parseTimePhrase(phrase, CLOCK), range, phrase);
    }
  },
});

Deno.test({
  name: "parseTimePhrase refuses what is no time, and ranges that end before they begin",
  fn() {
    const wrong = [
      ...["", "soon", "0h", "2026-13-01", "2026-02-30", "25:00 .. 26:00", "last"],
      ...["2026-11-20 .. 2026-11-18", "now .. yesterday", "1h ago .. 2h ago", "..", "12:61"],
      // No row is as old or as new, and 0001 is not 1901.
      ...["9999-01-01 .. 9999-12-31", "0001-01-01", "1500-01-01 .. 1600-01-01"],
    ];
    for (const phrase of wrong) strictEqual(parseTimePhrase(phrase, CLOCK), undefined, phrase);
  },
});

Deno.test({
  name: "parseTimePhrase reads what instantText writes, in both zones",
  fn() {
    const instant = fc.integer({ min: at("2001-01-01T00:00:00Z"), max: NOW_MS - 1 });
    fc.assert(fc.property(instant, fc.constantFrom("utc", "local"), (from, zone) => {
      const phrase = `${instantText(from, zone)} .. ${instantText(NOW_MS, zone)}`;
      const read = parseTimePhrase(phrase, { nowMs: NOW_MS, zone });
      // Where clocks are put back, two instants have one text.
      strictEqual(read?.kind, "between");
      if (read?.kind !== "between") return;
      strictEqual(instantText(read.from, zone), instantText(from, zone));
      strictEqual(read.to, NOW_MS);
    }));
  },
});
