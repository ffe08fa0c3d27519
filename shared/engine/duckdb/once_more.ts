/**
 * A second try for a statement whose DuckDB process ended under it, mostly because of another
 * statement. It is asked again on the next process, once and only while nothing of its answer was
 * sent.
 */

import { isOperatingError } from "../../base/errors.ts";
import type { Deadline } from "../turns/deadline.ts";
import { EngineFault } from "./driver.ts";

/** One statement's second chance, which it has until its deadline. */
export class SecondChance {
  #isTaken = false;

  constructor(private readonly deadline: Deadline) {}

  /** Gives the second try up: nothing may be begun anew from now on. */
  forgo(): void {
    this.#isTaken = true;
  }

  /** Whether what failed with `error` is to be begun anew. It is true once. */
  takes(error: unknown): boolean {
    if (!isLost(error) || this.#isTaken || this.deadline.signal.aborted) return false;
    this.#isTaken = true;
    return true;
  }
}

function isLost(error: unknown): boolean {
  if (isOperatingError(error, "unavailable")) return isLost(error.cause);
  return error instanceof EngineFault && error.kind === "lost";
}

/**
 * Returns what `work` gives. Where its process ended under it, and it has its second chance, it
 * runs `again` and then `work` once more.
 */
export async function onceMore<T>(
  work: () => Promise<T>,
  { chance, again }: { readonly chance: SecondChance; readonly again: () => Promise<void> },
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!chance.takes(error)) throw error;
    await again();
    return await work();
  }
}
