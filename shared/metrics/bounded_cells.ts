/**
 * Cells of labels whose values senders choose (tenants, indexes). The first combinations get a
 * series of their own, up to a bound, and all later ones share one series.
 */

import type { Cell, CounterHandle } from "./metrics.ts";

/**
 * Value of every label of the series that the others share; no tenant or index can be called that.
 */
export const OTHER = "(other)";

/** Lanes or tables that have series of their own. */
export const LANE_SERIES_MAX = 100;

export interface BoundedCellsOptions<L> {
  readonly seriesMax: number;
  /** The labels with `OTHER` for each that is bounded. */
  readonly other: L;
}

export class BoundedCells<L extends Readonly<Record<string, string>>> {
  readonly #counter: CounterHandle<L>;
  readonly #options: BoundedCellsOptions<L>;
  readonly #cells = new Map<string, Cell>();

  constructor(counter: CounterHandle<L>, options: BoundedCellsOptions<L>) {
    this.#counter = counter;
    this.#options = options;
  }

  /** The cell of what is called `key`; `labels` is asked once for each. */
  at(key: string, labels: () => L): Cell {
    const known = this.#cells.get(key);
    if (known !== undefined) return known;
    const { seriesMax, other } = this.#options;
    if (this.#cells.size >= seriesMax) return this.#counter.at(other);
    const cell = this.#counter.at(labels());
    this.#cells.set(key, cell);
    return cell;
  }
}
