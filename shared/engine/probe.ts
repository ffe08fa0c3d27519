/** A connection that no statement uses, so that a busy engine is not taken for a dead one. */

import { Deadline } from "./deadline.ts";
import { type EngineConnection, EngineFault } from "./driver.ts";
import { faultError } from "./fault_error.ts";

const PROBE_MS_MAX = 5_000;
const FULL_POOL_RETRY_MS = 20;

export class Probe {
  /** Its last use: the next one waits for it, as an interrupt would hit either. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: EngineConnection) {}

  /** Errors: `deadline_exceeded` after 5 s; those of `Engine`. */
  ask<T>(question: (connection: EngineConnection) => Promise<T>): Promise<T> {
    const answer = this.#last.then(async () => {
      using deadline = new Deadline(PROBE_MS_MAX);
      deadline.watch(this.connection);
      for (;;) {
        try {
          return await question(this.connection);
        } catch (error) {
          deadline.check();
          if (!isFullPool(error)) throw faultError(error);
        }
        await new Promise((resolve) => setTimeout(resolve, FULL_POOL_RETRY_MS));
      }
    });
    this.#last = answer.catch(() => {});
    return answer;
  }
}

/** While statements fill the pool to the brim even the probe finds no room: that passes, and is no failure. */
function isFullPool(error: unknown): boolean {
  return error instanceof EngineFault && error.kind === "memory";
}
