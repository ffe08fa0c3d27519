/**
 * What the frames of one connection may cost: work, past which others have their turn first, and
 * waste, past which it ends (`frame_cost.ts`).
 */

import { ConnectionError, Http2ErrorCode } from "./frames.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import { TokenBucket } from "./token_bucket.ts";
import type { LoopTurns } from "./turns.ts";

export interface BudgetOptions {
  /** Monotonic. */
  readonly nowMs: () => number;
  /** The turns of the listener, which keep its busy connections from delaying everybody. */
  readonly turns: Pick<LoopTurns, "next">;
}

export class FrameBudget {
  readonly #options: BudgetOptions;
  readonly #work: TokenBucket;
  readonly #waste: TokenBucket;

  constructor(options: BudgetOptions) {
    this.#options = options;
    const nowMs = options.nowMs();
    const { turnWork, workPerMs, wasteMax, wastePerSec } = HTTP2_LIMITS;
    this.#work = new TokenBucket({ max: turnWork, perMs: workPerMs, nowMs });
    this.#waste = new TokenBucket({ max: wasteMax, perMs: wastePerSec / 1_000, nowMs });
  }

  /** Gives back what the time since the last call is worth. */
  fill(nowMs: number): void {
    this.#work.fill(nowMs);
    this.#waste.fill(nowMs);
  }

  /** Charges work that was done; where it was too much, returns what the next frame waits for. */
  work(work: number): Promise<void> | undefined {
    if (this.#work.take(work)) return undefined;
    this.fill(this.#options.nowMs());
    return this.#work.take(0) ? undefined : this.#othersFirst();
  }

  async #othersFirst(): Promise<void> {
    await this.#options.turns.next();
    this.#work.give(HTTP2_LIMITS.turnWork);
  }

  /**
   * Charges what carries no part of an answered call. Errors: `ConnectionError` when it was too
   * much.
   */
  waste(waste: number): void {
    if (waste === 0 || this.#waste.take(waste)) return;
    this.fill(this.#options.nowMs());
    if (this.#waste.take(0)) return;
    throw new ConnectionError(
      Http2ErrorCode.ENHANCE_YOUR_CALM,
      "too many frames or resets beside the calls that are answered",
    );
  }

  /** Whether a new connection would give the peer back more than a connection is worth. */
  get isWasteful(): boolean {
    this.fill(this.#options.nowMs());
    return this.#waste.spent > HTTP2_LIMITS.wasteForgotten;
  }

  /** A call was answered: that makes up for what is sent around one. */
  answered(): void {
    this.#waste.give(HTTP2_LIMITS.wastePerAnswer);
  }
}
