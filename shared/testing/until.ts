/** Waiting in tests for what comes by itself, and not forever. */

export interface UntilOptions {
  readonly msMax?: number;
  readonly pollMs?: number;
}

/** Generous: it is an upper bound on a busy machine, not a pause. */
const MS_MAX = 60_000;
const POLL_MS = 20;

/** Returns once `holds` does. Throws, with its source, when that takes too long. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { msMax = MS_MAX, pollMs = POLL_MS }: UntilOptions = {},
): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!await holds()) {
    if (performance.now() > endMs) throw new Error(`not within ${msMax} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
