/** What one summary, of a data file or a roll-up, adds to a cube: its ids become the table's. */

import { present } from "../../base/assert.ts";
import { cellKey, type Cells, cellsOf, IDS_MAX, NO_CELLS } from "../../derived/summary/cells.ts";
import type { FileSummary } from "../../derived/summary/file_summary.ts";
import type { GroupRows } from "../../derived/text/word_groups.ts";
import type { MeasuredCell, MeasuredCells } from "../../derived/summary/measured_cells.ts";
import type {
  CubeCells,
  CubeCounts,
  GroupCounts,
  GroupValue,
} from "../../derived/summary/summary_blobs.ts";
import type { WordRows } from "../../derived/text/word_counts.ts";
import { corruptSummary } from "../../derived/summary/summary_bytes.ts";
import type { Column } from "../../schema/schema.ts";

/** What rows are counted by: a column, or whether a column of text has certain words. */
export interface CountedColumn extends Column {
  /** A word, or two of them side by side, as tokens. The column is then the text's, as `bool`. */
  readonly words?: readonly string[];
}

/** Words that a text must have: one, or two of them side by side, as tokens. */
export interface WordFilter {
  /** Id of the text's column. */
  readonly text: number;
  readonly words: readonly string[];
}

/** What a cell's key consists of: the minute, then columns; two in all at most. */
export interface CubeSpec {
  /** Rows that are counted; undefined: all. */
  readonly filter?: WordFilter | undefined;
  readonly timeId: number;
  readonly minutes: boolean;
  readonly columns: readonly CountedColumn[];
  readonly measures: readonly Column[];
}

/**
 * A table's values of one column, as ids of its cubes; 0 is NULL. The table of values only grows.
 */
export class TableValues {
  readonly values: GroupValue[] = [null];
  readonly #ids = new Map<string, number>();
  bytes = 0;

  /** The id of a value. undefined: there are too many values. */
  id(value: GroupValue): number | undefined {
    if (value === null) return 0;
    const known = this.#ids.get(value);
    if (known !== undefined) return known;
    const id = this.values.length;
    if (id >= IDS_MAX) return undefined;
    this.values.push(value);
    this.#ids.set(value, id);
    this.bytes += VALUE_BYTES + 2 * value.length;
    return id;
  }
}

/** About how many bytes an entry takes besides the text. */
const VALUE_BYTES = 100;

/** A file's part of a cube. */
export interface CubePart {
  readonly cells: Cells;
  readonly measures: ReadonlyMap<number, MeasuredCells>;
}

/** Reads a file's part of a cube. Ids of the file become ids of the table. */
export class PartReader {
  readonly #summary: FileSummary;
  readonly #spec: CubeSpec;
  readonly #values: (column: Column) => TableValues;
  /** Columns of the key that the file has. For the others every row is NULL. */
  readonly #columns: readonly CountedColumn[];

  constructor(
    summary: FileSummary,
    spec: CubeSpec,
    deps: { readonly values: (column: Column) => TableValues },
  ) {
    this.#summary = summary;
    this.#spec = spec;
    this.#values = deps.values;
    this.#columns = spec.columns.filter(({ id }) => summary.columnIds.has(id));
  }

  async read(): Promise<CubePart | undefined> {
    const { filter } = this.#spec;
    if (filter !== undefined && this.#spec.measures.length > 0) return undefined;
    const cells = filter === undefined ? await this.#cells() : await this.#filteredCells(filter);
    if (cells === undefined) return undefined;
    const measures = new Map<number, MeasuredCells>();
    for (const column of this.#spec.measures) {
      const own = await this.#measured(column);
      if (own === undefined) return undefined;
      measures.set(column.id, own);
    }
    return { cells, measures };
  }

  async #cells(): Promise<Cells | undefined> {
    const { minutes } = this.#spec;
    const dims: Dim[] = [...(minutes ? ["minute" as const] : []), ...this.#columns];
    const [only] = dims;
    if (only === undefined) return cellsOf([0], [this.#summary.rows]);
    if (dims.length === 1 && only !== "minute") {
      const counted = await this.#groupCounts(only);
      if (counted === undefined) return undefined;
      const key = await this.#keyOf([only]);
      return key === undefined
        ? undefined
        : cellsOf(Array.from(counted.counts, (_, id) => key(id, 0)), counted.counts);
    }
    // A file has each pair of columns once, in its own order.
    for (const order of [dims, dims.toReversed()]) {
      const cube = await this.#cubeCounts(order);
      if (cube === undefined) continue;
      const key = await this.#keyOf(order);
      return key === undefined ? undefined : cellsOf(keysOf(cube, key), cube.counts);
    }
    return undefined;
  }

  async #filteredCells(filter: WordFilter): Promise<Cells | undefined> {
    if (!this.#summary.columnIds.has(filter.text)) return NO_CELLS;
    const found = await this.#rowsWithWords(filter);
    if (found === undefined) return undefined;
    const { minutes, columns } = this.#spec;
    const [column] = this.#columns;
    const isFirst = !minutes && columns.length === 2 && column?.id === columns[0]?.id;
    const keys: number[] = [];
    for (const { minute, value } of found) {
      const id = column === undefined ? 0 : this.#values(column).id(value);
      if (id === undefined) return undefined;
      keys.push(isFirst ? cellKey(id, 0) : cellKey(minutes ? minute : 0, id));
    }
    return cellsOf(keys, found.map(({ rows }) => rows));
  }

  /** By the value of the one column that the file has, and by minute where minutes are wanted. */
  async #rowsWithWords({ text, words }: WordFilter): Promise<readonly GroupRows[] | undefined> {
    const [column, ...more] = this.#columns;
    if (more.length > 0) return undefined;
    const value = column === undefined ? null : await this.#onlyValue(column);
    if (value !== undefined) {
      const all = await this.#summary.wordRows(text, words);
      const found = this.#spec.minutes ? all?.byMinute : all && [{ ...all, minute: 0 }];
      if (found !== undefined || column === undefined) {
        return found?.map(({ minute, withWords }) => ({ minute, value, rows: withWords }));
      }
    }
    return column && await this.#summary.wordGroups({ text, column: column.id }, words);
  }

  /** The value that all rows of the file have; undefined: they have several, or nobody knows. */
  async #onlyValue({ id }: CountedColumn): Promise<GroupValue | undefined> {
    const counted = await this.#summary.groupCounts(id);
    return counted?.values[counted.counts.indexOf(this.#summary.rows)];
  }

  async #groupCounts(
    { id, words }: CountedColumn,
  ): Promise<Pick<GroupCounts, "values" | "counts"> | undefined> {
    if (words === undefined) return await this.#summary.groupCounts(id);
    const found = await this.#summary.wordRows(id, words);
    return found && { values: WORD_VALUES, counts: Float64Array.from(countsOf(found)) };
  }

  async #cubeCounts(dims: readonly Dim[]): Promise<CubeCounts | undefined> {
    const { timeId } = this.#spec;
    if (!dims.some((dim) => dim !== "minute" && dim.words !== undefined)) {
      return await this.#summary.cubeCounts(
        dims.map((dim) => dim === "minute" ? timeId : dim.id),
      );
    }
    const [minute, column] = dims;
    if (minute !== "minute" || column === "minute" || column?.words === undefined) return undefined;
    const found = await this.#summary.wordRows(column.id, column.words);
    const cells = found?.byMinute?.flatMap((rows) =>
      countsOf(rows).map((count, id) => ({ minute: rows.minute, id, count }))
    ).filter(({ count }) => count > 0);
    return cells && {
      dims: 2,
      a: Float64Array.from(cells, ({ minute }) => minute),
      b: Uint32Array.from(cells, ({ id }) => id),
      counts: Float64Array.from(cells, ({ count }) => count),
    };
  }

