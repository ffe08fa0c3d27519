/** The command line as a process of its own, under its permission set. */

import { workspacePath } from "../../cli/permissions.ts";

export interface SvcRun {
  readonly code: number;
  readonly output: string;
  /** What went to stderr. */
  readonly notes: string;
}

/** `svc <args>`, to its end. */
export async function svc(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<SvcRun> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "-P=cli", workspacePath("cli/main.ts"), ...args],
    cwd: workspacePath("."),
    env,
  }).output();
  const text = new TextDecoder();
  return { code, output: text.decode(stdout), notes: text.decode(stderr) };
}

/** Waits for something that processes do. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const signal = AbortSignal.timeout(90_000);
  while (!await isSo()) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
