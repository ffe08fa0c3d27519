/**
 * With indexes the rows that a statement gives without them: random data and random statements,
 * seeded. `SVC_TEST_PRUNING_SEEDS` sets how many seeds, `SVC_TEST_SEED` the first one,
 * `SVC_TEST_PRUNING_STATEMENTS` how many statements of each.
 */

import assert from "node:assert/strict";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import type { IndexMeter } from "../../../shared/engine/pruning/sidecar_indexes.ts";
import { damageSidecars } from "../../equivalence/damage_sidecars.ts";
import { ExactRowIndexes } from "../../equivalence/exact_row_indexes.ts";
import { assertSame } from "../../equivalence/assert_same.ts";
import { PruningLab } from "../../equivalence/pruning_lab.ts";
import { StatementMaker } from "../../equivalence/pruning_statements.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_PRUNING_SEEDS") ?? 1);
const STATEMENTS_A_SEED = Number(Deno.env.get("SVC_TEST_PRUNING_STATEMENTS") ?? 24);

Deno.test({
  name: "indexes that leave out every row that a predicate rules out change no answer",
  fn: async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      const indexes = new ExactRowIndexes();
      const probedRows = 1 + random.below(4);
      await using lab = await PruningLab.open(random, { indexes, probedRows });
      await compare(lab, { random, seed });
      assert(indexes.pruned > STATEMENTS_A_SEED * 0.3, `seed ${seed}: ${indexes.pruned} pruned`);
    }
  },
});

Deno.test({
  name: "the indexes of sidecars change no answer, nor when they are gone or damaged",
  fn: async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      for (const isDamaged of [false, true]) {
        const random = new SeededRandom(seed);
        const counts = new Map<string, number>();
        const indexMeter = countingMeter(counts);
        const probedRows = 1 + random.below(4);
        await using lab = await PruningLab.open(random, { indexMeter, probedRows });
        if (isDamaged) await damageSidecars(lab.lab, random);
        await compare(lab, { random, seed });
        const count = (name: string) => counts.get(name) ?? 0;
        const what = `seed ${seed}: ${JSON.stringify([...counts])}`;
        assert.equal(count("failed") + count("unavailable"), 0, what);
        assert.equal(count("missing") + count("corrupt") > 0, isDamaged, what);
        const ruledOut = count("none") + count("rows") + count("groups");
        assert(isDamaged || ruledOut > 0, what);
      }
    }
  },
});

/** Random statements, with indexes and without. */
async function compare(
  lab: PruningLab,
  { random, seed }: { readonly random: SeededRandom; readonly seed: number },
): Promise<void> {
  const make = new StatementMaker(random, lab.words);
  let answered = 0;
  // Random statements may all be about what most rows have, or about texts with disputed letters.
  const absent = "SELECT count(*) FROM metrics WHERE region = 'nowhere'";
  for (let i = 0; i < STATEMENTS_A_SEED; i += 1) {
    const sql = i === 0 ? absent : make.statement();
    const expected = await lab.withoutIndexes(sql);
    assertSame(await lab.withIndexes(sql), expected, `seed ${seed}: ${sql}`);
    if ("rows" in expected) answered += 1;
  }
  assert(answered > STATEMENTS_A_SEED * 0.9, `seed ${seed}: ${answered} answers`);
}

function countingMeter(counts: Map<string, number>): IndexMeter {
  const count = (name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  const cache = { lookedUp() {}, held() {} };
  return { parsed: cache, blobs: cache, answered: count, unusable: count };
}
