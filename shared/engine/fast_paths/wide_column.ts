/**
 * Rows by value of one column that has too many values to be written into a statement. They are in
 * files that DuckDB reads (`answer_files.ts`). One file has the counts of all data files added up,
 * most frequent value first. Others have the counts of one data file each that came since. They
 * follow the table like a cube: what came is added, what went is subtracted, and where that cannot
 * be all is added up anew. DuckDB does the adding, during the statement that asks.
 */

import type { SidecarSubject } from "../../derived/sidecar.ts";
import { GROUP_COUNTS_BLOB } from "../../derived/summary/summary_blobs.ts";
import {
  fewValueCounts,
  ROWS_COLUMN,
  type StoredCounts,
  TOP_VALUES_BLOB,
  VALUE_COLUMN,
  VALUE_COUNTS_BLOB,
  valueCountsParquet,
} from "../../derived/summary/value_counts.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { SQL_TYPES } from "../bind/relation.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import { type AnswerFile, type AnswerFiles, scanOf } from "./answer_files.ts";
import { readSummary, type SummaryDeps } from "./read_summary.ts";

/** Data files whose counts stand beside the sum before they are added to it. */
const PARTS_MAX = 8;
/** The share of the sum's entries that their entries may have before they are added to it. */
const PARTS_SHARE_MAX = 1 / 4;
/** Counts that are known of a sum's first rows. A LIMIT beyond it reads all. */
const TOP_MAX = 10_000;
/** Summaries read at the same time. */
const READS_MAX = 16;
/**
 * A file without a usable summary is looked at again after so long, because the summary may have
 * been rebuilt.
 */
const RETRY_MS = 60_000;

/** Where summaries are read, and where counts are written. */
export interface WideDeps extends SummaryDeps {
  readonly files: AnswerFiles;
  readonly nowMs: () => number;
}

/**
 * Whether counts must be those of all values, or may be of the most frequent ones where a file has
 * no others.
 */
export type WideKind = "all" | "top";

/** Rows by value in several sources: a value may be in more than one of them. */
export interface WideCounts extends Disposable {
  /** At most so many rows of a value are in none of the sources. 0: the counts are exact. */
  readonly errorMax: number;
  readonly sum: WideSum | undefined;
  readonly parts: readonly AnswerFile[];
  /**
   * Files that have counts which nobody has asked for yet. It is 0 except for `WideColumn.look`.
   */
  readonly pending: number;
  /** Files that are in none of the sources, because they have no usable summary. */
  readonly without: readonly DataFile[];
}

/** Counts of all files that were added up. */
export interface WideSum {
  readonly file: AnswerFile;
  /** Rows of its most frequent values, descending. */
  readonly top: Float64Array;
}

interface Base extends WideSum {
  readonly held: ReadonlyMap<string, HeldFile>;
}

interface HeldFile extends SidecarSubject {
  readonly restMax: number;
}

/** Counts of one data file. */
interface Part {
  readonly file: AnswerFile;
  readonly restMax: number;
}

type Asking = Pick<EngineConnection, "texts">;

