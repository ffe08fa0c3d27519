import assert from "node:assert/strict";
import fc from "fast-check";
import { mayLoseDigits } from "./inexact_numbers.ts";

const LONG = /[:,[]\s*-?([0-9.]{16,})/g;
const FAR = /[:,[]\s*[-+0-9.]*[0-9.][eE][-+]?[0-9]{3}/;

/** Without `g`: it keeps no place. */
const LONG_SLOW = /[:,[]\s*-?[0-9.]{16}/;

function patternsSay(text: string): boolean {
  const long = [...text.matchAll(LONG)].map(([, digits = ""]) => digits);
  return long.some((digits) => !digits.includes(".") || String(Number(digits)) !== digits) ||
    FAR.test(text);
}

Deno.test({
  name: "mayLoseDigits says what the patterns say",
  fn() {
    const part = fc.oneof(
      fc.constantFrom(":", ",", "[", " ", "\t\r\n", "-", "x", ".", "e", "E+", "400", "\u4e2d", '"'),
      fc.integer({ min: 1, max: 40 }).map((length) => "7".repeat(length)),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((double) => `:${double}`),
    );
    let found = 0;
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        const expected = patternsSay(text);
        if (expected) found += 1;
        assert.equal(mayLoseDigits(text), expected, JSON.stringify(text));
      }),
      { numRuns: 5_000 },
    );
    assert.ok(found > 500 && found < 4_500, `${found}`);
  },
});

Deno.test({
  name: "mayLoseDigits takes a fraction of the pattern's time of a text of nothing but colons",
  fn() {
    const text = ":".repeat(4 * 1024 * 1024);
    let share = Infinity;
    for (let run = 0; run < 5; run += 1) {
      const startMs = performance.now();
      LONG_SLOW.test(text);
      const patternMs = performance.now() - startMs;
      mayLoseDigits(text);
      share = Math.min(share, (performance.now() - startMs - patternMs) / patternMs);
    }
    assert.ok(share < 0.3, `${share}`);
  },
});
