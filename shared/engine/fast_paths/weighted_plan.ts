/**
 * Where the weighted rows of a statement come from. They come from cubes, as far as files have
 * summaries. The rest comes from the table's own rows: files without a summary, rows of the WAL,
 * and the minutes that the statement's range of time cuts through.
 *
 * Days that lie wholly in the range are taken from cubes without minutes where the statement asks
 * for none. The days at its ends are taken from cubes by minute, less the minutes that are cut,
 * whose rows are read.
 */

import { floorDiv } from "../../base/floor_div.ts";
import { sumInName } from "../../base/summed_uuid.ts";
import { NS_PER_DAY } from "../../base/time.ts";
import {
  cellKey,
  type Cells,
  cellsBetween,
  cellsOf,
  partsOfKey,
  sumOfCells,
} from "../../derived/summary/cells.ts";
import { GROUP_VALUES_MAX } from "../../derived/summary/build_summary.ts";
import { type MeasuredCells, sumOfMeasures } from "../../derived/summary/measured_cells.ts";
import { type Column, columnOf } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import type { TalliedColumns } from "../plan/counted_by.ts";
import { isFilled } from "../plan/made_columns.ts";
import { lieIn, meets, type TablePlan } from "../plan/plan.ts";
import { DIMS_MAX } from "../limits.ts";
import type { EdgeTimes, FileEdge, MinuteRows } from "./edge_times.ts";
import { inexactMeasure } from "./exact_measures.ts";
import type { CubeSpec } from "./file_part.ts";
import { type FileRanges, type OwnRows, OwnRowsReading, type OwnRowsSource } from "./own_rows.ts";
import type { CubesOfFiles, TableCubes } from "./table_answers.ts";
import type { WideCounts, WideKind } from "./wide_column.ts";
import type { WeightedRows } from "./weighted_relation.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import type { StepAside } from "./step_aside.ts";
import { dimsOf, type WeightedStatement } from "./weighted_statement.ts";

const NS_PER_MINUTE = 60_000_000_000n;

/** Weighted rows, and the rows of the table that are read besides. */
export interface WeightedPlan {
  readonly rows: WeightedRows;
  readonly own: readonly OwnRows[];
  /** Ends of the range, in files, that were counted in memory. */
  readonly edgesCounted: number;
  /** Ends of the range, in files, that could have been counted in memory. */
  readonly edgesMissed: readonly FileEdge[];
  /** Files whose rows are read because they have no summary that will do. */
  readonly filesWithout: number;
  /** Segments of the WAL whose rows were counted. */
  readonly segmentsCounted: number;
  /** Days of which only some rows are in the range. */
  readonly cutDays: number;
  /** Rows by value of a column with many values, besides `rows`. The caller disposes of them. */
  readonly wide: WideCounts | undefined;
  /**
   * Whether the table has more values of one of the columns than a file's summary usually holds.
   */
  readonly isWide: boolean;
}

/** Why there is no such plan. */
export interface WeightedAside extends StepAside {
  /**
   * Ends of the range, in files, that could be counted in memory another time; absent without any.
   */
  readonly edgesMissed?: readonly FileEdge[];
}

/** What a plan of weighted rows is made from. */
export interface WeightedSource extends OwnRowsSource {
  readonly table: TablePlan;
  readonly cubes: TableCubes;
  readonly times: Pick<EdgeTimes, "rowsOf">;
  /** Live files that can have rows in a range of time. */
  readonly filesIn: (range: TimeRange) => Promise<readonly DataFile[]>;
  readonly connection: Pick<EngineConnection, "texts">;
  readonly signal: AbortSignal;
  /**
   * Whether the answer must equal the scan's. Else the most frequent values may come with bounds of
   * their counts.
   */
  readonly isExact: boolean;
  /** Whether nothing will run: counts of columns with many values are then not brought together. */
  readonly planOnly: boolean;
  /** Whether the processor divides like `exact_average`. */
  readonly averages: boolean;
}

