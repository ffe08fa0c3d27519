/**
 * With decoded copies of data files a statement gives the rows that it gives without them. Data and
 * statements are random, over tables that grew columns and were merged, with room for all copies
 * and for few. `SVC_TEST_PRUNING_SEEDS` sets how many seeds, `SVC_TEST_SEED` the first one.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { NO_INDEXES } from "../../../shared/engine/pruning/row_index.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { assertSame } from "../../equivalence/assert_same.ts";
import { PruningLab } from "../../equivalence/pruning_lab.ts";
import { StatementMaker } from "../../equivalence/pruning_statements.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_PRUNING_SEEDS") ?? 1);
const STATEMENTS_A_SEED = Number(Deno.env.get("SVC_TEST_PRUNING_STATEMENTS") ?? 24);
const TIMES_A_STATEMENT = 3;
const DECODED_MS_MAX = 30_000;

Deno.test({
  name: "decoded copies of data files change no answer",
  fn: async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      const counts = { hit: 0, miss: 0, evicted: 0, failed: 0 };
      const isSmall = random.chance(0.3);
      await using lab = await PruningLab.open(random, {
        probedRows: 1 + random.below(4),
        indexes: NO_INDEXES,
        scanFileCache: { bytesMax: 2 ** 26, entriesMax: isSmall ? 1 + random.below(4) : 1_000 },
        scanFileCacheMeter: {
          lookedUp: (outcome) => counts[outcome] += 1,
          held() {},
          evicted: (entries) => counts.evicted += entries,
          failed: () => counts.failed += 1,
        },
      });
      const make = new StatementMaker(random, lab.words);
      for (let i = 0; i < STATEMENTS_A_SEED; i += 1) {
        const sql = make.statement();
        const expected = await lab.withoutIndexes(sql);
        for (let times = 0; times < TIMES_A_STATEMENT; times += 1) {
          assertSame(await lab.withIndexes(sql), expected, `seed ${seed}, ${times}: ${sql}`);
        }
      }
      const what = `seed ${seed}: ${JSON.stringify(counts)}`;
      assert(counts.hit > (isSmall ? 0 : STATEMENTS_A_SEED), what);
      assert.equal(counts.failed, 0, what);
    }
  },
});

Deno.test({
  name: "decoded copies keep the sign of zero",
  fn: async () => {
    let [hits, misses] = [0, 0];
    const random = new SeededRandom(8);
    random.chance(0.3);
    await using lab = await PruningLab.open(random, {
      probedRows: 1 + random.below(4),
      indexes: NO_INDEXES,
      scanFileCache: { bytesMax: 2 ** 26, entriesMax: 1_000 },
      scanFileCacheMeter: {
        lookedUp: (outcome) => outcome === "hit" ? hits += 1 : misses += 1,
        held() {},
        evicted() {},
        failed() {},
      },
    });
    const sql = "SELECT * FROM metrics WHERE name >= 'cpu'";
    const expected = await lab.withoutIndexes(sql);
    const text = JSON.stringify(expected);
    assert.ok(text.includes("-0.0") && /[^-]0\.0/.test(text), "zeros of both signs");
    // Until every file that is read has a copy.
    for (const deadline = Date.now() + DECODED_MS_MAX; misses > 0 || hits === 0;) {
      assert.ok(Date.now() < deadline, `${misses} files without a copy`);
      await delay(20);
      [hits, misses] = [0, 0];
      assertSame(await lab.withIndexes(sql), expected, sql);
    }
  },
});
