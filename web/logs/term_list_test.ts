import { strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { withTerm } from "./term_list.ts";

const CASES: readonly (readonly [search: string, term: string, wanted: string])[] = [
  ["", "level:error", "level:error"],
  ["level:error", "level:error", ""],
  ["cart", "level:error", "cart level:error"],
  ["a OR b", "level:error", "(a OR b) level:error"],
  ["(a OR b)", "level:error", "(a OR b) level:error"],
  ["(a) OR (b)", "c", "((a) OR (b)) c"],
  ["cart level:error", "level:error", "cart"],
  ["level:error cart", "level:error", "cart"],
  ["a AND level:error AND b", "level:error", "a AND b"],
  ["a AND level:error", "level:error", "a"],
  ["a OR level:error", "level:error", "(a OR level:error) level:error"],
  ['"level:error x"', "level:error", '"level:error x" level:error'],
  ['"two  spaces" level:error', "level:error", '"two  spaces"'],
  ['broken "', "b", 'broken " b'],
];

Deno.test({
  name: "withTerm adds a term to all that was asked, or takes just that term away",
  fn() {
    for (const [search, term, wanted] of CASES) {
      strictEqual(withTerm(search, term), wanted, `${search} + ${term}`);
    }
  },
});

Deno.test({
  name: "withTerm takes away what it added",
  fn() {
    const word = fc.stringMatching(/^[a-z]{1,5}$/);
    fc.assert(fc.property(fc.array(word, { minLength: 1 }), word, (words, added) => {
      const search = words.join(" ");
      strictEqual(withTerm(withTerm(search, `f:${added}`), `f:${added}`), search);
    }));
  },
});
