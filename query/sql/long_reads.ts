/**
 * Enters statements that may take long in the catalog, so that no file goes that they may read:
 * `shared/catalog/long_reads.ts`. A short one is over before any such file goes.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../shared/base/errors.ts";
import type { LongReads } from "../../shared/catalog/long_reads.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { type Random, uuidV4 } from "../../shared/os/random.ts";
import { SHORT_READ_MS_MAX } from "../../shared/tables/expire.ts";

/** A server that ended without a word keeps files for so long. */
export const LONG_READ_LEASE_MS = 600_000;
const RENEW_MS = 120_000;

export interface LongReadDeps {
  /** Opened with the first long statement. */
  readonly open: () => Promise<LongReads>;
  readonly clock: Clock;
  readonly random: Random;
}

export class LongStatements {
  readonly #deps: LongReadDeps;

  constructor(deps: LongReadDeps) {
    this.#deps = deps;
  }

  /**
   * To be called before the statement chooses its snapshots; disposed of when it has ended. Never
   * fails: without the catalog no file goes either.
   */
  async enter(timeoutMs: number): Promise<AsyncDisposable> {
    if (timeoutMs <= SHORT_READ_MS_MAX) return NOTHING;
    const id = uuidV4(this.#deps.random);
    const over = new AbortController();
    await this.#hold(id);
    const renewing = this.#renew(id, over.signal);
    return {
      [Symbol.asyncDispose]: async () => {
        over.abort();
        await renewing;
        await this.#end(id);
      },
    };
  }

  async #renew(id: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      await this.#deps.clock.sleep(RENEW_MS, { signal }).catch(() => {});
      if (signal.aborted) return;
      await this.#hold(id);
    }
  }

  async #hold(id: string): Promise<void> {
    try {
      await (await this.#deps.open()).hold(id, LONG_READ_LEASE_MS);
    } catch (error) {
      getLogger(["svc", "query"]).warning(
        "cannot enter a long statement in the catalog, so files that it reads may go: {error}",
        { error: messageOf(error) },
      );
    }
  }

  async #end(id: string): Promise<void> {
    try {
      await (await this.#deps.open()).end(id);
    } catch {
      // It runs out.
    }
  }
}

const NOTHING: AsyncDisposable = { [Symbol.asyncDispose]: () => Promise.resolve() };
