/**
 * Bounded parallelism for requests: so many at a time, and so many bytes under way. Keys that wait
 * are served one after the other, so that a statement with ten thousand requests does not hold up
 * one with two.
 */

import { TurnQueue } from "../../../base/turn_queue.ts";

/** Requests and bytes that may be under way. */
export interface RequestQueueOptions {
  readonly requestsMax: number;
  /** A request for more bytes is made when no other is under way. */
  readonly bytesMax: number;
}

interface Waiting {
  readonly bytes: number;
  readonly start: () => void;
}

/** Runs requests within its bounds. */
export class RequestQueue {
  readonly #waiting = new TurnQueue<Waiting>();
  #requests = 0;
  #bytes = 0;

  constructor(private readonly options: RequestQueueOptions) {}

  /** Runs `action`, which brings `bytes`, when there is room. */
  async run<T>(key: string, bytes: number, action: () => Promise<T>): Promise<T> {
    await new Promise<void>((start) => {
      this.#waiting.push(key, { bytes, start });
      this.#startNext();
    });
    try {
      return await action();
    } finally {
      this.#requests -= 1;
      this.#bytes -= bytes;
      this.#startNext();
    }
  }

  #startNext(): void {
    const { requestsMax, bytesMax } = this.options;
    for (;;) {
      const next = this.#waiting.peek();
      if (next === undefined || this.#requests >= requestsMax) return;
      if (this.#requests > 0 && this.#bytes + next.bytes > bytesMax) return;
      this.#waiting.shift();
      this.#requests += 1;
      this.#bytes += next.bytes;
      next.start();
    }
  }
}
