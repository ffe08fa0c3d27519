import assert from "node:assert/strict";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { textPart } from "../../testing/text_part.ts";
import { collectValues } from "./collect_values.ts";

const ROWS = 1_000;
const SEEDS = 3;
const MEMBERS = [
  '"a":"1"',
  '"a":"12"',
  '"a" : "1"',
  '"a":1',
  '"a":12',
  '"a":null',
  '"a":1.5',
  '"aa":"1"',
  '"b":"\\u0041"',
  '"b":"A"',
  '"b":true',
  '"b":[1]',
  '"\\u0062":"A"',
];

/** The hashes by row. */
function hashesOf(texts: readonly string[]): number[][] {
  const { hashes, places: { starts, granules } } = collectValues(7, {
    parts: [textPart(texts)],
    shift: 0,
  });
  const rows: number[][] = texts.map(() => []);
  hashes.forEach((hash, number) => {
    for (const row of granules.subarray(starts[number], starts[number + 1])) rows[row]?.push(hash);
  });
  return rows.map((row) => row.sort((a, b) => a - b));
}

for (let seed = 0; seed < SEEDS; seed += 1) {
  for (const kind of ["objects", "plain values"]) {
    Deno.test(`collectValues finds in ${kind} what it finds in each alone, whatever came before: seed ${seed}`, () => {
      const random = new SeededRandom(seed);
      const pick = () => MEMBERS[random.below(MEMBERS.length)] as string;
      const texts = Array.from({ length: ROWS }, () => {
        const members = Array.from({ length: random.below(4) }, pick).join(
          random.below(3) === 0 ? ", " : ",",
        );
        // The second is no object.
        return kind === "objects"
          ? `{${members}${random.below(30) === 0 ? "," : ""}}`
          : `-${members}`;
      });
      assert.deepEqual(hashesOf(texts), texts.flatMap((text) => hashesOf([text])));
    });
  }
}
