import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { stemOf, wordsOfStem } from "./stem.ts";

const STEMS: readonly (readonly [token: string, stem: string])[] = [
  ["connection", "connect"],
  ["connected", "connect"],
  ["connecting", "connect"],
  ["ponies", "poni"],
  ["hopping", "hop"],
  ["filing", "file"],
  ["happy", "happi"],
  ["sky", "sky"],
  ["yes", "ye"],
  ["relational", "relat"],
  ["electricity", "electr"],
  ["controlling", "control"],
  ["is", "is"],
  ["", ""],
  // No English words: their own stems.
  ["user_ids", "user_ids"],
  ["0x7faced", "0x7faced"],
  ["naïves", "naïves"],
  ["störungen", "störungen"],
  ["接", "接"],
  ["running".padEnd(41, "s"), "running".padEnd(41, "s")],
];

Deno.test({
  name: "stemOf: a token of 3 to 40 letters a-z has Porter's stem, any other is its own",
  fn() {
    for (const [token, stem] of STEMS) strictEqual(stemOf(token), stem, token);
  },
});

Deno.test({
  name: "wordsOfStem: all words of a stem, those of another language only themselves",
  fn() {
    deepStrictEqual(wordsOfStem("sky"), ["sky", "skyed", "skyeds", "skying", "skyings", "skys"]);
    for (const token of ["user_ids", "störungen", "接", "is", "a".repeat(41)]) {
      ok(wordsOfStem(stemOf(token)).includes(token), token);
    }
    deepStrictEqual(wordsOfStem("störungen"), ["störungen"]);
    ok(wordsOfStem("connect").length < 3_500);
  },
});

const RUNS = Number(Deno.env.get("SVC_TEST_STEM_RUNS") ?? 150);
const letters = (alphabet: string, maxLength: number) =>
  fc.array(fc.constantFrom(...alphabet), { maxLength }).map((all) => all.join(""));
const ENDINGS = (
  "ational tional enci anci izer bli alli entli eli ousli ization ation ator alism iveness fulness ousness aliti iviti " +
  "biliti logi icate ative alize iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion ou ism ate iti " +
  "ous ive ize ed ing eed s es ies sses y e ll ability ally bly ility ity ncy"
).split(" ");
const words = fc.oneof(
  letters("abcdefghijklmnopqrstuvwxyz", 12),
  // Words that many steps apply to.
  letters("abeiklnostxyz", 6),
  fc.tuple(
    letters("abceilnoprsty", 6),
    fc.array(fc.constantFrom(...ENDINGS), { minLength: 1, maxLength: 4 }),
  ).map(([start, endings]) => start + endings.join("")),
);

Deno.test({
  name: "wordsOfStem has each word among those of its stem, and none of another stem",
  fn() {
    fc.assert(
      fc.property(words, (word) => {
        const family = wordsOfStem(stemOf(word));
        ok(family.includes(word), `${word} is not among the ${family.length} of ${stemOf(word)}`);
        ok(family.every((one) => stemOf(one) === stemOf(word)));
        ok(family.every((one, at) => at === 0 || (family[at - 1] ?? "") < one), "ascending");
      }),
      { numRuns: RUNS },
    );
  },
});