/** Plans the weighted rows. `range` is exactly what the statement's bounds come to. */
export async function weightedPlan(
  statement: WeightedStatement,
  range: TimeRange,
  source: WeightedSource,
): Promise<WeightedPlan | WeightedAside> {
  const dims = dimsOf(statement);
  if (dims > DIMS_MAX) {
    return { aside: `it looks at ${dims} columns together, summaries have two` };
  }
  if (statement.columns.length > 1 && statement.measures.length > 0) {
    return { aside: "it measures by two columns, summaries do by one and the minute" };
  }
  const planning = new Planning(statement, range, source);
  try {
    const plan = await planning.plan();
    if ("aside" in plan) planning.wide?.[Symbol.dispose]();
    return plan;
  } catch (error) {
    planning.wide?.[Symbol.dispose]();
    throw error;
  }
}

/**
 * Counts of a column with many values are left alone when more than a fourth of the rows are read
 * in any case. Joining both sources costs twice a scan.
 */
const READ_SHARE_MIN = 4;

/**
 * Words are looked for in the rows when a smaller share of these is counted. A scan skips what
 * indexes tell to have no such word; rows that are read beside counts are all looked at.
 */
const WORDS_READ_SHARE_MIN = 8;
const FEW_COUNT_WORDS =
  "summaries count frequent words, by minute and one other column, and these are not in most files";

/** So are rows read where it takes several columns to tell a value. */
const FEW_FILLED = "several columns tell one value, and few files have the first one in each row";

/** The statement is then planned once more, with these rows. */
const ROWS_WANTED = "it wants more of the WAL's rows than their number";

function rowsOf(files: readonly DataFile[]): number {
  return files.reduce((sum, { rows }) => sum + rows, 0);
}

/** Weighted rows that are written into a statement at most. */
export const ROWS_MAX = 50_000;

/** A day's files, and what the range leaves of it. */
interface Day {
  readonly files: readonly DataFile[];
  readonly isCut: boolean;
}

class Planning {
  wide: WideCounts | undefined;
  readonly #statement: WeightedStatement;
  readonly #range: TimeRange;
  readonly #source: WeightedSource;
  /** Whether nothing but the number of rows is wanted, which every file tells. */
  readonly #countsOnly: boolean;
  readonly #own: OwnRowsReading;
  readonly #edgesMissed: FileEdge[] = [];
  #edgesCounted = 0;
  #counted = 0;
  #filesWithout = 0;
  #segmentsCounted = 0;
  /** Rows of these files. */
  #rowsWithout = 0;
  /** Rows of files that are counted, by whole minutes or as a whole. */
  #rowsWith = 0;

  constructor(statement: WeightedStatement, range: TimeRange, source: WeightedSource) {
    this.#statement = statement;
    this.#range = range;
    this.#source = source;
    this.#own = new OwnRowsReading(range, source);
    this.#countsOnly = dimsOf(statement) === 0 && statement.measures.length === 0 &&
      statement.filter === undefined;
  }

