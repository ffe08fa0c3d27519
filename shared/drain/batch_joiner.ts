/**
 * Joins the rows of requests to batches of thousands. What a drain does with a batch takes about a
 * millisecond however few rows it has: each column is an object of several arrays, at each step.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import { ColumnMemory } from "../columns/column_memory.ts";
import { concatBatches } from "../columns/gather.ts";

/** Rows, and the bytes of the messages that they came in. */
export interface JoinedRows {
  readonly batch: ColumnBatch;
  readonly messageBytes: number;
}

export class BatchJoiner {
  readonly #bytesWanted: number;
  readonly #memory = new ColumnMemory();
  #batches: ColumnBatch[] = [];
  #bytes = 0;

  /** It is full with so many bytes of messages. */
  constructor(bytesWanted: number) {
    this.#bytesWanted = bytesWanted;
  }

  get isFull(): boolean {
    return this.#bytes >= this.#bytesWanted;
  }

  /** Takes a batch with the columns of those that wait. */
  add({ batch, messageBytes }: JoinedRows): void {
    this.#batches.push(batch);
    this.#bytes += messageBytes;
  }

  /** All that wait, in their order, good until the next are taken; undefined: none do. */
  take(): JoinedRows | undefined {
    const [first, ...others] = this.#batches;
    if (first === undefined) return undefined;
    this.#memory.free();
    const batch = others.length === 0 ? first : concatBatches(this.#batches, this.#memory.take);
    const messageBytes = this.#bytes;
    this.#batches = [];
    this.#bytes = 0;
    return { batch, messageBytes };
  }
}
