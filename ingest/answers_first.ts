/**
 * Responses go before more work. All requests share one event loop, and decoding a body of 500
 * records holds it for a millisecond. In that time nobody sees that a sync is over: its senders
 * would wait for that decode besides, and so would the next ones for the one after. So a body is
 * decoded once the sync that others wait for is over and they are answered. A sync takes a third of
 * such a decode (`docs/measurements/bench.md`, `latency`).
 *
 * Where a disk takes longer, or many wait, more is lost by waiting than gained: the decode goes on
 * beside the sync.
 */

import { setImmediate } from "node:timers";
import { startDeadline } from "../shared/base/deadline_timers.ts";
import type { WalEvent } from "../shared/wal/wal_event.ts";

/** A shorter body is decoded in less time than a sync takes. */
const BODY_BYTES_MIN = 32 * 1024;
/**
 * Requests that wait for the sync, or for those. Many share a sync; decoding meanwhile is what
 * keeps the rate up then.
 */
const REQUESTS_MAX = 3;
/** Longest wait for a sync; a timer, so it may be a millisecond more. */
const SYNC_MS_MAX = 2;

type Syncing = Extract<WalEvent, { kind: "syncing" }>;

export class AnswersFirst {
  #syncing: Syncing | undefined;
  #waiting = 0;

  /** Hears of the WAL's syncs. */
  listen(event: WalEvent): void {
    if (event.kind !== "syncing") return;
    this.#syncing = event;
    const end = () => {
      if (this.#syncing === event) this.#syncing = undefined;
    };
    event.ended.then(end, end);
  }

  /** Resolves when a body of `bytes` should be decoded; undefined: now. */
  turn(bytes: number): Promise<void> | undefined {
    const syncing = this.#syncing;
    if (syncing === undefined || bytes < BODY_BYTES_MIN) return undefined;
    if (syncing.appends + this.#waiting > REQUESTS_MAX) return undefined;
    return this.#wait(syncing.ended);
  }

  async #wait(synced: Promise<unknown>): Promise<void> {
    this.#waiting += 1;
    try {
      await new Promise<void>((resolve) => {
        const timer = startDeadline(SYNC_MS_MAX, resolve);
        const end = () => {
          timer.stop();
          resolve();
        };
        synced.then(end, end); // A failure is for those who wait for their rows.
      });
      // In the first turn of the event loop the runtime is given the answers, in the second it
      // writes them.
      await nextTurn();
      await nextTurn();
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** Shorter than `othersTurn`, whose timer takes as long as the decode that waits. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
