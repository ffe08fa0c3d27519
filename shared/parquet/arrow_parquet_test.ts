import { deepStrictEqual } from "node:assert/strict";
import { concatBytes, textOf } from "../base/bytes.ts";
import { encodeColumns, encodeSchemaMessage } from "../columns/ipc.ts";
import { batchOfRows } from "../columns/rows.ts";
import type { TableSchema } from "../schema/schema.ts";
import { ArrowParquet } from "./arrow_parquet.ts";

const SCHEMA: TableSchema = {
  columns: [{ id: 1, name: "c0", type: "string", required: false }],
  tags: [],
};

/** Minutes pass in milliseconds, for whoever looks at them. */
class FastMinutes implements Disposable {
  readonly #setTimeout = globalThis.setTimeout;
  readonly #now = performance.now;
  #passedMs = 0;

  constructor() {
    const set = this.#setTimeout;
    const fast = (run: () => void, ms = 0) => set(run, ms >= 10_000 ? 1 : ms);
    globalThis.setTimeout = fast as typeof setTimeout;
    performance.now = () => this.#now.call(performance) + this.#passedMs;
  }

  async pass(minutes: number): Promise<void> {
    this.#passedMs += 60_000 * minutes;
    await new Promise((resolve) => this.#setTimeout(resolve, 100));
  }

  [Symbol.dispose](): void {
    globalThis.setTimeout = this.#setTimeout;
    performance.now = this.#now;
  }
}

Deno.test({
  name: "ArrowParquet goes on with its file however long the next rows are in coming",
  async fn() {
    using minutes = new FastMinutes();
    using file = new ArrowParquet();
    const rows = Array.from({ length: 10 }, (_, row) => ({ c0: `row ${row}` }));
    const message = concatBytes(encodeColumns(batchOfRows(SCHEMA, rows)).pieces);
    const pieces = [await file.schema(Uint8Array.from(encodeSchemaMessage(SCHEMA)))];
    for (let batch = 0; batch < 3; batch += 1) {
      await minutes.pass(5);
      pieces.push(await file.batch(Uint8Array.from(message)));
    }
    await minutes.pass(5);
    const bytes = concatBytes([...pieces, await file.end()]);
    deepStrictEqual([textOf(bytes.subarray(0, 4)), textOf(bytes.subarray(-4))], ["PAR1", "PAR1"]);
  },
});
