import assert from "node:assert/strict";
import fc from "fast-check";
import { dayOfNs, formatMicros, formatNanos, parseOptionalTimeNs, parseRfc3339Ns } from "./time.ts";

const PARSED: readonly (readonly [string, bigint | undefined])[] = [
  ["1970-01-01T00:00:00Z", 0n],
  ["1970-01-01T00:00:00.000000001Z", 1n],
  ["2026-11-20T21:04:05.123456789Z", 1_795_208_645_123_456_789n],
  ["2026-11-20 21:04:05Z", 1_795_208_645_000_000_000n],
  ["2026-11-20T23:04:05+02:00", 1_795_208_645_000_000_000n],
  ["2026-11-20T19:34:05-0130", 1_795_208_645_000_000_000n],
  ["2026-11-20T21:04:05.1234567891Z", 1_795_208_645_123_456_789n],
  ["2024-02-29T00:00:00Z", 1_709_164_800_000_000_000n],
  ["2026-02-29T00:00:00Z", undefined],
  ["2026-13-01T00:00:00Z", undefined],
  ["2026-11-20T24:00:00Z", undefined],
  ["2026-11-20T21:60:00Z", undefined],
  ["2026-11-20T21:04:05", undefined],
  ["2026-11-20", undefined],
  ["2100-02-29T00:00:00Z", undefined],
  ["0000-01-01T00:00:00Z", -62_167_219_200_000_000_000n],
  ["2026-11-20T21:04:60Z", undefined],
  ["2026-11-20T21:04:05.Z", undefined],
  ["2026-11-20T21:04:05,5z", 1_795_208_645_500_000_000n],
  ["2026-11-20T21:04:05Z ", undefined],
  ["2026-11-20T21:04:05+2:00", undefined],
  ["2026-11-20T21:04:05+02:00x", undefined],
  ["2026-11-20T21:04:05+02", undefined],
  ["2026-11-20T21:04:05-23:59", 1_795_294_985_000_000_000n],
  ["2026-11-20T21:04:05+24:00", undefined],
  ["2026-11-20T21:04:05+00:60", undefined],
  ["2026-11-2\u0660T21:04:05Z", undefined],
  ["+026-11-20T21:04:05Z", undefined],
  ["", undefined],
  ["yesterday", undefined],
];

Deno.test({
  name: "parseRfc3339Ns: each text of the table gives its instant or none",
  fn() {
    for (const [text, expected] of PARSED) assert.equal(parseRfc3339Ns(text), expected, text);
  },
});

const SECOND_NS = 1_795_208_645_000_000_000n;
const DAY_NS = 1_795_132_800_000_000_000n;
/** Elasticsearch's `strict_date_optional_time`, and a space for its `T`. */
const OPTIONAL: readonly (readonly [string, bigint | undefined])[] = [
  ["2026-11-20T21:04:05.123456789", SECOND_NS + 123_456_789n],
  ["2026-11-20T21:04:05.1", SECOND_NS + 100_000_000n],
  ["2026-11-20T21:04:05,123456", SECOND_NS + 123_456_000n],
  ["2026-11-20T21:04:05", SECOND_NS],
  ["2026-11-20 21:04:05", SECOND_NS],
  ["2026-11-20 21:04:05.5", SECOND_NS + 500_000_000n],
  ["2026-11-20T21:04", SECOND_NS - 5_000_000_000n],
  ["2026-11-20T21", SECOND_NS - 245_000_000_000n],
  ["2026-11-20T", DAY_NS],
  ["2026-11-20", DAY_NS],
  ["2026-11", DAY_NS - 19n * 86_400_000_000_000n],
  ["2026", 1_767_225_600_000_000_000n],
  ["2026-11-20T23:04:05+02", SECOND_NS],
  ["2026-11-20T23:04+0200", SECOND_NS - 5_000_000_000n],
  ["2026-11-20T21:04Z", SECOND_NS - 5_000_000_000n],
  ["2026-11-20T21Z", SECOND_NS - 245_000_000_000n],
  ["2024-02-29", 1_709_164_800_000_000_000n],
  ["2026-02-29", undefined],
  ["2026-13", undefined],
  ["2026-11-20T24", undefined],
  ["2026-11-20T21:60", undefined],
  ["2026-11-20T21:04:60", undefined],
  ["2026-11-20T21:04:05.", undefined],
  ["2026-11-20T21:04.5", undefined],
  ["2026-11-20Z", undefined],
  ["2026-11-20TZ", undefined],
  ["2026-1-2", undefined],
  ["26-11-20", undefined],
  ["20261120", undefined],
  ["2026-11-20T21:04:05 ", undefined],
  [" 2026-11-20", undefined],
  ["2026-11-20T21:4", undefined],
  ["", undefined],
];

Deno.test({
  name:
    "parseOptionalTimeNs: no zone is UTC, what is missing is its least, and all else is as in RFC 3339",
  fn() {
    for (const [text, expected] of OPTIONAL) {
      assert.equal(parseOptionalTimeNs(text), expected, text);
      assert.equal(parseRfc3339Ns(text), undefined, text);
    }
    for (const [text, expected] of PARSED) {
      if (expected !== undefined) assert.equal(parseOptionalTimeNs(text), expected, text);
    }
  },
});

Deno.test({
  name: "formatMicros, formatNanos: fixed width, also before 1970",
  fn() {
    assert.equal(formatMicros(1_795_208_645_123_456n), "2026-11-20T21:04:05.123456Z");
    assert.equal(formatMicros(0n), "1970-01-01T00:00:00.000000Z");
    assert.equal(formatMicros(-1n), "1969-12-31T23:59:59.999999Z");
    assert.equal(formatNanos(1_795_208_645_000_000_007n), "2026-11-20T21:04:05.000000007Z");
    assert.equal(formatNanos(-1n), "1969-12-31T23:59:59.999999999Z");
  },
});

Deno.test({
  name: "formatNanos then parseRfc3339Ns: every instant of the range comes back",
  fn() {
    const instant = fc.bigInt({ min: 0n, max: 9_223_372_036_854_775_807n });
    fc.assert(fc.property(instant, (ns) => parseRfc3339Ns(formatNanos(ns)) === ns));
  },
});

Deno.test({
  name: "parseRfc3339Ns: a day that the runtime's own parser knows, and no other",
  fn() {
    const two = (number: number) => String(number).padStart(2, "0");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9999 }),
        fc.nat(13),
        fc.nat(32),
        fc.nat(25),
        (year, month, day, hour) => {
          const date = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
          const parsed = new Date(`${date}T${two(hour)}:30:15Z`);
          const isDay = parsed.getTime() === parsed.getTime() && hour < 24 &&
            parsed.toISOString().startsWith(date);
          const expected = isDay ? BigInt(parsed.getTime()) * 1_000_000n : undefined;
          assert.equal(parseRfc3339Ns(`${date}T${two(hour)}:30:15Z`), expected);
        },
      ),
      { numRuns: 3_000 },
    );
  },
});

Deno.test({
  name: "dayOfNs: the day holds its first and last nanosecond",
  fn() {
    const day = 86_400_000_000_000n;
    assert.equal(dayOfNs(0n), 0);
    assert.equal(dayOfNs(day - 1n), 0);
    assert.equal(dayOfNs(day), 1);
    assert.equal(dayOfNs(-1n), -1);
    assert.equal(dayOfNs(-day), -1);
  },
});
