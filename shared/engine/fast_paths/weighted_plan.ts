/**
 * Where the weighted rows of a statement come from. They come from cubes, as far as files have
 * summaries. The rest comes from the table's own rows: files without a summary, rows of the WAL,
 * and the minutes that the statement's range of time cuts through.
 *
 * Days that lie wholly in the range are taken from cubes without minutes where the statement asks
 * for none. The days at its ends are taken from cubes by minute, less the minutes that are cut,
 * whose rows are read.
 */

import { sumInName } from "../../base/summed_uuid.ts";
import { totalRows } from "../../base/total_rows.ts";
import { GROUP_VALUES_MAX } from "../../derived/summary/build_summary.ts";
import { type Column, columnOf } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import { isFilled } from "../plan/made_columns.ts";
import { lieIn, meets, type TablePlan } from "../plan/plan.ts";
import { DIMS_MAX } from "../limits.ts";
import { endsOf, type FilesOfRange, filesOfRange, wholeMinutes } from "./cut_range.ts";
import type { EdgeTimes, FileEdge, MinuteRows } from "./edge_times.ts";
import { inexactMeasure } from "./exact_measures.ts";
import type { CubePart, CubeSpec } from "./file_part.ts";
import { type FileRanges, type OwnRows, OwnRowsReading, type OwnRowsSource } from "./own_rows.ts";
import type { StepAside } from "./step_aside.ts";
import type { CubesOfFiles, TableCubes } from "./table_answers.ts";
import {
  cellsOfMinutes,
  NO_MEASURES,
  partOfMinutes,
  talliedCells,
  weightedRows,
  withoutMinutes,
} from "./weighted_cells.ts";
import type { WeightedRows } from "./weighted_relation.ts";
import { dimsOf, type WeightedStatement } from "./weighted_statement.ts";
import type { WideCounts } from "./wide_column.ts";
import { wideColumnOf, wideCounts, type WideCountsSource } from "./wide_counts.ts";

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
export interface WeightedSource extends OwnRowsSource, WideCountsSource {
  readonly table: TablePlan;
  readonly cubes: TableCubes;
  readonly times: Pick<EdgeTimes, "rowsOf">;
  /** Live files that can have rows in a range of time. */
  readonly filesIn: (range: TimeRange) => Promise<readonly DataFile[]>;
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

/** Weighted rows that are written into a statement at most. */
export const ROWS_MAX = 50_000;

class Planning {
  wide: WideCounts | undefined;
  readonly #statement: WeightedStatement;
  readonly #range: TimeRange;
  readonly #source: WeightedSource;
  /** Whether nothing but the number of rows is wanted, or that of each minute. */
  readonly #countsRows: boolean;
  /** Whether nothing but the number of rows is wanted, which every file tells. */
  readonly #countsOnly: boolean;
  readonly #looksForWords: boolean;
  readonly #own: OwnRowsReading;
  readonly #edgesMissed: FileEdge[] = [];
  #edgesCounted = 0;
  /** Rows that were counted by their number alone. */
  #counted = 0;
  #filesWithout = 0;
  /** Rows of these files. */
  #rowsWithout = 0;
  #segmentsCounted = 0;
  /** Rows of files that are counted, by whole minutes or as a whole. */
  #rowsWith = 0;

  constructor(statement: WeightedStatement, range: TimeRange, source: WeightedSource) {
    const { columns, measures, filter, minutes } = statement;
    this.#statement = statement;
    this.#range = range;
    this.#source = source;
    this.#own = new OwnRowsReading(range, source);
    this.#countsRows = columns.length === 0 && measures.length === 0 && filter === undefined;
    this.#countsOnly = this.#countsRows && !minutes;
    this.#looksForWords = filter !== undefined || columns.some(({ words }) => words !== undefined);
  }

