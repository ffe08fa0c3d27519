/**
 * The terminal or pipes that `svc` talks to, as an interface so that tests can read what a command
 * prints. Reads `Deno.stdin`, `Deno.stdout`, `Deno.stderr`, the console's size and `NO_COLOR`: the
 * only file of `cli/` besides `main.ts` and the REPL's that does.
 */

import { messageOf, OperatingError } from "../shared/base/errors.ts";

export interface TextOutput {
  readonly isTerminal: boolean;
  /**
   * Whether text may be bold or dim: on a terminal, unless `NO_COLOR` is set
   * (https://no-color.org).
   */
  readonly isStyled: boolean;
  /** Width in characters; undefined when it is no terminal, or one that does not tell. */
  columns(): number | undefined;
  /**
   * Resolves when all of `text` is written. Throws `OutputClosed` once the reader is gone;
   * `unavailable`: a full disk.
   */
  write(text: string): Promise<void>;
}

export interface ByteInput {
  readonly isTerminal: boolean;
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
}

export interface Console {
  readonly input: ByteInput;
  /** stdout: results. */
  readonly output: TextOutput;
  /** stderr: progress and notes for people. Nobody need read them: writing them never fails. */
  readonly notes: TextOutput;
}

/**
 * The program that read our output has ended (`svc query … | head`): there is nothing more to do,
 * and no error.
 */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** The console of this process. */
export function systemConsole(): Console {
  return {
    input: {
      isTerminal: Deno.stdin.isTerminal(),
      get readable() {
        return Deno.stdin.readable;
      },
    },
    output: new StreamOutput(Deno.stdout),
    notes: unheeded(new StreamOutput(Deno.stderr)),
  };
}

function unheeded(output: TextOutput): TextOutput {
  return {
    isTerminal: output.isTerminal,
    isStyled: output.isStyled,
    columns: () => output.columns(),
    write: (text) => output.write(text).catch(() => {}),
  };
}

const encoder = new TextEncoder();

class StreamOutput implements TextOutput {
  readonly isTerminal: boolean;
  readonly isStyled: boolean;
  readonly #stream: typeof Deno.stdout;
  #last: Promise<void> = Promise.resolve();

  constructor(stream: typeof Deno.stdout) {
    this.#stream = stream;
    this.isTerminal = stream.isTerminal();
    this.isStyled = this.isTerminal && !Deno.noColor;
  }

  columns(): number | undefined {
    if (!this.isTerminal) return undefined;
    try {
      return Deno.consoleSize().columns || undefined;
    } catch {
      return undefined;
    }
  }

  /** Texts are written in the order of the calls, whether or not each was awaited. */
  write(text: string): Promise<void> {
    const written = this.#last.then(() => this.#writeAll(encoder.encode(text)));
    this.#last = written.catch(() => {});
    return written;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    try {
      for (let at = 0; at < bytes.byteLength;) at += await this.#stream.write(bytes.subarray(at));
    } catch (error) {
      if (error instanceof Deno.errors.BrokenPipe) throw new OutputClosed();
      throw new OperatingError("unavailable", `Cannot write the output: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}
