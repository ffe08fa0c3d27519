/**
 * Turns at the event loop for the connections of one listener. A connection that has more frames
 * than its allowance asks for a turn. Turns are given one at a time, in the order in which they
 * were asked for. Between two of them everybody else is served.
 *
 * So what all busy connections together keep from the rest of the process is one turn, however many
 * they are.
 */

import { othersTurn } from "../base/others_turn.ts";

export class LoopTurns {
  readonly #waiting = new Set<() => void>();

  /** Resolves when it is the caller's turn, after others had theirs. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.add(resolve);
      if (this.#waiting.size === 1) this.#give();
    });
  }

  async #give(): Promise<void> {
    while (this.#waiting.size > 0) {
      await othersTurn();
      for (const resolve of this.#waiting) {
        // Its frames are taken before the next timer.
        resolve();
        this.#waiting.delete(resolve);
        break;
      }
    }
  }
}