  async plan(): Promise<WeightedPlan | WeightedAside> {
    const files = await this.#filesOfRange();
    if (await this.#lacksWords(files)) return { aside: FEW_COUNT_WORDS };
    const ofFiles = [...await this.#wholeDays(files.whole), ...await this.#cutDays(files.cut)];
    const ofWal = this.#addCounted();
    if (ofWal === undefined) return { aside: ROWS_WANTED };
    this.#addDelta();
    const { cubes } = this.#source;
    const counted = this.#counted;
    const rows = weightedRows([...ofFiles, ...ofWal], this.#statement, { cubes, counted });
    const own = this.#own.scans;
    const aside = this.#asideOf(rows);
    if (aside !== undefined) return aside;
    return {
      rows,
      own,
      edgesCounted: this.#edgesCounted,
      edgesMissed: this.#edgesMissed,
      filesWithout: this.#filesWithout,
      segmentsCounted: this.#segmentsCounted,
      cutDays: files.cutDays,
      wide: this.wide,
      // NULL has a place among the values.
      isWide: this.wide !== undefined ||
        rows.columns.some(({ values }) => values.length > GROUP_VALUES_MAX + 1),
    };
  }

  /** Why the scan is better, or gives another answer. */
  #asideOf({ weights, measures: sums }: WeightedRows): WeightedAside | undefined {
    const { filter, filled, measures } = this.#statement;
    // Where all files are counted, there may be no row with the words.
    const isCounted = filter === undefined ? weights.length > 0 : this.#rowsWith > 0;
    if (!isCounted && this.wide === undefined && this.#own.scans.length > 0) {
      return { aside: "no summary holds a row of it", edgesMissed: this.#edgesMissed };
    }
    if (this.#rowsWithout * WORDS_READ_SHARE_MIN > this.#rowsWith) {
      if (this.#looksForWords) return { aside: FEW_COUNT_WORDS };
      if (filled.length > 0) return { aside: FEW_FILLED };
    }
    const inexact = inexactMeasure(
      measures.map((measure, at) => ({ measure, cells: sums[at]?.cells ?? NO_MEASURES })),
      { read: this.#own.subjects, averages: this.#source.averages },
    );
    return inexact === undefined ? undefined : { aside: inexact };
  }

  async #filesOfRange(): Promise<FilesOfRange> {
    const { minNs, maxNs } = this.#range;
    const { table, filesIn } = this.#source;
    if (minNs === undefined && maxNs === undefined) {
      return { whole: table.files, cut: [], cutDays: 0 };
    }
    if (minNs !== undefined && maxNs !== undefined && minNs > maxNs) {
      return { whole: [], cut: [], cutDays: 0 };
    }
    return await filesOfRange(this.#range, filesIn);
  }

  /** Whether words are wanted which the largest file does not count. */
  async #lacksWords({ whole, cut }: FilesOfRange): Promise<boolean> {
    if (!this.#looksForWords) return false;
    let largest: DataFile | undefined;
    for (const file of [...whole, ...cut]) {
      if (largest === undefined || file.rows > largest.rows) largest = file;
    }
    if (largest === undefined) return false;
    const spec = this.#spec(cut.includes(largest) || this.#statement.minutes);
    return !await this.#source.cubes.countsWords(largest, spec);
  }

  async #wholeDays(files: readonly DataFile[]): Promise<readonly CubePart[]> {
    if (this.#countsOnly) {
      this.#readFiles(files);
      return [];
    }
    const column = wideColumnOf(this.#statement);
    const isWide = column !== undefined && this.#source.cubes.wideIds.has(column.id);
    const { cubes, without } = isWide
      ? { cubes: [], without: files }
      : await this.#cubesOf(files, this.#statement.minutes);
    this.#rowsWith += totalRows(files) - totalRows(without);
    if (column === undefined) {
      this.#readFiles(without);
      return cubes;
    }
    const cells = cubes.reduce((sum, cube) => sum + cube.cells.keys.length, 0);
    const areTooMany = cells > ROWS_MAX;
    this.#readFiles(await this.#wideFiles(column, areTooMany ? files : without));
    return areTooMany ? [] : cubes;
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

  /**
   * Takes counts of `files` from columns with many values, as far as there are some. Returns the
   * other files.
   */
  async #wideFiles(column: Column, files: readonly DataFile[]): Promise<readonly DataFile[]> {
    const { complete, incomplete } = this.#byCompleteness(files);
    if (complete.length === 0) return files;
    const { isPlainTop } = this.#statement;
    const asked = { files: complete, range: this.#range, isPlainTop };
    this.wide = await wideCounts(column, asked, this.#source);
    return [...this.wide?.without ?? complete, ...incomplete];
  }

  async #cutDays(files: readonly DataFile[]): Promise<readonly CubePart[]> {
    const { columns, minutes } = this.#statement;
    const hasNoMinute = columns.length > 1;
    const { cubes, without } = hasNoMinute
      ? { cubes: [], without: files }
      : await this.#cubesOf(files, true);
    const isWithout = new Set(without.map(({ key }) => key));
    const wanted = files.filter((file) =>
      meets(this.#range, file.timestampNsMin, file.timestampNsMax)
    );
    this.#readFiles(wanted.filter(({ key }) => isWithout.has(key)));
    const counted = wanted.filter(({ key }) => !isWithout.has(key));
    const ends = endsOf(this.#range);
    const atEnds = await this.#readEdges(counted.map((file) => ({
      file,
      ranges: ends.filter((end) => meets(end, file.timestampNsMin, file.timestampNsMax)),
    })));
    const whole = wholeMinutes(this.#range);
    const hasWhole = whole.first < whole.end;
    if (hasWhole) this.#rowsWith += totalRows(counted);
    const parts = [
      ...hasWhole ? cubes.map((cube) => partOfMinutes(cube, whole)) : [],
      atEnds,
    ];
    return minutes ? parts : parts.map(withoutMinutes);
  }

  /**
   * Has files read for the edges that they meet. Returns the rows of edges that are counted in
   * memory instead.
   */
  async #readEdges(files: readonly FileRanges[]): Promise<CubePart> {
    const counted: MinuteRows[] = [];
    const isRead = (edge: FileEdge) => {
      if (!this.#countsRows) return true;
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
    return { cells: cellsOfMinutes(counted), measures: new Map() };
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

  /** Adds rows of the WAL that are counted already. Undefined: more is wanted of them. */
  #addCounted(): readonly CubePart[] | undefined {
    const { table, cubes } = this.#source;
    const parts: CubePart[] = [];
    for (const { rows, timestampNsMin, timestampNsMax, by } of table.counted ?? []) {
      if (!meets(this.#range, timestampNsMin, timestampNsMax)) continue;
      if (!this.#isInside(timestampNsMin, timestampNsMax)) return undefined;
      if (this.#countsOnly) {
        this.#counted += rows;
      } else {
        const cells = talliedCells(by, this.#statement, cubes);
        if (cells === undefined) return undefined;
        parts.push({ cells, measures: new Map() });
      }
      this.#segmentsCounted += 1;
    }
    return parts;
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
}