  async plan(): Promise<WeightedPlan | WeightedAside> {
    const days = await this.#days();
    const aside = await this.#wordsAside(days);
    if (aside !== undefined) return { aside };
    const whole = days.filter(({ isCut }) => !isCut).flatMap(({ files }) => files);
    const cut = days.filter(({ isCut }) => isCut).flatMap(({ files }) => files);
    const pieces = [...await this.#wholeDays(whole), ...await this.#cutDays(cut)];
    const counted = this.#addCounted();
    if (counted === undefined) return { aside: ROWS_WANTED };
    this.#addDelta();
    const { rows, answered } = this.#rowsOf([...pieces, ...counted]);
    const own = this.#own.scans;
    // Where all files are counted, there may be no row with the words.
    const isCounted = this.#statement.filter === undefined ? answered > 0 : this.#rowsWith > 0;
    if (!isCounted && this.wide === undefined && own.length > 0) {
      return { aside: "no summary holds a row of it", edgesMissed: this.#edgesMissed };
    }
    if (this.#rowsWithout * WORDS_READ_SHARE_MIN > this.#rowsWith) {
      if (this.#looksForWords()) return { aside: FEW_COUNT_WORDS };
      if (this.#statement.filled.length > 0) return { aside: FEW_FILLED };
    }
    const inexact = inexactMeasure(
      this.#statement.measures.map((measure, at) => ({
        measure,
        cells: rows.measures[at]?.cells ?? NO_MEASURES,
      })),
      { read: this.#own.subjects, averages: this.#source.averages },
    );
    if (inexact !== undefined) return { aside: inexact };
    return {
      rows,
      own,
      edgesCounted: this.#edgesCounted,
      edgesMissed: this.#edgesMissed,
      filesWithout: this.#filesWithout,
      segmentsCounted: this.#segmentsCounted,
      cutDays: days.filter(({ isCut }) => isCut).length,
      wide: this.wide,
      // NULL has a place among the values.
      isWide: this.wide !== undefined ||
        rows.columns.some(({ values }) => values.length > GROUP_VALUES_MAX + 1),
    };
  }

  #looksForWords(): boolean {
    const { filter, columns } = this.#statement;
    return filter !== undefined || columns.some(({ words }) => words !== undefined);
  }

  /** Why words are looked for in the rows: the largest file does not count them. */
  async #wordsAside(days: readonly Day[]): Promise<string | undefined> {
    if (!this.#looksForWords()) return undefined;
    let largest: { readonly file: DataFile; readonly isCut: boolean } | undefined;
    for (const { files, isCut } of days) {
      for (const file of files) {
        if (largest === undefined || file.rows > largest.file.rows) largest = { file, isCut };
      }
    }
    if (largest === undefined) return undefined;
    const spec = this.#spec(largest.isCut || this.#statement.minutes);
    return await this.#source.cubes.countsWords(largest.file, spec) ? undefined : FEW_COUNT_WORDS;
  }

  /** Files of the range by day. A day that the range cuts has all of its files. */
  async #days(): Promise<readonly Day[]> {
    const { minNs, maxNs } = this.#range;
    if (minNs !== undefined && maxNs !== undefined && minNs > maxNs) return [];
    if (minNs === undefined && maxNs === undefined) {
      return [{ files: this.#source.table.files, isCut: false }];
    }
    const rounded = {
      minNs: minNs === undefined ? undefined : floorDiv(minNs, NS_PER_DAY) * NS_PER_DAY,
      maxNs: maxNs === undefined ? undefined : (floorDiv(maxNs, NS_PER_DAY) + 1n) * NS_PER_DAY - 1n,
    };
    const files = await this.#source.filesIn(rounded);
    return [...Map.groupBy(files, ({ day }) => day)].map(([, own]) => ({
      files: own,
      isCut: !own.every((file) => this.#isInside(file.timestampNsMin, file.timestampNsMax)),
    }));
  }

  async #wholeDays(files: readonly DataFile[]): Promise<Piece[]> {
    if (this.#countsOnly) {
      this.#readFiles(files);
      return [];
    }
    const { cubes: own } = this.#source;
    const column = this.#wideColumn();
    const isWide = column !== undefined && own.wideIds.has(column.id);
    const { cubes, without } = isWide
      ? { cubes: [], without: files }
      : await this.#cubesOf(files, this.#statement.minutes);
    this.#rowsWith += rowsOf(files) - rowsOf(without);
    const cells = cubes.reduce((sum, cube) => sum + cube.cells.keys.length, 0);
    const isTooMuch = column !== undefined && cells > ROWS_MAX;
    this.#readFiles(await this.#wideFiles(column, isTooMuch ? files : without));
    return isTooMuch ? [] : cubes.map(({ cells, measures }) => ({ cells, measures }));
  }

  /**
   * Cubes of files. The summary of a file of which a column is not complete counts as NULL what the
   * attributes have.
   */
  async #cubesOf(files: readonly DataFile[], minutes: boolean): Promise<CubesOfFiles> {
    const { complete, incomplete } = this.#byCompleteness(files);
    const { cubes, without } = await this.#source.cubes.of(complete, this.#spec(minutes));
    return { cubes, without: [...without, ...incomplete] };
  }

  #byCompleteness(
    files: readonly DataFile[],
  ): { readonly complete: readonly DataFile[]; readonly incomplete: readonly DataFile[] } {
    const { columns, measures, filled } = this.#statement;
    const { made, isComplete } = this.#source.table;
    const own = [...columns, ...measures.map(({ column }) => column)]
      .filter(({ name }) => made.has(name));
    if (own.length === 0 && filled.length === 0) return { complete: files, incomplete: [] };
    const isUsable = (file: DataFile) =>
      own.every((column) => isComplete(file, column)) &&
      filled.every((column) => isFilled(file, column));
    return {
      complete: files.filter(isUsable),
      incomplete: files.filter((file) => !isUsable(file)),
    };
  }

