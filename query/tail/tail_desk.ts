/** The tails that are open: how many there may be, and their end with the server. */

import { OperatingError } from "../../shared/base/errors.ts";

/** Each follows its table by a small statement twice a second at most. */
const TAILS_MAX = 64;
export const TAILS_PER_TENANT_MAX = 32;
const RETRY_SECS = 5;

/** A place at the desk, until it is disposed. */
export interface TailPlace extends Disposable {
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** Counts tails. */
export class TailDesk {
  readonly #open = new Map<string, number>();
  readonly #stop = new AbortController();

  get count(): number {
    return this.#open.values().reduce((sum, count) => sum + count, 0);
  }

  /** Errors: `rate_limited` (`tails_in_use`); `unavailable` (`server_stopping`). */
  open(tenant: string): TailPlace {
    if (this.#stop.signal.aborted) {
      throw new OperatingError("unavailable", "Cannot follow: this server is stopping; ask again", {
        ...{ reason: "server_stopping", retryAfterSecs: 1 },
      });
    }
    const own = this.#open.get(tenant) ?? 0;
    const isFull = own >= TAILS_PER_TENANT_MAX;
    if (isFull || this.count >= TAILS_MAX) {
      const [count, whose] = isFull ? [own, "of this tenant"] : [this.count, "of this server"];
      throw new OperatingError(
        "rate_limited",
        `Cannot follow: ${count} tails ${whose} are open; close one, or ask again later`,
        { reason: "tails_in_use", retryAfterSecs: RETRY_SECS },
      );
    }
    this.#open.set(tenant, own + 1);
    let isOver = false;
    return {
      signal: this.#stop.signal,
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = (this.#open.get(tenant) ?? 1) - 1;
        if (left === 0) this.#open.delete(tenant);
        else this.#open.set(tenant, left);
      },
    };
  }

  /** Ends all tails, and opens no more. */
  end(): void {
    this.#stop.abort();
  }
}
