/**
 * What the query server keeps of its tables' summaries: a cube for each day and set of columns, and
 * the values that a table's cubes share. It is bounded in bytes. The table that was asked least
 * recently goes first, as a whole, because ids are its own.
 */

import { isOperatingError } from "../../base/errors.ts";
import { WeighedCache } from "../../base/weighed_cache.ts";
import { FileSummary } from "../../derived/summary/file_summary.ts";
import type { ToldWords } from "../../derived/text/told_words.ts";
import type { Column } from "../../schema/schema.ts";
import { sidecarKey, type SidecarSource } from "../../derived/sidecar.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { type ReadableStore, sharedRead } from "../../storage/object_store.ts";
import type { AnswerFiles } from "./answer_files.ts";
import { type Cube, DayCube } from "./day_cube.ts";
import { type CountedColumn, type CubeSpec, PartReader, TableValues } from "./file_part.ts";
import { WideColumn, type WideKind } from "./wide_column.ts";

/** Where summaries are read, and how many bytes may be kept. */
export interface TableAnswersOptions {
  readonly store: ReadableStore;
  readonly sidecars: SidecarSource;
  readonly bytesMax: number;
  /** Where counts of columns with many values are kept, and how many bytes they may take. */
  readonly files: AnswerFiles;
  readonly fileBytesMax: number;
  readonly nowMs: () => number;
  /** Whether `exact_average` equals DuckDB's own average (`functions/exact_average.ts`). */
  readonly averages: boolean;
}

/** Cubes of one table. */
export interface TableCubes {
  of(files: readonly DataFile[], spec: CubeSpec): Promise<CubesOfFiles>;
  valuesOf(column: Column): TableValues;
  /** Whether a file's summary counts the words of `spec`. */
  countsWords(file: DataFile, spec: CubeSpec): Promise<boolean>;
  /** The words of a text that each row of a file tells of. */
  toldWords(file: DataFile, text: Column): Promise<ToldWords | undefined>;
  /** The words and pairs that are counted of a text of a file, each between two `|`. */
  countedWords(file: DataFile, text: Column): Promise<string>;
  /** Counts of a column with many values, for the days that `range` names. */
  wide(column: Column, range: string, kind: WideKind): WideColumn;
  /** Ids of columns that are known to have many values. Whoever finds such a column adds it. */
  readonly wideIds: Set<number>;
}

/** Cubes that together count files, and the files that they cannot count. */
export interface CubesOfFiles {
  /** One cube for each day. */
  readonly cubes: readonly Cube[];
  /** Files that are in none of them, because they have no usable summary. */
  readonly without: readonly DataFile[];
}

/** For the cubes by words of one table. */
const WORD_CUBES_BYTES_MAX = 8 * 1024 * 1024;
/** For the words of which rows of one table's files tell: some 8 KB a file. */
const TOLD_BYTES_MAX = 8 * 1024 * 1024;
/** About what an entry takes besides its words, with its key. */
const TOLD_ENTRY_BYTES = 256;

/** What is kept of all tables' summaries. */
export class TableAnswers {
  /** Tables by uuid, least recently asked first. */
  readonly #tables = new Map<string, KeptTable>();
  /** Columns with many values by key, least recently asked first. */
  readonly #wide = new Map<string, WideColumn>();
  readonly #options: TableAnswersOptions;

  constructor(options: TableAnswersOptions) {
    this.#options = options;
  }

  get averages(): boolean {
    return this.#options.averages;
  }

  get bytes(): number {
    return [...this.#tables.values()].reduce((sum, table) => sum + table.bytes, 0);
  }

  /** Whoever still holds a table goes on with what it has. */
  giveWay(): void {
    this.#tables.clear();
  }

  /** `reader` is told of the files whose summaries are waited for. */
  table(uuid: string, reader: SummaryReader = {}): TableCubes {
    const { store, sidecars, nowMs } = this.#options;
    const table = this.#tables.get(uuid) ?? new KeptTable({
      ...{ store, sidecars, nowMs },
      grown: () => this.#trim(),
      wide: (column, range, kind) =>
        this.#wideColumn(JSON.stringify([uuid, column.id, column.type, range, kind]), {
          column,
          kind,
        }),
    });
    this.#tables.delete(uuid);
    this.#tables.set(uuid, table);
    return table.through(reader);
  }

  #wideColumn(
    key: string,
    what: { readonly column: Column; readonly kind: WideKind },
  ): WideColumn {
    const { store, sidecars, nowMs, files } = this.#options;
    const known = this.#wide.get(key) ??
      new WideColumn({ store, sidecars, files, nowMs }, what);
    this.#wide.delete(key);
    this.#wide.set(key, known);
    this.#trimFiles();
    return known;
  }

  /** The column that was asked last stays, whatever its size. */
  #trimFiles(): void {
    let excess = this.#options.files.bytes - this.#options.fileBytesMax;
    for (const [key, column] of [...this.#wide].slice(0, -1)) {
      if (excess <= 0) return;
      excess -= column.bytes;
      this.#wide.delete(key);
      column.drop();
    }
  }

  /** A statement that still holds a table which is dropped here goes on with what it has. */
  #trim(): void {
    for (const uuid of [...this.#tables.keys()]) {
      if (this.bytes <= this.#options.bytesMax) return;
      this.#tables.delete(uuid);
    }
  }
}

/** A cube that lacks the file is told as a read that failed: the next reads may wait as long. */
async function toldOf(
  file: DataFile,
  counted: Promise<Cube>,
  shared: <T>(file: DataFile, answer: Promise<T>) => Promise<T>,
): Promise<Cube> {
  const found = counted.then((cube) => {
    if (!cube.held.has(file.key)) throw new Error("no summary");
  });
  await shared(file, found).catch(() => {});
  return await counted;
}

