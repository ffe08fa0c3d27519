/** A connection that no statement uses, so that a busy DuckDB is not taken for a dead one. */

import { Deadline } from "../turns/deadline.ts";
import {
  type EngineConnection,
  type EngineDatabase,
  EngineFault,
  type FaultKind,
} from "./driver.ts";
import { faultError } from "./fault_error.ts";

const PROBE_MS_MAX = 5_000;
const FULL_POOL_RETRY_MS = 20;

/** The probe's connection, which is taken with the first question. */
export class LivenessProbe {
  /** Its last use: the next one waits for it, as an interrupt would hit either. */
  #last: Promise<unknown> = Promise.resolve();

  #connection: EngineConnection | undefined;

  constructor(private readonly database: EngineDatabase) {}

  /**
   * Asks `question` over the connection; undefined where the database rests, which this does not
   * change. Errors: `deadline_exceeded` after 5 s; those of `Engine`.
   */
  ask<T>(question: (connection: EngineConnection) => Promise<T>): Promise<T | undefined> {
    const answer = this.#last.then(async () => {
      using deadline = new Deadline(PROBE_MS_MAX);
      for (;;) {
        try {
          if (this.database.isResting === true) return await this.#leave();
          this.#connection ??= await this.database.connect(deadline.signal, { isProbe: true });
          deadline.watch(this.#connection);
          return await question(this.#connection);
        } catch (error) {
          if (isOf("lost", error)) await this.#leave();
          deadline.check();
          if (!isOf("memory", error) && !isOf("lost", error)) throw faultError(error);
        }
        await new Promise((resolve) => setTimeout(resolve, FULL_POOL_RETRY_MS));
      }
    });
    this.#last = answer.catch(() => {});
    return answer;
  }

  async #leave(): Promise<undefined> {
    const connection = this.#connection;
    this.#connection = undefined;
    await connection?.release();
    return undefined;
  }
}

/**
 * While statements fill the pool to the brim even the probe finds no room. A process that has ended
 * is replaced. Both pass, and are no failure.
 */
function isOf(kind: FaultKind, error: unknown): boolean {
  return error instanceof EngineFault && error.kind === kind;
}
