/**
 * The sum of the summaries of one day's data files, for one set of columns: what weighted rows are made of. It follows
 * the table from snapshot to snapshot: files that came are added, files that went are subtracted.
 */

import { getLogger } from "@logtape/logtape";
import { present } from "../../base/assert.ts";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import {
  cellKey,
  type Cells,
  cellsOf,
  differenceOfCells,
  IDS_MAX,
  NO_CELLS,
  sumOfCells,
} from "../../derived/summary/cells.ts";
import { FileSummary } from "../../derived/summary/file_summary.ts";
import {
  type MeasuredCell,
  type MeasuredCells,
  sumOfMeasures,
} from "../../derived/summary/measured_cells.ts";
import type { SidecarSubject } from "../../derived/sidecar.ts";
import type { CubeCells, GroupValue } from "../../derived/summary/summary_blobs.ts";
import { corruptSummary } from "../../derived/summary/summary_bytes.ts";
import type { Column } from "../../event/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { ReadableStore } from "../../storage/object_store.ts";

const log = getLogger(["svc", "engine"]);

/** What a cell's key is of: the minute, then columns; two in all at most. */
export interface CubeSpec {
  readonly timeId: number;
  readonly minutes: boolean;
  readonly columns: readonly Column[];
  readonly measures: readonly Column[];
}

/** Rows of one or more days by key. Never changes. */
export interface Cube {
  readonly cells: Cells;
  /** By column id. */
  readonly measures: ReadonlyMap<number, MeasuredCells>;
  /** The files whose rows it counts, by key. */
  readonly held: ReadonlyMap<string, SidecarSubject>;
}

/** A table's values of one column: ids of its cubes, 0 for NULL. Grows only. */
export class TableValues {
  readonly values: GroupValue[] = [null];
  readonly #ids = new Map<string, number>();
  bytes = 0;

  /** undefined when there are too many. */
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

/** About what an entry takes beside the text. */
const VALUE_BYTES = 100;
const CELL_BYTES = 16;
const MEASURED_BYTES = 160;
const FILE_BYTES = 120;
/** Summaries read at the same time. */
const READS_MAX = 16;
/** A file without a usable summary is looked at again after so long: it may have been rebuilt. */
const RETRY_MS = 60_000;

export interface DayCubeDeps {
  readonly store: ReadableStore;
  readonly values: (column: Column) => TableValues;
  readonly nowMs: () => number;
  /** Told of every summary that cannot be used although it is there. */
  readonly damaged: () => void;
}

/** A file's part of a cube. */
interface FilePart {
  readonly cells: Cells;
  readonly measures: ReadonlyMap<number, MeasuredCells>;
}

const EMPTY: Cube = { cells: NO_CELLS, measures: new Map(), held: new Map() };

export class DayCube {
  readonly #deps: DayCubeDeps;
  readonly #spec: CubeSpec;
  #cube: Cube = EMPTY;
  /** When a file was found to have no usable summary, by key. */
  #absent = new Map<string, number>();
  /** Updates come one after the other. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(deps: DayCubeDeps, spec: CubeSpec) {
    this.#deps = deps;
    this.#spec = spec;
  }

  get bytes(): number {
    let measured = 0;
    for (const { cells } of this.#cube.measures.values()) measured += cells.size;
    return CELL_BYTES * this.#cube.cells.keys.length + MEASURED_BYTES * measured +
      FILE_BYTES * (this.#cube.held.size + this.#absent.size);
  }

  /** The cube of `files`, those aside that have no usable summary. Never fails for a file. */
  async of(files: readonly DataFile[]): Promise<Cube> {
    if (this.#isOf(files)) return this.#cube;
    const turn = this.#turn.then(async () => {
      if (!this.#isOf(files)) await this.#update(files);
      return this.#cube;
    });
    this.#turn = turn.catch(() => {});
    return await turn;
  }

  #isOf(files: readonly DataFile[]): boolean {
    const { held } = this.#cube;
    if (files.length !== held.size + this.#absent.size) return false;
    const retryBefore = this.#deps.nowMs() - RETRY_MS;
    return files.every(({ key }) => {
      const absentSince = this.#absent.get(key);
      return absentSince === undefined ? held.has(key) : absentSince > retryBefore;
    });
  }

