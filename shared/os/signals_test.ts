import assert from "node:assert/strict";
import { leastOf } from "../testing/least_of.ts";

const WAITER = `
  const { listenForEnd } = await import(Deno.args[0]);
  using end = listenForEnd(JSON.parse(Deno.args[1]));
  console.log("ready");
  console.log(await end.requested);
  await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

/** A process that listens, and what it says behind its first line. */
async function startWaiter(options: { readonly endWithStdin: boolean }) {
  const module = new URL("./signals.ts", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--frozen", WAITER, module, JSON.stringify(options)],
    stdin: options.endWithStdin ? "piped" : "inherit",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await lines.read()).value, "ready\n");
  return { child, lines };
}

/** Longer than two signals may lie apart to count as one. */
const ECHO_OVER_MS = 700;

Deno.test({
  name: "listenForEnd() takes the end of standard input for a wish where it is to be one",
  async fn() {
    const { child, lines } = await startWaiter({ endWithStdin: true });
    const stdin = child.stdin.getWriter();
    await stdin.write(new TextEncoder().encode("what is said is not read\n"));
    await stdin.close();
    assert.equal((await lines.read()).value, "end of stdin\n");
    child.kill("SIGKILL");
    await child.status;
    await lines.cancel();
  },
});

Deno.test({
  name:
    "listenForEnd() resolves on the first signal, takes an echo of it as one, and exits on a later one",
  async fn() {
    assert.equal(await leastOf(1, echoesThatEnd), 0, "the echo ended it");
  },
});

/**
 * 1 if the echo of a signal ended the process: also where one of the two came late on a busy
 * machine. Otherwise 0.
 */
async function echoesThatEnd(): Promise<number> {
  const { child, lines } = await startWaiter({ endWithStdin: false });
  let ended = false;
  child.status.then(() => ended = true);
  child.kill("SIGTERM");
  assert.equal((await lines.read()).value, "SIGTERM\n");
  child.kill("SIGINT");
  await new Promise((resolve) => setTimeout(resolve, ECHO_OVER_MS));
  const isEcho = !ended;
  if (isEcho) child.kill("SIGINT");
  assert.equal((await child.status).code, 130);
  await lines.cancel();
  return isEcho ? 0 : 1;
}
