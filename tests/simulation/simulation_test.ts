/**
 * Lives of a table with seeded faults, held to a model; that a seed repeats; and that each
 * deliberate defect is found. README.md of this folder has what is simulated, and
 * `tests/long/simulation` has more lives.
 */

import assert from "node:assert/strict";
import { helpText } from "../../shared/config/parse_options.ts";
import { assertLivesHold, LIVES_FIRST } from "./lives.ts";
import { PROGRAM } from "./main.ts";
import type { Mutation } from "./mutations.ts";
import { runSeed } from "./run_seed.ts";

/** A defect that so many lives do not show is not found. */
const MUTANT_SEEDS_MAX = 100;
/** A seed that finds it, to begin with: a change of the product moves it on. */
const FOUND_BY: Readonly<Record<Mutation, number>> = {
  "unsynced bytes": 4,
  "unsynced names": 4,
  "segments not claimed": 8,
  "pointer not compared": 88,
  "young orphans": 17,
  "task not claimed": 1,
};

Deno.test({
  name: `simulation: ${LIVES_FIRST} lives with faults lose no row, double none, and answer exactly`,
  fn: () => assertLivesHold(1, LIVES_FIRST),
});

Deno.test({
  name: "simulation: a seed takes the same steps twice, also after other seeds",
  async fn() {
    for (const seed of [2, 5]) {
      const first = await runSeed(seed);
      await runSeed(seed + 100);
      const again = await runSeed(seed);
      assert.deepEqual(again.trace, first.trace);
      assert.ok(first.trace.length > 400);
    }
  },
});

for (const [name, first] of Object.entries(FOUND_BY)) {
  const mutation = name as Mutation;
  Deno.test({
    name: `simulation: finds "${mutation}"`,
    async fn() {
      for (let seed = first; seed < first + MUTANT_SEEDS_MAX; seed += 1) {
        const { failure } = await runSeed(seed, { mutation });
        if (failure === undefined) continue;
        assert.ok(failure instanceof Error && failure.name === "Violation", `${failure}`);
        return;
      }
      assert.fail(`${MUTANT_SEEDS_MAX} seeds live with it`);
    },
  });
}

Deno.test({
  name: "simulation: README.md has the help of its task",
  async fn() {
    const page = await Deno.readTextFile(new URL("./README.md", import.meta.url));
    assert.ok(page.includes(helpText(PROGRAM).trim()), "renew the block of README.md");
  },
});
