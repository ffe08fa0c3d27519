/** How many fan-outs of this server are under way. They hold nothing that a shard waits for. */

import { Waiters } from "../../shared/engine/turns/waiters.ts";

const FAN_OUTS_AT_ONCE = 8;

export class FanOutSlots {
  readonly #free = new Waiters<number>();

  constructor() {
    for (let at = 0; at < FAN_OUTS_AT_ONCE; at += 1) this.#free.give(at);
  }

  /** Errors: `rate_limited` after `waitMs`, or the signal's reason. */
  async take(signal: AbortSignal, line: { readonly key: string; readonly waitMs?: number }) {
    const slot = await this.#free.take(signal, line);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#free.give(slot);
        isHeld = false;
      },
    };
  }
}