  /** The column that is counted by value, where there is nothing else to count by. */
  #wideColumn(): Column | undefined {
    const { columns: [column, ...more], minutes, measures, filter, filled } = this.#statement;
    if (column?.words !== undefined || filter !== undefined || filled.length > 0) return undefined;
    return minutes || measures.length > 0 || more.length > 0 ? undefined : column;
  }

  /**
   * Takes counts of `files` from columns with many values, as far as there are some. Returns the
   * other files.
   */
  async #wideFiles(
    column: Column | undefined,
    files: readonly DataFile[],
  ): Promise<readonly DataFile[]> {
    if (column === undefined) return files;
    const { complete, incomplete } = this.#byCompleteness(files);
    if (complete.length === 0) return files;
    const without = await this.#wideCounts(column, complete);
    return [...without, ...incomplete];
  }

  /** Takes counts of `files`, each of which counts the column as it is. */
  async #wideCounts(column: Column, files: readonly DataFile[]): Promise<readonly DataFile[]> {
    const { cubes, connection, signal, planOnly } = this.#source;
    const { isPlainTop } = this.#statement;
    const { minNs, maxNs } = this.#range;
    const days = [minNs, maxNs].map((ns) => ns === undefined ? null : String(ns / NS_PER_DAY));
    const ask = (kind: WideKind) => {
      const wide = cubes.wide(column, days.join(), kind);
      return planOnly ? wide.look(files) : wide.of(files, { connection, signal });
    };
    // Rows of many values that are read besides are grouped at the price of a scan.
    const look = await cubes.wide(column, days.join(), "all").look(files);
    const isScanned = rowsOf(look.without) * READ_SHARE_MIN > rowsOf(files);
    look[Symbol.dispose]();
    if (isScanned && (this.#source.isExact || !isPlainTop)) return files;
    let counts = await ask("all");
    if (counts.without.length > 0 && !this.#source.isExact && isPlainTop) {
      counts[Symbol.dispose]();
      counts = await ask("top");
    }
    if (counts.without.length === files.length) {
      counts[Symbol.dispose]();
      return files;
    }
    cubes.wideIds.add(column.id);
    this.wide = counts;
    return counts.without;
  }

  async #cutDays(files: readonly DataFile[]): Promise<Piece[]> {
    const { columns } = this.#statement;
    const wanted = files.filter((file) =>
      meets(this.#range, file.timestampNsMin, file.timestampNsMax)
    );
    const tooMany = columns.length > 1;
    const { cubes, without } = tooMany
      ? { cubes: [], without: files }
      : await this.#cubesOf(files, true);
    const isWithout = new Set(without.map(({ key }) => key));
    this.#readFiles(wanted.filter(({ key }) => isWithout.has(key)));
    const { first, end } = this.#wholeMinutes();
    if (first < end) {
      this.#rowsWith += rowsOf(wanted.filter(({ key }) => !isWithout.has(key)));
    }
    const edges = this.#edges({ first, end });
    const counted = await this.#readEdges(
      wanted.filter(({ key }) => !isWithout.has(key)).map((file) => ({
        file,
        ranges: edges.filter((edge) => meets(edge, file.timestampNsMin, file.timestampNsMax)),
      })),
    );
    if (first >= end) return [this.#withoutMinutes(counted)];
    const [from, to] = [cellKey(first, 0), cellKey(end, 0)];
    const whole = cubes.map(({ cells, measures }) => ({
      cells: cellsBetween(cells, from, to),
      measures: new Map([...measures].map(([id, own]) => [id, measuresBetween(own, from, to)])),
    }));
    return [...whole, counted].map((piece) => this.#withoutMinutes(piece));
  }

  /**
   * Has files read for the edges that they meet. Returns the rows of edges that are counted in
   * memory instead.
   */
  async #readEdges(files: readonly FileRanges[]): Promise<Piece> {
    const { columns, measures, filter } = this.#statement;
    const isCounted = columns.length === 0 && measures.length === 0 && filter === undefined;
    const counted: MinuteRows[] = [];
    const isRead = (edge: FileEdge) => {
      if (!isCounted) return true;
      const rows = this.#source.times.rowsOf(edge);
      if (rows === undefined) {
        this.#edgesMissed.push(edge);
        return true;
      }
      this.#edgesCounted += 1;
      counted.push(...rows);
      return false;
    };
    const read = files.map(({ file, ranges }) => ({
      file,
      ranges: ranges.filter((range) => isRead({ file, range })),
    }));
    await this.#own.addEdges(read.filter(({ ranges }) => ranges.length > 0));
    const keys = counted.map(({ minute }) => cellKey(minute, 0));
    return { cells: cellsOf(keys, counted.map(({ rows }) => rows)), measures: new Map() };
  }

  #spec(minutes: boolean): CubeSpec {
    const { columns, measures, filter } = this.#statement;
    return {
      filter: filter && { text: filter.column.id, words: filter.words },
      timeId: columnOf(this.#source.table.schema, "timestamp").id,
      minutes,
      columns,
      measures: measures.map(({ column }) => column),
    };
  }

  /**
   * Reads files without a summary. Where only rows are counted and all are in the range, their
   * number is enough. What another engine says of its file is not taken for it: by the catalog of
   * JDBC it commits unseen, and a count would not be the scan's.
   */
  #readFiles(files: readonly DataFile[]): void {
    for (const file of files) {
      const isInside = this.#isInside(file.timestampNsMin, file.timestampNsMax);
      if (this.#countsOnly && isInside && sumInName(file.key) !== undefined) {
        this.#counted += file.rows;
      } else {
        this.#own.addFile(file);
        this.#filesWithout += 1;
        this.#rowsWithout += file.rows;
      }
    }
  }

  /** The minutes that the range cuts through: those before `first` and those from `end` on. */
  #edges({ first, end }: { readonly first: number; readonly end: number }): readonly TimeRange[] {
    const { minNs, maxNs } = this.#range;
    if (first >= end) return [this.#range];
    return [
      { minNs, maxNs: minNs === undefined ? undefined : BigInt(first) * NS_PER_MINUTE - 1n },
      { minNs: maxNs === undefined ? undefined : BigInt(end) * NS_PER_MINUTE, maxNs },
    ].filter((edge) =>
      edge.minNs !== undefined && edge.maxNs !== undefined && edge.minNs <= edge.maxNs
    );
  }

  /** Adds rows of the WAL that are counted already. Undefined: more is wanted of them. */
  #addCounted(): readonly Piece[] | undefined {
    const pieces: Piece[] = [];
    for (const { rows, timestampNsMin, timestampNsMax, by } of this.#source.table.counted ?? []) {
      if (!meets(this.#range, timestampNsMin, timestampNsMax)) continue;
      if (!this.#isInside(timestampNsMin, timestampNsMax)) return undefined;
      if (this.#countsOnly) {
        this.#counted += rows;
      } else {
        const cells = this.#talliedCells(by);
        if (cells === undefined) return undefined;
        pieces.push({ cells, measures: new Map() });
      }
      this.#segmentsCounted += 1;
    }
    return pieces;
  }

  /** Rows that the WAL tells by value. Undefined: by other values than are wanted. */
  #talliedCells(by: TalliedColumns | undefined): Cells | undefined {
    const { minutes, columns, measures, filter, filled } = this.#statement;
    if (by === undefined || measures.length > 0 || filter !== undefined) return undefined;
    const places = columns.map(({ id, words }) => words === undefined ? by.ids.indexOf(id) : -1);
    const filledPlaces = filled.map(({ id }) => by.ids.indexOf(id));
    if (places.includes(-1) || filledPlaces.includes(-1)) return undefined;
    const own = columns.map((column) => this.#source.cubes.valuesOf(column));
    const keys: number[] = [];
    for (const { minute, values } of by.cells) {
      if (filledPlaces.some((place) => values[place] === null)) return undefined;
      const ids = places.map((place, at) => {
        const value = values[place] ?? null;
        return own[at]?.id(value === null ? null : String(value));
      });
      if (ids.includes(undefined)) return undefined;
      const all = [...minutes ? [minute] : [], ...ids] as number[];
      const last = all.pop() ?? 0;
      keys.push(minutes && columns.length === 0 ? cellKey(last, 0) : cellKey(all[0] ?? 0, last));
    }
    return cellsOf(keys, by.cells.map(({ rows }) => rows));
  }

  #addDelta(): void {
    const { filled } = this.#statement;
    for (const delta of this.#source.table.delta) {
      if (!meets(this.#range, delta.timestampNsMin, delta.timestampNsMax)) continue;
      if (this.#countsOnly && this.#isInside(delta.timestampNsMin, delta.timestampNsMax)) {
        this.#counted += delta.rows;
      } else {
        const isFilled = filled.length > 0 && filled.every(({ id }) => delta.filled.has(id));
        this.#own.addDelta(delta, { isFilled });
      }
    }
  }

  #isInside(first: bigint | undefined, last: bigint | undefined): boolean {
    return lieIn(this.#range, first, last);
  }

  /** Minutes that lie wholly in the range: [first, end). */
  #wholeMinutes(): { readonly first: number; readonly end: number } {
    const { minNs, maxNs } = this.#range;
    return {
      first: minNs === undefined ? -MINUTES_MAX : Number(-floorDiv(-minNs, NS_PER_MINUTE)),
      end: maxNs === undefined ? MINUTES_MAX : Number(floorDiv(maxNs + 1n, NS_PER_MINUTE)),
    };
  }

  #withoutMinutes(piece: Piece): Piece {
    if (this.#statement.minutes) return piece;
    const withoutMinute = (key: number) => cellKey(0, partsOfKey(key).b);
    const totals = new Map<number, number>();
    piece.cells.keys.forEach((key, at) => {
      const own = withoutMinute(key);
      totals.set(own, (totals.get(own) ?? 0) + (piece.cells.counts[at] as number));
    });
    const keys = Float64Array.from(totals.keys()).sort();
    const cells = { keys, counts: Float64Array.from(keys, (key) => totals.get(key) ?? 0) };
    const measures = new Map([...piece.measures].flatMap(([id, own]) => {
      const single = [...own.cells].map(([key, cell]) => ({
        ...own,
        cells: new Map([[withoutMinute(key), cell]]),
      }));
      const sum = sumOfMeasures(single);
      return sum === undefined ? [] : [[id, sum] as const];
    }));
    return { cells, measures };
  }

  /** All pieces as weighted rows. `answered` is the number of table rows that they stand for. */
  #rowsOf(pieces: readonly Piece[]): { readonly rows: WeightedRows; readonly answered: number } {
    const { minutes, columns, measures } = this.#statement;
    const { cubes } = this.#source;
    const { keys, counts } = sumOfCells(pieces.map(({ cells }) => cells));
    const allKeys = [...keys, ...(this.#counted > 0 ? [0] : [])];
    const weights = [...counts, ...(this.#counted > 0 ? [this.#counted] : [])];
    const split = allKeys.map(partsOfKey);
    const rows: WeightedRows = {
      weights,
      minutes: minutes ? split.map(({ a }) => a) : [],
      columns: columns.map((column, at) => {
        const isFirst = !minutes && columns.length === 2 && at === 0;
        return {
          values: cubes.valuesOf(column).values,
          ids: split.map(({ a, b }) => isFirst ? a : b),
        };
      }),
      measures: measures.map(({ column }) => ({
        cells: sumOfMeasures(pieces.flatMap((piece) => piece.measures.get(column.id) ?? [])) ??
          NO_MEASURES,
        keys: allKeys,
      })),
    };
    return { rows, answered: weights.reduce((sum, weight) => sum + weight, 0) };
  }
}

/** What one cube gives a statement. */
interface Piece {
  readonly cells: Cells;
  readonly measures: ReadonlyMap<number, MeasuredCells>;
}

const NO_MEASURES: MeasuredCells = { kind: "integer", units: 0, cells: new Map() };

/** More minutes than there are in the years that a table can hold. */
const MINUTES_MAX = 2 ** 32;

function measuresBetween(measures: MeasuredCells, from: number, end: number): MeasuredCells {
  const cells = [...measures.cells].filter(([key]) => key >= from && key < end);
  return { ...measures, cells: new Map(cells) };
}
