import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { wordsOfStem } from "../../derived/text/stem.ts";
import { patternOfWords } from "./word_pattern.ts";

const word = fc.array(fc.constantFrom(..."abc"), { minLength: 1, maxLength: 6 })
  .map((letters) => letters.join(""));

Deno.test({
  name: "patternOfWords matches its words and no other",
  fn() {
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 60 }), (words) => {
        const pattern = new RegExp(`^(?:${patternOfWords(words.toSorted())})$`);
        const all = fc.sample(word, 200).concat(words);
        for (const one of all) strictEqual(pattern.test(one), words.includes(one), `${one}`);
      }),
      { numRuns: 50 },
    );
  },
});

Deno.test({
  name: "patternOfWords of a stem's words is short",
  fn() {
    const words = wordsOfStem("connect");
    const pattern = "connect" + patternOfWords(words.map((word) => word.slice("connect".length)));
    ok(pattern.length < 5_000, `${pattern.length} characters`);
    const whole = new RegExp(`^(?:${pattern})$`);
    deepStrictEqual(words.filter((one) => !whole.test(one)), []);
    for (const other of ["connec", "connects2", "connectx", "connectivityy"]) {
      ok(!whole.test(other), other);
    }
  },
});