/** One column's counts over the days of a range. Updates follow each other. */
export class WideColumn {
  readonly #deps: WideDeps;
  readonly #column: Column;
  readonly #kind: WideKind;
  #base: Base | undefined;
  /** Parts by key of the data file. */
  readonly #parts = new Map<string, Part>();
  /** When a file was found to have no usable summary, by key. */
  readonly #absent = new Map<string, number>();
  /** Updates come one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(
    deps: WideDeps,
    { column, kind }: { readonly column: Column; readonly kind: WideKind },
  ) {
    this.#deps = deps;
    this.#column = column;
    this.#kind = kind;
  }

  get bytes(): number {
    let bytes = this.#base?.file.byteLength ?? 0;
    for (const { file } of this.#parts.values()) bytes += file.byteLength;
    return bytes;
  }

  /** Counts of `files`, which stay until they are disposed of. Errors: DuckDB's; `unavailable`. */
  async of(
    files: readonly DataFile[],
    { connection, signal }: { readonly connection: Asking; readonly signal: AbortSignal },
  ): Promise<WideCounts> {
    const turn = this.#turn.then(async () => {
      // A caller that has gone away has given its connection back.
      const texts = (sql: string) => {
        signal.throwIfAborted();
        return connection.texts(sql);
      };
      await this.#follow(new Map(files.map((file) => [file.key, file])), { texts });
      const sum = this.#base;
      const parts = [...this.#parts.values()].map(({ file }) => file);
      const lease = this.#deps.files.lease([...parts, ...(sum === undefined ? [] : [sum.file])]);
      return {
        ...{ sum, parts, pending: 0 },
        errorMax: [...this.#parts.values(), ...sum?.held.values() ?? []]
          .reduce((total, { restMax }) => total + restMax, 0),
        // Not by what is remembered as absent: `look` changes that at any time.
        without: files.filter(({ key }) => sum?.held.has(key) !== true && !this.#parts.has(key)),
        [Symbol.dispose]: () => lease[Symbol.dispose](),
      };
    });
    this.#turn = turn.catch(() => {});
    return await turn;
  }

  /**
   * What `of` would give, for a statement that will not read it. For files whose counts are not
   * here only the footers are read, and nothing is added up. `errorMax` is then a lower bound.
   */
  async look(files: readonly DataFile[]): Promise<WideCounts> {
    this.#forgetAbsent(new Set(files.map(({ key }) => key)));
    const sum = this.#base;
    const held = new Map<string, { readonly restMax: number }>([
      ...sum?.held ?? [],
      ...this.#parts,
    ]);
    const parts = [...this.#parts.values()].map(({ file }) => file);
    const lease = this.#deps.files.lease([...parts, ...(sum === undefined ? [] : [sum.file])]);
    try {
      const others = files.filter(({ key }) => !held.has(key));
      const missing = others.filter(({ key }) => !this.#absent.has(key));
      const isWithout = new Set(others.filter(({ key }) => this.#absent.has(key)));
      const kinds = await inBatches(missing, (file) => this.#kindOf(file));
      for (const file of missing.filter((_, at) => kinds[at] === undefined)) {
        isWithout.add(file);
        this.#absent.set(file.key, this.#deps.nowMs());
      }
      return {
        ...{ sum, parts },
        pending: others.length - isWithout.size,
        errorMax: files.reduce((total, { key }) => total + (held.get(key)?.restMax ?? 0), 0) +
          kinds.filter((kind) => kind === "top").length,
        without: [...isWithout],
        [Symbol.dispose]: () => lease[Symbol.dispose](),
      };
    } catch (error) {
      lease[Symbol.dispose]();
      throw error;
    }
  }

  /** Removes the files of a column that is forgotten. */
  drop(): void {
    this.#turn = this.#turn.then(() => {
      this.#dropParts();
      this.#setBase(undefined);
    });
  }

  async #follow(wanted: ReadonlyMap<string, DataFile>, connection: Asking): Promise<void> {
    for (const [key, part] of this.#parts) {
      if (wanted.has(key)) continue;
      this.#parts.delete(key);
      this.#deps.files.drop([part.file]);
    }
    this.#forgetAbsent(wanted);
    const gone = [...this.#base?.held.values() ?? []].filter(({ key }) => !wanted.has(key));
    if (2 * gone.length > (this.#base?.held.size ?? 0)) this.#setBase(undefined);
    const subtracted = this.#base === undefined ? [] : await this.#read(gone);
    // The file's sidecar went with it.
    if (subtracted.includes(undefined)) this.#setBase(undefined);
    const less = subtracted.flatMap((part) => part === undefined ? [] : [part.file]);
    try {
      await this.#readMissing(wanted);
      if (this.#base !== undefined && less.length > 0 || this.#isMergeDue()) {
        await this.#merge(wanted, { less: this.#base === undefined ? [] : less, connection });
      }
    } finally {
      this.#deps.files.drop(less);
    }
  }

  /** Has files looked at again that are not `wanted`, or were without counts a while ago. */
  #forgetAbsent(wanted: Pick<ReadonlySet<string>, "has">): void {
    const retryBefore = this.#deps.nowMs() - RETRY_MS;
    for (const [key, since] of this.#absent) {
      if (!wanted.has(key) || since <= retryBefore) this.#absent.delete(key);
    }
  }

  async #readMissing(wanted: ReadonlyMap<string, DataFile>): Promise<void> {
    const missing = [...wanted.values()].filter(({ key }) =>
      this.#base?.held.has(key) !== true && !this.#parts.has(key) && !this.#absent.has(key)
    );
    const read = await this.#read(missing);
    missing.forEach(({ key }, at) => {
      const part = read[at];
      if (part === undefined) this.#absent.set(key, this.#deps.nowMs());
      else this.#parts.set(key, part);
    });
  }

  #isMergeDue(): boolean {
    if (this.#parts.size < 2) return this.#base === undefined && this.#parts.size === 1;
    const entries = [...this.#parts.values()].reduce((sum, { file }) => sum + file.entries, 0);
    return this.#parts.size > PARTS_MAX ||
      entries > PARTS_SHARE_MAX * (this.#base?.file.entries ?? 0);
  }

  /** Makes one sum of the sum and the parts, without the counts in `less`. */
  async #merge(
    wanted: ReadonlyMap<string, DataFile>,
    { less, connection }: { readonly less: readonly AnswerFile[]; readonly connection: Asking },
  ): Promise<void> {
    const base = this.#base;
    const added = [
      ...this.#parts.values().map(({ file }) => file),
      ...(base === undefined ? [] : [base.file]),
    ];
    const merged = await this.#sumOf({ added, less, connection });
    if (merged === undefined) {
      // What was to be subtracted is not in the sum: some summary has changed.
      this.#setBase(undefined);
      await this.#readMissing(wanted);
      return await this.#merge(wanted, { less: [], connection });
    }
    const held = [...base?.held.values() ?? []].filter(({ key }) => wanted.has(key));
    const parts = [...this.#parts].map(([key, { restMax }]) => ({
      ...{ key, restMax },
      rows: wanted.get(key)?.rows ?? 0,
    }));
    this.#setBase({ ...merged, held: new Map([...held, ...parts].map((one) => [one.key, one])) });
    this.#dropParts();
  }

  /** Adds and subtracts counts. Undefined when a difference is below 0. */
  async #sumOf(
    { added, less, connection }: {
      readonly added: readonly AnswerFile[];
      readonly less: readonly AnswerFile[];
      readonly connection: Asking;
    },
  ): Promise<WideSum | undefined> {
    const [value, rows] = [quoteName(VALUE_COLUMN), quoteName(ROWS_COLUMN)];
    const selectOf = (files: readonly AnswerFile[], sign: string) =>
      `SELECT ${value}::${
        SQL_TYPES[this.#column.type]
      } AS ${value}, ${sign}${rows}::BIGINT AS ${rows} ` +
      `FROM ${scanOf(files)}`;
    const all = selectOf(added, "") +
      (less.length === 0 ? "" : ` UNION ALL ${selectOf(less, "-")}`);
    const path = this.#deps.files.newPath();
    const copied = connection.texts(
      `COPY (SELECT ${value}, sum(${rows})::BIGINT AS ${rows} FROM (${all}) GROUP BY ${value} ` +
        `HAVING sum(${rows}) <> 0 ORDER BY ${rows} DESC) TO ${quoteText(path)} ` +
        "(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)",
    );
    const [[written] = []] = await copied.catch(async (error) => {
      await this.#deps.files.discard(path);
      throw error;
    });
    const file = await this.#deps.files.adopt(path, Number(written));
    const top = await connection.texts(
      `SELECT ${rows} FROM read_parquet(${quoteText(path)}, file_row_number = true) ` +
        `WHERE file_row_number < ${TOP_MAX} ORDER BY file_row_number`,
    );
    const [[smallest] = []] = await connection.texts(
      `SELECT min(${rows}) FROM ${scanOf([file])}`,
    );
    if (Number(smallest ?? 1) > 0) return { file, top: Float64Array.from(top, ([n]) => Number(n)) };
    this.#deps.files.drop([file]);
    return undefined;
  }

  #read(files: readonly SidecarSubject[]): Promise<(Part | undefined)[]> {
    return inBatches(files, (file) => this.#readOne(file));
  }

  /**
   * Reads the counts of one file. Undefined: it has no counts that will do. Errors: `unavailable`.
   */
  async #readOne(subject: SidecarSubject): Promise<Part | undefined> {
    const counts = await this.#countsOf(subject);
    if (counts === undefined) return undefined;
    const { parquet, entries, restMax } = counts;
    return { file: await this.#deps.files.write(parquet, entries), restMax };
  }

  #countsOf(subject: SidecarSubject): Promise<StoredCounts | undefined> {
    return readSummary(this.#deps, subject, async (summary) => {
      const { id, type } = this.#column;
      const few = summary.columnIds.has(id)
        ? await summary.groupCounts(id)
        : { type: type === "timestamptz" ? "long" as const : type, ...allNull(summary.rows) };
      if (few === undefined) {
        const all = await summary.valueCounts(id);
        return all === undefined && this.#kind === "top" ? await summary.topValues(id) : all;
      }
      const counts = fewValueCounts(few);
      return { parquet: valueCountsParquet(counts), entries: counts.rows.length, restMax: 0 };
    });
  }

