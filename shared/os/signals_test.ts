import assert from "node:assert/strict";

const WAITER = `
  const { listenForEnd } = await import(Deno.args[0]);
  using end = listenForEnd();
  console.log("ready");
  console.log(await end.requested);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

Deno.test({
  name: "listenForEnd() resolves on the first signal and exits on the second",
  async fn() {
    const child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-lock", WAITER, new URL("./signals.ts", import.meta.url).href],
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    assert.equal((await lines.read()).value, "ready\n");
    child.kill("SIGTERM");
    assert.equal((await lines.read()).value, "SIGTERM\n");
    child.kill("SIGINT");
    assert.equal((await child.status).code, 130);
    await lines.cancel();
  },
});
