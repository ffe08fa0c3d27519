import assert from "node:assert/strict";
import { echoesDuring } from "../testing/echoes_during.ts";
import { othersTurn } from "./others_turn.ts";

Deno.test({
  name: "othersTurn lets sockets be served beside work that takes all of the thread",
  async fn() {
    const pauses = 20;
    const echoes = await echoesDuring(async () => {
      for (let pause = 0; pause < pauses; pause += 1) {
        const endMs = performance.now() + 5;
        while (performance.now() < endMs);
        await othersTurn();
      }
    });
    // An echo takes several turns; a pause that does not look at sockets gives one for 61.
    assert.ok(echoes >= pauses / 8, `${echoes} echoes in ${pauses} pauses`);
  },
});
