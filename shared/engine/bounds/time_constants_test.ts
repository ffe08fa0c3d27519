import assert from "node:assert/strict";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";
import { textMicros } from "./time_constants.ts";

const twoDigits = fc.integer({ min: 0, max: 62 }).map((value) => String(value).padStart(2, "0"));
const date = fc.tuple(
  fc.oneof(fc.integer({ min: 0, max: 9_999 }), fc.constantFrom(1969, 1970, 2000, 2024, 2026)),
  fc.integer({ min: 0, max: 13 }),
  fc.integer({ min: 0, max: 32 }),
).map(([year, month, day]) =>
  `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}-${
    String(day).padStart(2, "0")
  }`
);
const fraction = fc.constantFrom("", ".", ".5", ".123456", ".1234567", ".999999999", ".1234567891");
const zone = fc.constantFrom("", "Z", "z", "+00", "+02:00", " Z");
const text = fc.oneof(
  date,
  fc.tuple(date, fc.constantFrom("T", " ", "t"), twoDigits, twoDigits, twoDigits, fraction, zone)
    .map(([day, between, hour, minute, second, part, end]) =>
      `${day}${between}${hour}:${minute}:${second}${part}${end}`
    ),
);

Deno.test({
  name: "textMicros reads a time as DuckDB does, or leaves it to that",
  async fn() {
    await using lab = await EngineLab.open();
    const texts = [...new Set([...fc.sample(text, 2_000), ...ALWAYS_READ])];
    const asked = texts.map((one) => `epoch_us(TRY_CAST('${one}' AS TIMESTAMPTZ))`);
    const { rows } = await lab.query(`SELECT unnest([${asked.join(", ")}])::VARCHAR`);
    let read = 0;
    texts.forEach((one, at) => {
      const micros = textMicros(one);
      if (micros === undefined) return;
      read += 1;
      assert.equal(String(micros), (rows[at] as unknown[])[0], one);
    });
    for (const one of ALWAYS_READ) assert.notEqual(textMicros(one), undefined, one);
    assert.ok(read > 100, `${read} were read`);
  },
});

/** What dashboards and people write. */
const ALWAYS_READ = [
  "2026-11-20",
  "2026-11-20 10:00:00",
  "2026-11-20T10:00:00Z",
  "2026-11-20T10:00:00.123Z",
  "1969-12-31T23:59:59.1234567Z",
];
