import assert from "node:assert/strict";
import fc from "fast-check";
import { hasLongNumber } from "./long_numbers.ts";

const PATTERN = /[:,[]\s*-?[0-9]{16}/;

Deno.test({
  name: "hasLongNumber says what the pattern says",
  fn() {
    const part = fc.oneof(
      fc.constantFrom(":", ",", "[", " ", "\t\r\n", "-", "x", ".", "\u4e2d"),
      fc.integer({ min: 1, max: 40 }).map((length) => "7".repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const text = parts.join("");
        assert.equal(hasLongNumber(text), PATTERN.test(text), JSON.stringify(text));
      }),
      { numRuns: 5_000 },
    );
  },
});

Deno.test({
  name: "hasLongNumber takes a fraction of the pattern's time of a text of nothing but colons",
  fn() {
    const text = ":".repeat(4 * 1024 * 1024);
    let share = Infinity;
    for (let run = 0; run < 5; run += 1) {
      const startMs = performance.now();
      PATTERN.test(text);
      const patternMs = performance.now() - startMs;
      hasLongNumber(text);
      share = Math.min(share, (performance.now() - startMs - patternMs) / patternMs);
    }
    assert.ok(share < 0.3, `${share}`);
  },
});