  async #update(files: readonly DataFile[]): Promise<void> {
    const wanted = new Map(files.map((file) => [file.key, file]));
    const base = await this.#without(
      [...this.#cube.held.values()].filter(({ key }) => !wanted.has(key)),
    );
    const retryBefore = this.#deps.nowMs() - RETRY_MS;
    const absent = new Map(
      [...this.#absent].filter(([key, since]) => wanted.has(key) && since > retryBefore),
    );
    const missing = files.filter(({ key }) => !base.held.has(key) && !absent.has(key));
    const read = await this.#partsOf(missing);
    const held = new Map(base.held);
    missing.forEach((file, at) => {
      if (read[at] === undefined) absent.set(file.key, this.#deps.nowMs());
      else held.set(file.key, { key: file.key, rows: file.rows });
    });
    const parts = [base, ...read.filter((part) => part !== undefined)];
    this.#absent = absent;
    this.#cube = { ...this.#sumOf(parts), held };
  }

  /** What is known without the files that are `gone`; nothing where they cannot be subtracted. */
  async #without(gone: readonly SidecarSubject[]): Promise<Cube> {
    if (gone.length === 0) return this.#cube;
    // A smallest value that is gone cannot be taken out of a smaller one.
    if (this.#spec.measures.length > 0 || 2 * gone.length > this.#cube.held.size) return EMPTY;
    const parts = await this.#partsOf(gone);
    const known = parts.filter((part) => part !== undefined);
    if (known.length < parts.length) return EMPTY;
    const cells = differenceOfCells(this.#cube.cells, sumOfCells(known.map((part) => part.cells)));
    if (cells === undefined) return EMPTY;
    const held = new Map(this.#cube.held);
    for (const { key } of gone) held.delete(key);
    return { cells, measures: new Map(), held };
  }

  async #partsOf(files: readonly SidecarSubject[]): Promise<(FilePart | undefined)[]> {
    const parts: (FilePart | undefined)[] = [];
    for (let start = 0; start < files.length; start += READS_MAX) {
      const batch = files.slice(start, start + READS_MAX);
      parts.push(...await Promise.all(batch.map((file) => this.#partOf(file))));
    }
    return parts;
  }

  /** undefined: the file has no summary that will do. */
  async #partOf({ key, rows }: SidecarSubject): Promise<FilePart | undefined> {
    try {
      const summary = await FileSummary.open(this.#deps.store, { key, rows });
      if (summary !== undefined) {
        return await new PartReader(summary, this.#spec, this.#deps).read();
      }
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      log.warn("the summary of {key} cannot be used: {error}", { key, error: messageOf(error) });
      this.#deps.damaged();
    }
    return undefined;
  }

  #sumOf(parts: readonly FilePart[]): FilePart {
    const measures = new Map<number, MeasuredCells>();
    for (const { id } of this.#spec.measures) {
      const own = parts.flatMap((part) => part.measures.get(id) ?? []);
      const sum = sumOfMeasures(own);
      if (sum !== undefined) measures.set(id, sum);
    }
    return { cells: sumOfCells(parts.map(({ cells }) => cells)), measures };
  }
}

/** Reads a file's part of a cube; ids of the file's own become the table's. */
class PartReader {
  readonly #summary: FileSummary;
  readonly #spec: CubeSpec;
  readonly #values: (column: Column) => TableValues;
  /** Columns of the key that the file has; of the others every row is NULL. */
  readonly #columns: readonly Column[];

  constructor(summary: FileSummary, spec: CubeSpec, deps: Pick<DayCubeDeps, "values">) {
    this.#summary = summary;
    this.#spec = spec;
    this.#values = deps.values;
    this.#columns = spec.columns.filter(({ id }) => summary.columnIds.has(id));
  }

  async read(): Promise<FilePart | undefined> {
    const cells = await this.#cells();
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
    const { minutes, timeId } = this.#spec;
    const dims: Dim[] = [...(minutes ? ["minute" as const] : []), ...this.#columns];
    const [only] = dims;
    if (only === undefined) return cellsOf([0], [this.#summary.rows]);
    if (dims.length === 1 && only !== "minute") {
      const counted = await this.#summary.groupCounts(only.id);
      if (counted === undefined) return undefined;
      const key = await this.#keyOf([only]);
      return key === undefined
        ? undefined
        : cellsOf(Array.from(counted.counts, (_, id) => key(id, 0)), counted.counts);
    }
    // A file has each pair of columns once, in its own order.
    for (const order of [dims, dims.toReversed()]) {
      const cube = await this.#summary.cubeCounts(
        order.map((dim) => dim === "minute" ? timeId : dim.id),
      );
      if (cube === undefined) continue;
      const key = await this.#keyOf(order);
      return key === undefined ? undefined : cellsOf(keysOf(cube, key), cube.counts);
    }
    return undefined;
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

  /** From a key of the file's to one of the table's; undefined when a column has too many values. */
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

  /** By the file's id, the table's. */
  async #idsOf(column: Column): Promise<Uint32Array | undefined> {
    const counted = await this.#summary.groupCounts(column.id);
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

type Dim = "minute" | Column;

function keysOf(cells: CubeCells, key: (a: number, b: number) => number): Float64Array {
  return Float64Array.from(cells.a, (a, at) => key(a, cells.b[at] as number));
}

/** Of a column that a file has not. */
function noMeasures({ type }: Column): MeasuredCells {
  const kind = type === "double" ? "double" : type === "timestamptz" ? "time" : "integer";
  return { kind, units: kind === "time" ? undefined : 0, cells: new Map() };
}
