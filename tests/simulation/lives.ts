/** Many lives in a row, for the tests that run few of them and those that run many. */

import assert from "node:assert/strict";
import { runSeed, tellFailure } from "./run_seed.ts";

/** Lives of `simulation_test.ts`; those after them are lived in `tests/long/simulation`. */
export const LIVES_FIRST = 40;

/** What the lives together have to come through, so that none of it is left out unnoticed. */
const SEEN = [
  "answers",
  "appends",
  "delete done",
  "drain committed",
  "kills",
  "pauses",
  "power cuts",
  "repeated appends",
  "seeds of machines",
  "seeds of mirror",
  "seeds of volume",
  "upkeep expire",
  "upkeep merge",
  "upkeep orphans",
];

/** Lives of seeds `first` to `last`: each holds, and together they come through `SEEN`. */
export async function assertLivesHold(first: number, last: number): Promise<void> {
  const seen = new Set<string>();
  for (let seed = first; seed <= last; seed += 1) {
    const outcome = await runSeed(seed);
    assert.equal(outcome.failure, undefined, tellFailure(outcome));
    for (const what of outcome.counts.keys()) seen.add(what);
  }
  assert.deepEqual(SEEN.filter((what) => !seen.has(what)), []);
}
