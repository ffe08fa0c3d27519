import assert from "node:assert/strict";

/**
 * A process that listens, and says each signal once `listenForEnd` has had it. Its clock stands
 * still. Where standard input is not to end it, each chunk of that is the new time, in ms.
 */
const WAITER = `
  const { listenForEnd } = await import(Deno.args[0]);
  const options = JSON.parse(Deno.args[1]);
  let nowMs = 0;
  performance.now = () => nowMs;
  using end = listenForEnd(options);
  for (const signal of ["SIGINT", "SIGTERM"]) {
    Deno.addSignalListener(signal, () => console.log("had " + signal));
  }
  end.requested.then((wish) => console.log("wish " + wish));
  console.log("ready");
  if (!options.endWithStdin) {
    for await (const text of Deno.stdin.readable.pipeThrough(new TextDecoderStream())) {
      nowMs = Number(text);
      console.log("at " + nowMs);
    }
  }
  await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

class Waiter implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #stdout: ReadableStreamDefaultReader<string>;
  #said = "";

  /** Once it listens. */
  static async start(options: { readonly endWithStdin: boolean }): Promise<Waiter> {
    const waiter = new Waiter(options);
    await waiter.says("ready");
    return waiter;
  }

  private constructor(options: { readonly endWithStdin: boolean }) {
    const module = new URL("./signals.ts", import.meta.url).href;
    this.#child = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--frozen", WAITER, module, JSON.stringify(options)],
      stdin: "piped",
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    this.#stdin = this.#child.stdin.getWriter();
    this.#stdout = this.#child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Returns once its next lines are `lines`. */
  async says(...lines: string[]): Promise<void> {
    const text = lines.map((line) => `${line}\n`).join("");
    while (this.#said.length < text.length) {
      const { value } = await this.#stdout.read();
      assert.ok(value !== undefined, `it ended after ${JSON.stringify(this.#said)}`);
      this.#said += value;
    }
    assert.equal(this.#said, text);
    this.#said = "";
  }

  write(text: string): Promise<void> {
    return this.#stdin.write(new TextEncoder().encode(text));
  }

  endStdin(): Promise<void> {
    return this.#stdin.close();
  }

  async passTo(ms: number): Promise<void> {
    await this.write(`${ms}`);
    await this.says(`at ${ms}`);
  }

  signal(signal: Deno.Signal): void {
    this.#child.kill(signal);
  }

  get status(): Promise<Deno.CommandStatus> {
    return this.#child.status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#child.status;
    await this.#stdout.cancel();
    await this.#stdin.close().catch(() => {});
  }
}

Deno.test({
  name: "listenForEnd() takes the end of standard input for a wish where it is to be one",
  async fn() {
    await using waiter = await Waiter.start({ endWithStdin: true });
    await waiter.write("what is said is not read\n");
    await waiter.endStdin();
    await waiter.says("wish end of stdin");
  },
});

Deno.test({
  name:
    "listenForEnd() resolves on the first signal, takes one within 500 ms for its echo, and exits on a later one",
  async fn() {
    await using waiter = await Waiter.start({ endWithStdin: false });
    await waiter.passTo(1_000);
    waiter.signal("SIGTERM");
    await waiter.says("had SIGTERM", "wish SIGTERM");
    await waiter.passTo(1_500);
    waiter.signal("SIGINT");
    await waiter.says("had SIGINT");
    await waiter.passTo(1_501);
    waiter.signal("SIGINT");
    assert.equal((await waiter.status).code, 130);
  },
});
