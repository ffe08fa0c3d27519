/**
 * Joins the rows of requests to batches of thousands. What a drain does with a batch takes long
 * however few rows it has: each column is an object of several arrays, at each step.
 */

import { type ColumnBatch, columnBytes } from "../columns/batch.ts";
import { ColumnMemory } from "../columns/column_memory.ts";
import { concatBatches } from "../columns/gather.ts";

/** Rows, and the bytes of the messages that they came in. */
export interface RowsOfMessages {
  readonly batch: ColumnBatch;
  readonly messageBytes: number;
}

/** What it gives is good until the next is asked for. */
export class BatchJoiner {
  readonly #bytesWanted: number;
  readonly #memory = new ColumnMemory();
  #waiting: ColumnBatch[] = [];
  #bytes = 0;
  #messageBytes = 0;

  /**
   * From so many bytes on rows are joined to no others. Their messages count, and their columns: a
   * column whose rows are alike is one value in a message, so a kilobyte may become megabytes.
   */
  constructor(bytesWanted: number) {
    this.#bytesWanted = bytesWanted;
  }

  /** Takes rows with the columns of those that wait, and gives what need not wait any more. */
  *add(rows: RowsOfMessages): Generator<RowsOfMessages> {
    const bytes = Math.max(rows.messageBytes, columnBytes([rows.batch]));
    if (bytes >= this.#bytesWanted) {
      yield* this.rest();
      yield rows;
      return;
    }
    this.#waiting.push(rows.batch);
    this.#bytes += bytes;
    this.#messageBytes += rows.messageBytes;
    if (this.#bytes >= this.#bytesWanted) yield* this.rest();
  }

  /** All that wait. */
  *rest(): Generator<RowsOfMessages> {
    const [waiting, messageBytes] = [this.#waiting, this.#messageBytes];
    const [first, ...others] = waiting;
    if (first === undefined) return;
    this.#waiting = [];
    this.#bytes = 0;
    this.#messageBytes = 0;
    this.#memory.free();
    const batch = others.length === 0 ? first : concatBatches(waiting, this.#memory.take);
    yield { batch, messageBytes };
  }
}
