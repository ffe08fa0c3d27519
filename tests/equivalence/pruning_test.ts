/**
 * With indexes the rows that a statement gives without them: random data and random statements, seeded.
 * `SVC_TEST_PRUNING_SEEDS` sets how many seeds, `SVC_TEST_SEED` the first one.
 */

import assert from "node:assert/strict";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { ExactRowIndexes } from "./exact_row_indexes.ts";
import { type Outcome, PruningLab } from "./pruning_lab.ts";
import { StatementMaker } from "./pruning_statements.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_PRUNING_SEEDS") ?? 1);
const STATEMENTS_A_SEED = 100;

Deno.test({
  name: "indexes that leave out every row that a predicate rules out change no answer",
  fn: async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      const indexes = new ExactRowIndexes();
      await using lab = await PruningLab.open(random, {
        indexes,
        probedRows: 1 + random.below(40),
      });
      const make = new StatementMaker(random);
      let answered = 0;
      for (let i = 0; i < STATEMENTS_A_SEED; i += 1) {
        const sql = make.statement();
        const expected = await lab.withoutIndexes(sql);
        const actual = await lab.withIndexes(sql);
        assertSame(actual, expected, `seed ${seed}: ${sql}`);
        if ("rows" in expected) answered += 1;
      }
      assert(answered > STATEMENTS_A_SEED * 0.9, `seed ${seed}: ${answered} answers`);
      assert(indexes.pruned > STATEMENTS_A_SEED * 0.3, `seed ${seed}: ${indexes.pruned} pruned`);
    }
  },
});

/** A row that makes a statement fail may be left out, so only answers count. */
function assertSame(actual: Outcome, expected: Outcome, what: string): void {
  if ("error" in expected) return;
  if ("error" in actual) assert.fail(`${what}: ${actual.error}`);
  assert.deepEqual(actual.columns, expected.columns, what);
  assert.deepEqual(actual.rows.toSorted(), expected.rows.toSorted(), what);
}
