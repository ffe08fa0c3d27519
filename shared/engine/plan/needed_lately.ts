/**
 * Which columns statements over a lane needed lately. Rows that come will be asked for these, too:
 * to convert them twice costs more than to write a column that nobody needs.
 */

import type { NeededColumns } from "./left_out.ts";

/** Twice the pause after which dashboards commonly ask again. */
export const LATELY_MS = 120_000;

/** Field ids, or every column. */
type Noted = number | "all";

/** What statements over one lane needed. */
export class NeededLately {
  readonly #nowMs: () => number;
  /** When a statement over all rows of its range needed a column last. */
  readonly #ofAll = new Map<Noted, number>();
  /** When one did that reads just the newest or oldest rows. */
  readonly #ofNearest = new Map<Noted, number>();

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** `needed` as of a statement: undefined is every column. */
  note(needed: NeededColumns | undefined, { isNearest }: { readonly isNearest: boolean }): void {
    const noted = isNearest ? this.#ofNearest : this.#ofAll;
    const now = this.#nowMs();
    for (const id of needed?.ids ?? ["all" as const]) noted.set(id, now);
  }

  /**
   * `needed` with what others needed lately. `isNewest`: the rows are the newest of the lane, which
   * those want that read just such.
   */
  with(
    needed: NeededColumns | undefined,
    { isNewest }: { readonly isNewest: boolean },
  ): NeededColumns | undefined {
    if (needed === undefined) return undefined;
    const since = this.#nowMs() - LATELY_MS;
    const lately = [this.#ofAll, ...isNewest ? [this.#ofNearest] : []].flatMap((noted) =>
      [...noted].filter(([, atMs]) => atMs > since).map(([id]) => id)
    );
    const ids = lately.filter((id) => id !== "all");
    return ids.length < lately.length
      ? undefined
      : { ...needed, ids: new Set([...needed.ids, ...ids]) };
  }
}
