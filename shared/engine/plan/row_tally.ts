/**
 * Rows of a WAL segment by minute and value, added up from what its frames say of theirs
 * (`shared/wal/frame_summary.ts`).
 */

import type { FrameCounts, SummaryValue } from "../../wal/frame_summary.ts";

/** What rows are told apart by: a column of the segment, or a member of `attributes`. */
export interface TallyKey {
  readonly kind: "column" | "attribute";
  readonly name: string;
}

/** Rows of one minute with the same values. */
export interface TalliedRows {
  /** Since 1970. */
  readonly minute: number;
  readonly values: readonly SummaryValue[];
  readonly rows: number;
}

/** Combinations that are kept of a segment, and about what one takes. */
const KEPT_MAX = 1_024;
const CELL_BYTES = 250;
/** Answers that are kept of a segment. */
const ASKED_MAX = 8;

/** Values in the order in which they came, each with its place. */
type Places = Map<SummaryValue, number>;

/** Frames that tell of the same columns and attributes. */
interface Group {
  readonly keys: readonly string[];
  /** Minutes, and the values of each of `keys`. */
  readonly places: readonly Places[];
  /** Rows by the places of a minute and of values, with commas between. */
  readonly cells: Map<string, number>;
}

export class RowTally {
  /** By their keys. Undefined: a frame tells nothing, or there are too many combinations. */
  #groups: Map<string, Group> | undefined = new Map();
  #kept = 0;
  /** What was asked since the last frame was added. */
  readonly #asked = new Map<string, readonly TalliedRows[] | undefined>();

  /** About how much memory it takes. */
  get bytes(): number {
    return CELL_BYTES * this.#kept;
  }

  /** What changes when the other is added to does not change here. */
  copy(): RowTally {
    const copy = new RowTally();
    copy.#kept = this.#kept;
    copy.#groups = this.#groups && new Map(
      [...this.#groups].map(([name, { keys, places, cells }]) => [name, {
        keys,
        places: places.map((own) => new Map(own)),
        cells: new Map(cells),
      }]),
    );
    return copy;
  }

  /** Adds the rows of a frame; undefined: it tells nothing of them. */
  add(counts: FrameCounts | undefined): void {
    this.#asked.clear();
    if (this.#groups === undefined) return;
    if (counts === undefined || this.#kept > KEPT_MAX) {
      this.#groups = undefined;
      this.#kept = 0;
      return;
    }
    const { values, cells } = counts;
    const group = this.#groupOf(counts, this.#groups);
    const before = group.cells.size;
    // Places of the frame become the group's.
    const places = values.map((own, list) =>
      own.map((value) => placeOf(group.places[list] as Places, value))
    );
    for (let at = 0; at < cells.length;) {
      const rows = cells[at++] as number;
      let key = "";
      for (const own of places) key += `${own.length === 1 ? own[0] : own[cells[at++] as number]},`;
      group.cells.set(key, (group.cells.get(key) ?? 0) + rows);
    }
    this.#kept += group.cells.size - before;
  }

  #groupOf({ columns, attributes }: FrameCounts, groups: Map<string, Group>): Group {
    const keys = [
      ...columns.map((name) => keyName({ kind: "column", name })),
      ...attributes.map((name) => keyName({ kind: "attribute", name })),
    ];
    const name = JSON.stringify(keys);
    const known = groups.get(name);
    if (known !== undefined) return known;
    const places = Array.from({ length: 1 + keys.length }, (): Places => new Map());
    const group = { keys, places, cells: new Map<string, number>() };
    groups.set(name, group);
    return group;
  }

  /** All rows by minute and `keys`; undefined where a frame does not tell them. */
  by(keys: readonly TallyKey[]): readonly TalliedRows[] | undefined {
    const names = keys.map(keyName);
    const asked = JSON.stringify(names);
    if (this.#asked.size > ASKED_MAX) this.#asked.clear();
    if (!this.#asked.has(asked)) this.#asked.set(asked, this.#sumBy(names));
    return this.#asked.get(asked);
  }

  #sumBy(names: readonly string[]): readonly TalliedRows[] | undefined {
    if (this.#groups === undefined) return undefined;
    const sum = new Map<string, TalliedRows>();
    for (const { keys, places, cells } of this.#groups.values()) {
      const lists = names.map((name) => keys.indexOf(name));
      if (lists.includes(-1)) return undefined;
      const all = places.map((own) => [...own.keys()]);
      for (const [cell, rows] of cells) {
        const ids = cell.split(",");
        const valueAt = (list: number) => all[list]?.[Number(ids[list])] ?? null;
        const minute = Number(valueAt(0));
        const values = lists.map((list) => valueAt(list + 1));
        const key = JSON.stringify([minute, ...values]);
        sum.set(key, { minute, values, rows: rows + (sum.get(key)?.rows ?? 0) });
      }
    }
    return [...sum.values()];
  }
}

function placeOf(places: Places, value: SummaryValue): number {
  const known = places.get(value);
  if (known !== undefined) return known;
  places.set(value, places.size);
  return places.size - 1;
}

function keyName({ kind, name }: TallyKey): string {
  return `${kind} ${name}`;
}