  async #measured(column: Column): Promise<MeasuredCells | undefined> {
    const { minutes, timeId } = this.#spec;
    const dims: Dim[] = [...(minutes ? ["minute" as const] : []), ...this.#columns];
    if (!this.#summary.columnIds.has(column.id)) return noMeasures(column);
    const measures = await this.#summary.measures(
      dims.map((dim) => dim === "minute" ? timeId : dim.id),
      column.id,
    );
    const key = await this.#keyOf(dims);
    if (measures === undefined || key === undefined) return undefined;
    const keys = keysOf(measures, key);
    const cells = new Map<number, MeasuredCell>();
    keys.forEach((own, at) => {
      const values = measures.values[at] as number;
      if (values === 0) return;
      cells.set(own, {
        values,
        smallest: present(measures.smallest[at]),
        largest: present(measures.largest[at]),
        sum: measures.sums?.sums[at] ?? 0n,
        absolutes: measures.sums?.absolutes[at] ?? 0n,
      });
    });
    return { kind: measures.kind, units: measures.sums?.units, cells };
  }

  /**
   * Maps a key of the file to one of the table. Undefined when a column has too many values.
   */
  async #keyOf(dims: readonly Dim[]): Promise<((a: number, b: number) => number) | undefined> {
    const { minutes, columns } = this.#spec;
    const parts: { readonly ids: Uint32Array | undefined; readonly isFirst: boolean }[] = [];
    for (const dim of dims) {
      if (dim === "minute") {
        parts.push({ ids: undefined, isFirst: true });
        continue;
      }
      const ids = await this.#idsOf(dim);
      if (ids === undefined) return undefined;
      parts.push({ ids, isFirst: !minutes && columns.length === 2 && dim.id === columns[0]?.id });
    }
    return (a, b) => {
      let first = 0;
      let second = 0;
      parts.forEach(({ ids, isFirst }, at) => {
        const own = at === 0 ? a : b;
        const value = ids === undefined ? own : ids[own];
        if (value === undefined) throw corruptSummary(`it counts value ${own} of a shorter list`);
        if (isFirst) first = value;
        else second = value;
      });
      return cellKey(first, second);
    };
  }

  /** The table's ids by the file's ids. */
  async #idsOf(column: CountedColumn): Promise<Uint32Array | undefined> {
    const counted = column.words === undefined
      ? await this.#summary.groupCounts(column.id)
      : { values: WORD_VALUES };
    if (counted === undefined) return undefined;
    const values = this.#values(column);
    const ids = new Uint32Array(counted.values.length);
    for (const [at, value] of counted.values.entries()) {
      const id = values.id(value);
      if (id === undefined) return undefined;
      ids[at] = id;
    }
    return ids;
  }
}

type Dim = "minute" | CountedColumn;

/** Whether a text has words, by id: NULL first. */
const WORD_VALUES: readonly GroupValue[] = [null, "false", "true"];

/** Rows by the ids of `WORD_VALUES`. */
function countsOf({ rows, withWords, nulls }: WordRows): readonly number[] {
  return [nulls, rows - nulls - withWords, withWords];
}

function keysOf(cells: CubeCells, key: (a: number, b: number) => number): Float64Array {
  return Float64Array.from(cells.a, (a, at) => key(a, cells.b[at] as number));
}

/** Measures of a column that a file has not. */
function noMeasures({ type }: Column): MeasuredCells {
  const kind = type === "double" ? "double" : type === "timestamptz" ? "time" : "integer";
  return { kind, units: kind === "time" ? undefined : 0, cells: new Map() };
}
