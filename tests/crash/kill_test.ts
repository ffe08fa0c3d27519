/** A stack on local disk under the kills of `chaos.ts`. */

import { newSeed } from "../../shared/testing/seeded_random.ts";
import { Stack } from "../apps/stack.ts";
import { survivesChaos } from "./chaos.ts";

Deno.test({
  name: "Stack: SIGKILL at random moments loses no acknowledged row and doubles none",
  async fn() {
    await using stack = await Stack.start({ rollAgeSecs: 1, audit: true });
    await survivesChaos(stack, newSeed());
  },
});
