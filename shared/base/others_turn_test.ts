import assert from "node:assert/strict";
import { othersTurn } from "./others_turn.ts";

/** What `pause` lets a peer receive and send back while this thread is busy otherwise. */
async function echoesDuring(work: () => Promise<void>): Promise<number> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [one, other] = await Promise.all([
    Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
    listener.accept(),
  ]);
  let echoes = 0;
  const echo = async () => {
    const byte = new Uint8Array(1);
    while (await other.read(byte) !== null) await other.write(byte);
  };
  const ask = async () => {
    const byte = new Uint8Array(1);
    for (await one.write(byte); await one.read(byte) !== null; await one.write(byte)) echoes += 1;
  };
  const peers = Promise.allSettled([echo(), ask()]);
  await work();
  const during = echoes;
  one.close();
  await peers.finally(() => other.close());
  return during;
}

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