type SummaryReader = Pick<ReadableStore, "awaiting">;

class KeptTable {
  readonly #values = new Map<number, TableValues>();
  readonly #cubes = new Map<string, DayCube>();
  /** Cubes by words, of which there are many: those asked last come last. */
  readonly #wordCubes = new Map<string, DayCube>();
  readonly wideIds = new Set<number>();
  /** By file and text. */
  readonly #told = new WeighedCache(TOLD_BYTES_MAX);

  constructor(
    private readonly deps: {
      readonly store: ReadableStore;
      readonly sidecars: SidecarSource;
      readonly nowMs: () => number;
      readonly grown: () => void;
      readonly wide: TableCubes["wide"];
    },
  ) {}

  get bytes(): number {
    let bytes = 0;
    for (const values of this.#values.values()) bytes += values.bytes;
    for (const cube of this.#cubes.values()) bytes += cube.bytes;
    for (const cube of this.#wordCubes.values()) bytes += cube.bytes;
    return bytes + this.#told.bytes;
  }

  through(reader: SummaryReader): TableCubes {
    const shared = <T>(file: DataFile, answer: Promise<T>) =>
      sharedRead(reader, sidecarKey(file.key), answer);
    return {
      wideIds: this.wideIds,
      of: (files, spec) => this.of(files, spec, shared),
      valuesOf: (column) => this.valuesOf(column),
      countsWords: (file, spec) => shared(file, this.countsWords(file, spec)),
      toldWords: (file, text) => shared(file, this.toldWords(file, text)),
      countedWords: (file, text) => shared(file, this.countedWords(file, text)),
      wide: (column, range, kind) => this.deps.wide(column, range, kind),
    };
  }

  valuesOf(column: Column): TableValues {
    const known = this.#values.get(column.id) ?? new TableValues();
    this.#values.set(column.id, known);
    return known;
  }

  async countsWords(file: DataFile, spec: CubeSpec): Promise<boolean> {
    if (this.#wordCubes.get(cubeKey(file.day, spec))?.holds(file) === true) return true;
    const values = (column: Column) => this.valuesOf(column);
    const part = await this.#asks(
      file,
      (summary) => new PartReader(summary, spec, { values }).read(),
    );
    return part !== undefined;
  }

  toldWords(file: DataFile, { id }: Column): Promise<ToldWords | undefined> {
    return this.#told.load(`${file.key} ${id}`, async () => {
      const told = await this.#asks(file, (summary) => summary.toldWords(id));
      return { value: told, bytes: TOLD_ENTRY_BYTES, isKept: told !== undefined };
    });
  }

  countedWords(file: DataFile, { id }: Column): Promise<string> {
    return this.#told.load(`${file.key} ${id} counted`, async () => {
      const words = await this.#asks(file, (summary) => summary.countedWords(id));
      const value = `|${(words ?? []).map((own) => `${own.join(" ")}|`).join("")}`;
      const bytes = TOLD_ENTRY_BYTES + 2 * value.length;
      return { value, bytes, isKept: words !== undefined };
    });
  }

  /** undefined for a file without a summary that can be read: `DayCube` tells of it. */
  async #asks<T>(
    { key, rows }: DataFile,
    ask: (summary: FileSummary) => T | Promise<T>,
  ): Promise<T | undefined> {
    const { store, sidecars } = this.deps;
    try {
      const sidecar = await sidecars.read(store, { key, rows });
      const summary = sidecar && FileSummary.of(store, sidecar, rows);
      return summary && await ask(summary);
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      return undefined;
    }
  }

  async of(
    files: readonly DataFile[],
    spec: CubeSpec,
    shared: <T>(file: DataFile, answer: Promise<T>) => Promise<T>,
  ): Promise<CubesOfFiles> {
    const cubes: Cube[] = [];
    const without: DataFile[] = [];
    for (const [day, own] of Map.groupBy(files, ({ day }) => day)) {
      const kept = this.#dayCube(day, spec);
      const missing = own.find((file) => !kept.holds(file));
      const counted = kept.of(own);
      const cube = await (missing === undefined ? counted : toldOf(missing, counted, shared));
      cubes.push(cube);
      if (cube.held.size < own.length) {
        without.push(...own.filter(({ key }) => !cube.held.has(key)));
      }
    }
    this.#trimWordCubes();
    this.deps.grown();
    return { cubes, without };
  }

  #dayCube(day: number, spec: CubeSpec): DayCube {
    const key = cubeKey(day, spec);
    const isByWords = spec.filter !== undefined ||
      spec.columns.some(({ words }) => words !== undefined);
    const cubes = isByWords ? this.#wordCubes : this.#cubes;
    const { store, sidecars, nowMs } = this.deps;
    const cube = cubes.get(key) ?? new DayCube(
      { ...{ store, sidecars, nowMs }, values: (column) => this.valuesOf(column) },
      spec,
    );
    if (isByWords) cubes.delete(key);
    cubes.set(key, cube);
    return cube;
  }

  #trimWordCubes(): void {
    let bytes = 0;
    for (const [key, cube] of [...this.#wordCubes].reverse()) {
      bytes += cube.bytes;
      if (bytes > WORD_CUBES_BYTES_MAX) this.#wordCubes.delete(key);
    }
  }
}

function cubeKey(day: number, { filter, minutes, columns, measures }: CubeSpec): string {
  return JSON.stringify([day, minutes, idsOf(columns), idsOf(measures), filter]);
}

function idsOf(columns: readonly CountedColumn[]): string[] {
  return columns.map(({ id, type, words = [] }) => [id, type, ...words].join(" "));
}
