/**
 * What one WAL segment tells the hot caches. It is, for each tag column, how often each value
 * occurs and when last, and the newest row of each combination of tags. It is added to frame by
 * frame, so that a segment being written is never read twice.
 */

import { present } from "../../base/assert.ts";
import { textOf, viewOf } from "../../base/bytes.ts";
import type { ColumnBatch, ColumnData } from "../../columns/batch.ts";
import { takeRows } from "../../columns/gather.ts";
import { type RowObject, rowsOf } from "../../columns/rows.ts";

/** How often a value occurs. */
export interface ValueCount {
  readonly rows: number;
  /** Unix nanoseconds of the newest row. */
  readonly lastNs: bigint;
}

/** The newest row of one combination of tags. */
export interface LastRow {
  readonly ns: bigint;
  readonly row: RowObject;
}

/** Bytes that an entry takes besides its texts. They are measured roughly, for the bound on all. */
const ENTRY_BYTES = 120;

/** The summary of one segment. It only grows. */
export class SegmentSummary {
  readonly values = new Map<string, Map<string, ValueCount>>();
  readonly lastRows = new Map<string, LastRow>();
  #bytes = 0;

  /** About how much memory it takes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Adds a batch. `tags` are names of the columns that are counted, as far as the batch has them.
   */
  add(batch: ColumnBatch, tags: readonly string[]): void {
    const columns = tags.flatMap((name) => {
      const at = batch.schema.columns.findIndex((column) => column.name === name);
      return at < 0 ? [] : [{ name, texts: textsOf(present(batch.columns[at]), batch.rows) }];
    });
    const times = timesOf(batch);
    for (const { name, texts } of columns) this.#count(name, texts, times);
    const newest = new Map<string, number>();
    for (let row = 0; row < batch.rows; row += 1) {
      const key = JSON.stringify(columns.map(({ texts }) => texts[row] ?? null));
      const known = newest.get(key);
      if (known === undefined || (times[row] ?? 0n) >= (times[known] ?? 0n)) newest.set(key, row);
    }
    this.#keep(batch, newest, times);
  }

  #count(name: string, texts: readonly (string | null)[], times: readonly bigint[]): void {
    let counts = this.values.get(name);
    if (counts === undefined) {
      counts = new Map();
      this.values.set(name, counts);
    }
    for (const [row, text] of texts.entries()) {
      if (text === null) continue;
      const ns = times[row] ?? 0n;
      const known = counts.get(text);
      if (known === undefined) this.#bytes += ENTRY_BYTES + text.length * 2;
      counts.set(text, {
        rows: (known?.rows ?? 0) + 1,
        lastNs: known !== undefined && known.lastNs > ns ? known.lastNs : ns,
      });
    }
  }

  #keep(
    batch: ColumnBatch,
    newest: ReadonlyMap<string, number>,
    times: readonly bigint[],
  ): void {
    const due = [...newest].filter(([key, row]) => {
      const known = this.lastRows.get(key);
      return known === undefined || known.ns <= (times[row] ?? 0n);
    });
    if (due.length === 0) return;
    const order = {
      batch: new Uint32Array(due.length),
      row: Uint32Array.from(due, ([, row]) => row),
    };
    const rows = rowsOf(takeRows([batch], order));
    for (const [at, [key, row]] of due.entries()) {
      const before = this.lastRows.get(key);
      if (before !== undefined) this.#bytes -= rowBytes(before.row);
      else this.#bytes += ENTRY_BYTES + key.length * 2;
      const kept = present(rows[at]);
      this.#bytes += rowBytes(kept);
      this.lastRows.set(key, { ns: times[row] ?? 0n, row: kept });
    }
  }
}

function rowBytes(row: RowObject): number {
  let bytes = ENTRY_BYTES;
  for (const name in row) {
    const value = row[name];
    bytes += typeof value === "string" ? value.length * 2 : 8;
  }
  return bytes;
}

function timesOf(batch: ColumnBatch): bigint[] {
  const at = batch.schema.columns.findIndex(({ name }) => name === "timestamp_ns");
  const { values } = present(batch.columns[at]);
  const view = viewOf(values);
  return Array.from({ length: batch.rows }, (_, row) => view.getBigInt64(row * 8, true));
}

/** Neighbours are often the same text: one decoding serves them. */
function textsOf({ offsets, values, validity }: ColumnData, rows: number): (string | null)[] {
  if (offsets === null) return Array.from({ length: rows }, () => null);
  const texts: (string | null)[] = [];
  let last = "";
  let lastBytes = values.subarray(0, 0);
  for (let row = 0; row < rows; row += 1) {
    if (validity !== null && ((validity[row >> 3] ?? 0) >> (row & 7) & 1) === 0) {
      texts.push(null);
      continue;
    }
    const bytes = values.subarray(offsets[row], offsets[row + 1]);
    if (row === 0 || !areSame(bytes, lastBytes)) {
      last = textOf(bytes);
      lastBytes = bytes;
    }
    texts.push(last);
  }
  return texts;
}

function areSame(a: Uint8Array, b: Uint8Array): boolean {
  if (a.byteLength !== b.byteLength) return false;
  for (let at = 0; at < a.byteLength; at += 1) if (a[at] !== b[at]) return false;
  return true;
}
