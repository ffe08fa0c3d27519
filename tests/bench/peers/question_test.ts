import assert from "node:assert/strict";
import { type Answer, disagreement, idsIn, ranked, type RightAnswer } from "./question.ts";

const CASES: readonly {
  readonly name: string;
  readonly answer: readonly (readonly [string, number])[];
  readonly right: readonly (readonly [string, number | readonly [number, number]])[];
  readonly said?: RegExp;
}[] = [
  { name: "the same", answer: [["a", 1], ["b", 2]], right: [["b", 2], ["a", 1]] },
  {
    name: "another number",
    answer: [["", 9]],
    right: [["", 10]],
    said: /number is 9 instead of 10/,
  },
  { name: "one too few", answer: [], right: [["a", 1]], said: /"a" is missing, 0 of 1 there/ },
  {
    name: "one too many",
    answer: [["a", 1], ["b", 1]],
    right: [["a", 1]],
    said: /2 entries instead/,
  },
  { name: "a mean that is as good", answer: [["x avg", 1.0000001]], right: [["x avg", 1]] },
  { name: "a mean that is not", answer: [["x avg", 1.001]], right: [["x avg", 1]], said: /1\.001/ },
  {
    name: "a count that is nearly right",
    answer: [["x", 1e9]],
    right: [["x", 1e9 + 1]],
    said: /x/,
  },
  { name: "within a range", answer: [["x p95", 7]], right: [["x p95", [6, 8]]] },
  {
    name: "below it",
    answer: [["x p95", 5]],
    right: [["x p95", [6, 8]]],
    said: /5 instead of 6 to 8/,
  },
  { name: "no number", answer: [["", NaN]], right: [["", 0]], said: /NaN/ },
];

for (const { name, answer, right, said } of CASES) {
  Deno.test({
    name: `disagreement ${said === undefined ? "accepts" : "says"}: ${name}`,
    fn: () => {
      const found = disagreement(new Map(answer) as Answer, new Map(right) as RightAnswer);
      if (said === undefined) assert.equal(found, undefined);
      else assert.match(found ?? "nothing", said);
    },
  });
}

Deno.test({
  name: "idsIn counts each id of an answer, whatever is around it",
  fn: () => {
    const text = '[["x req=0123456789abcdef user=u1"],"y req=0123456789abcdef","req=short"]';
    assert.deepEqual([...idsIn(text)], [["0123456789abcdef", 2]]);
  },
});

Deno.test({
  name: "ranked values of one count may stand in any order",
  fn: () => assert.deepEqual(ranked([3, 5, 3]), ranked([5, 3, 3])),
});
