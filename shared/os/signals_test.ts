import assert from "node:assert/strict";

const WAITER = `
  const { listenForEnd } = await import(Deno.args[0]);
  using end = listenForEnd();
  console.log("ready");
  console.log(await end.requested);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

/** Longer than two signals may lie apart to count as one. */
const ECHO_OVER_MS = 700;

Deno.test({
  name:
    "listenForEnd() resolves on the first signal, takes an echo of it as one, and exits on a later one",
  async fn() {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--frozen", WAITER, new URL("./signals.ts", import.meta.url).href],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let ended = false;
    child.status.then(() => ended = true);
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await lines.read()).value, "ready\n");
    child.kill("SIGTERM");
    assert.equal((await lines.read()).value, "SIGTERM\n");
    child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, ECHO_OVER_MS));
    assert.ok(!ended, "the echo ended it");
    child.kill("SIGINT");
    assert.equal((await child.status).code, 130);
    await lines.cancel();
  },
});
