/** A program that is told lines and answers lines, until it is disposed. It ends with its input. */

/** How long it may take to end. */
const END_MS_MAX = 20_000;

export class TalkingProcess implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array<ArrayBuffer>>;
  readonly #reader: ReadableStreamDefaultReader<string>;
  readonly #said: Promise<string>;
  #waiting = "";

  constructor(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    this.#process = new Deno.Command(program, {
      args: [...args],
      env,
      ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
    }).spawn();
    this.#writer = this.#process.stdin.getWriter();
    this.#reader = this.#process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#said = new Response(this.#process.stderr).text();
  }

  async tell(line: string): Promise<void> {
    await this.#writer.write(new TextEncoder().encode(`${line}\n`));
  }

  /** The next line. Errors: an `Error` with what went to standard error when there is none. */
  async line(): Promise<string> {
    const parts = [this.#waiting];
    while (!parts.at(-1)?.includes("\n")) {
      const { value, done } = await this.#reader.read();
      if (done) throw new Error(`it ended; it said:\n${(await this.#said).slice(-4_000)}`);
      parts.push(value);
    }
    const text = parts.join("");
    const end = text.indexOf("\n");
    this.#waiting = text.slice(end + 1);
    return text.slice(0, end);
  }

  /** Ends its input. */
  async end(): Promise<void> {
    await this.#writer.close();
  }

  /** Its input ends, and so should it: what is killed leaves temporary files behind. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader.cancel().catch(() => {});
    await this.#writer.close().catch(() => {}); // It may be closed, or the program have ended.
    const late = setTimeout(() => this.#process.kill("SIGKILL"), END_MS_MAX);
    await this.#process.status;
    clearTimeout(late);
    await this.#said;
  }
}
