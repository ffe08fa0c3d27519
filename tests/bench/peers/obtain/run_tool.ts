/** Runs a program of the machine to its end. */

import { OperatingError } from "../../../../shared/base/errors.ts";

export interface RunToolOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** It is ended after so many seconds. */
  readonly secs: number;
}

/** What it wrote to stdout. Errors: `unavailable` when it is absent, failed, or took too long. */
export async function runTool(
  program: string,
  args: readonly string[],
  { cwd, env, secs }: RunToolOptions,
): Promise<string> {
  const what = `${program} ${args.slice(0, 3).join(" ")}`;
  const command = new Deno.Command(program, {
    args: [...args],
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env }),
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout(secs * 1_000),
  });
  let output: Deno.CommandOutput;
  try {
    output = await command.output();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new OperatingError("unavailable", `Cannot run ${what}: ${program} is not installed`);
  }
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  if (output.success) return text(output.stdout);
  const reason = output.signal === null
    ? reasonIn(text(output.stderr)) || reasonIn(text(output.stdout)) || `status ${output.code}`
    : `it was ended by ${output.signal}, after at most ${secs} s`;
  throw new OperatingError("unavailable", `Cannot run ${what}: ${reason}`);
}

/** The line that says what went wrong, or the last one. */
function reasonIn(text: string): string {
  const lines = text.trim().split("\n");
  return (lines.find((line) => /\berror\b/i.test(line)) ?? lines.at(-1) ?? "").trim();
}
