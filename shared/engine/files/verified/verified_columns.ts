/** Which rows of which columns of one data file were held against their sums. Pure. */

import type { RowRange } from "../../plan/plan.ts";
import { RangeSet } from "../object_cache/byte_ranges.ts";

/** A set that grows. It takes about a hundred bytes, and some for each column in part. */
export class VerifiedColumns {
  /** Field ids of columns of which all rows are in the set. */
  readonly #whole: number[] = [];
  /** Rows of other columns, by field id. */
  readonly #parts = new Map<number, RangeSet>();

  /** Whether the footer was held against its sum. */
  hasFooter = false;

  /** `rows`: those of the file. */
  constructor(private readonly rows: number) {}

  holds(fieldId: number, { first, end }: RowRange): boolean {
    return this.#whole.includes(fieldId) ||
      this.#parts.get(fieldId)?.holds({ start: first, end }) === true;
  }

  add(fieldId: number, { first, end }: RowRange): void {
    if (this.#whole.includes(fieldId)) return;
    const part = this.#parts.get(fieldId) ?? new RangeSet();
    part.add({ start: first, end });
    if (part.bytes < this.rows) this.#parts.set(fieldId, part);
    else {
      this.#parts.delete(fieldId);
      this.#whole.push(fieldId);
    }
  }
}