  /** Which values the file has counts of, by its footer. Undefined: they will not do. */
  #kindOf(subject: SidecarSubject): Promise<WideKind | undefined> {
    return readSummary(this.#deps, subject, ({ blobs, columnIds }) => {
      const { id } = this.#column;
      const types = new Set(
        blobs.filter(({ fields }) => fields.length === 1 && fields[0] === id)
          .map(({ type }) => type),
      );
      const hasAll = !columnIds.has(id) || types.has(GROUP_COUNTS_BLOB) ||
        types.has(VALUE_COUNTS_BLOB);
      return hasAll
        ? "all"
        : this.#kind === "top" && types.has(TOP_VALUES_BLOB)
        ? "top"
        : undefined;
    });
  }

  #setBase(base: Base | undefined): void {
    if (this.#base !== undefined) this.#deps.files.drop([this.#base.file]);
    this.#base = base;
  }

  #dropParts(): void {
    this.#deps.files.drop(this.#parts.values().map(({ file }) => file));
    this.#parts.clear();
  }
}

/** Runs `of` over all items, `READS_MAX` at a time. */
async function inBatches<T, R>(
  items: readonly T[],
  of: (item: T) => Promise<R>,
): Promise<R[]> {
  const all: R[] = [];
  for (let start = 0; start < items.length; start += READS_MAX) {
    all.push(...await Promise.all(items.slice(start, start + READS_MAX).map(of)));
  }
  return all;
}

/** Counts of a column that a file has not. */
function allNull(rows: number) {
  return { values: [null], counts: Float64Array.of(rows) };
}
