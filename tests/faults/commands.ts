/** Programs of the system, and waiting for what they do. */

/** What a program printed. Errors: an `Error` with its arguments and what it said. */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await outputOf(command, args);
  if (!success) throw new Error(`${command} ${args.join(" ")}: ${stderr.trim()}`);
  return stdout.trim();
}

/** Whether a program is there and ends well. */
export async function succeeds(command: string, ...args: readonly string[]): Promise<boolean> {
  try {
    return (await outputOf(command, args)).success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Waits until `condition` holds. Errors: an `Error` that says `what` is wanted, past `msMax`. */
export async function until(
  what: string | (() => string),
  condition: () => boolean | Promise<boolean>,
  msMax = 60_000,
): Promise<void> {
  const end = performance.now() + msMax;
  while (!await condition()) {
    if (performance.now() > end) {
      throw new Error(`${typeof what === "string" ? what : what()}: not within ${msMax} ms`);
    }
    await delay(20);
  }
}

export function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function outputOf(command: string, args: readonly string[]) {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    env: { NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  return { success, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
