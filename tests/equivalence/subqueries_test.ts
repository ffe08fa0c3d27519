/**
 * Statements give the rows with their subqueries run first that they give without: random data and
 * random statements, seeded. `SVC_TEST_SEED` sets the seed, `SVC_TEST_STATEMENTS` how many.
 */

import assert from "node:assert/strict";
import type { QueryRequest } from "../../shared/engine/types.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { assertSame } from "./assert_same.ts";
import { PruningLab } from "./pruning_lab.ts";
import { StatementMaker } from "./pruning_statements.ts";
import { subqueryStatement } from "./subquery_statements.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const STATEMENTS = Number(Deno.env.get("SVC_TEST_STATEMENTS") ?? 60);

Deno.test({
  name: "subqueries that are run first change no answer",
  fn: async () => {
    const random = new SeededRandom(SEED);
    const subqueriesFirst = { secsMin: 0, shareMax: Infinity };
    await using lab = await PruningLab.open(random, { subqueriesFirst });
    const { engine } = lab.lab;
    const prepare = engine.prepare.bind(engine);
    let rests = 0;
    engine.prepare = (request: QueryRequest) => {
      if (request.subqueriesFirst === false) rests += 1;
      return prepare(request);
    };
    const make = new StatementMaker(random, lab.words);
    let answered = 0;
    for (let i = 0; i < STATEMENTS; i += 1) {
      const sql = subqueryStatement(make);
      const expected = await lab.withoutIndexes(sql);
      assertSame(await lab.withIndexes(sql), expected, `seed ${SEED}: ${sql}`);
      if ("rows" in expected && expected.rows.length > 0) answered += 1;
    }
    assert(answered > STATEMENTS * 0.5, `${answered} statements with rows`);
    assert(rests > STATEMENTS * 0.3, `${rests} statements ran their subqueries first`);
  },
});
