/**
 * Lives of a table after those of `tests/simulation`.
 * `SVC_TEST_SIMULATION_SEEDS=2000 deno task unit tests/long/simulation` lives more of them.
 */

import { assertLivesHold, LIVES_FIRST } from "../../simulation/lives.ts";

const LAST = Number(Deno.env.get("SVC_TEST_SIMULATION_SEEDS") ?? 110);

Deno.test({
  name: `simulation: lives to the ${LAST}th lose no row, double none, and answer exactly`,
  fn: () => assertLivesHold(LIVES_FIRST + 1, LAST),
});
