/**
 * Rows that are read out of their pages give the answers that scans give: random data and random
 * statements, seeded. Tables grow columns, are merged, and have rows in the WAL alone. Values are
 * of every type, some NULL, NaN, -0 or long. `SVC_TEST_PRUNING_SEEDS` sets how many seeds,
 * `SVC_TEST_SEED` the first one, `SVC_TEST_PRUNING_STATEMENTS` how many statements of each.
 */

import assert from "node:assert/strict";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { assertSame } from "./assert_same.ts";
import { ExactRowIndexes } from "./exact_row_indexes.ts";
import { PruningLab } from "./pruning_lab.ts";
import { StatementMaker } from "./pruning_statements.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_PRUNING_SEEDS") ?? 1);
const STATEMENTS_A_SEED = Number(Deno.env.get("SVC_TEST_PRUNING_STATEMENTS") ?? 24);

Deno.test({
  name: "rows read out of their pages change no answer",
  fn: async () => {
    let parts = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      await using lab = await PruningLab.open(random, {
        indexes: new ExactRowIndexes(),
        probedRows: 1 + random.below(4),
        // One in ten is scanned, so that both stand in one statement.
        paysPages: () => {
          parts += 1;
          return !random.chance(0.1);
        },
      });
      const make = new StatementMaker(random, lab.words);
      for (let i = 0; i < STATEMENTS_A_SEED; i += 1) {
        const sql = make.statement();
        const expected = await lab.withoutIndexes(sql);
        assertSame(await lab.withIndexes(sql), expected, `seed ${seed}: ${sql}`);
      }
    }
    // Most seeds have one or more for each statement, one in ten has one for four of them.
    assert(parts > SEEDS * STATEMENTS_A_SEED / 8, `${parts} parts`);
  },
});
