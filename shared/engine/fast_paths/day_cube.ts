/**
 * The sum of the summaries of one day's data files, for one set of columns: what weighted rows are
 * made of. It follows the table from snapshot to snapshot: files that came are added, files that
 * went are subtracted.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, messageOf } from "../../base/errors.ts";
import {
  type Cells,
  differenceOfCells,
  NO_CELLS,
  sumOfCells,
} from "../../derived/summary/cells.ts";
import type { FileSummary } from "../../derived/summary/file_summary.ts";
import { type MeasuredCells, sumOfMeasures } from "../../derived/summary/measured_cells.ts";
import type { SidecarSubject } from "../../derived/sidecar.ts";
import { newestRollup, rollupFolder } from "../../derived/summary/rollup.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { type CubePart, type CubeSpec, PartReader, type TableValues } from "./file_part.ts";
import { readSummary, type SummaryDeps } from "./read_summary.ts";

const log = getLogger(["svc", "engine"]);

/** Rows of one or more days by key. A cube never changes. */
export interface Cube {
  readonly cells: Cells;
  /** Measures by column id. */
  readonly measures: ReadonlyMap<number, MeasuredCells>;
  /** The files whose rows it counts, by key. */
  readonly held: ReadonlyMap<string, SidecarSubject>;
}

const CELL_BYTES = 16;
const MEASURED_BYTES = 160;
const FILE_BYTES = 120;
/** Summaries read at the same time. */
const READS_MAX = 16;
/**
 * A file without a usable summary is looked at again after so long, because the summary may have
 * been rebuilt.
 */
const RETRY_MS = 60_000;

/** Files of a day from which on a roll-up is looked for. */
const ROLLED_MIN = 2;

/** Where summaries are read, and by which clock. */
export interface DayCubeDeps extends SummaryDeps {
  readonly values: (column: Column) => TableValues;
  readonly nowMs: () => number;
}

const EMPTY: Cube = { cells: NO_CELLS, measures: new Map(), held: new Map() };

/** One day's cube of one set of columns. Updates follow each other. */
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

  /** Whether the rows of a file are counted already. */
  holds({ key }: Pick<SidecarSubject, "key">): boolean {
    return this.#cube.held.has(key);
  }

  /**
   * The cube of `files`, without files that have no usable summary. Never fails because of a file.
   */
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
    if (this.#cube.held.size === 0 && files.length >= ROLLED_MIN) {
      this.#cube = await this.#rolledUp(wanted) ?? EMPTY;
    }
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

  /** What the newest roll-up of the day has. Undefined where it is of no use for these files. */
  async #rolledUp(wanted: ReadonlyMap<string, DataFile>): Promise<Cube | undefined> {
    const [[key] = []] = wanted;
    const folder = key === undefined ? undefined : rollupFolder(key);
    if (folder === undefined) return undefined;
    try {
      const rollup = await newestRollup(this.#deps.store, folder);
      if (rollup === undefined) return undefined;
      const live = rollup.files.filter(({ key, rows }) => wanted.get(key)?.rows === rows);
      const gone = rollup.files.length - live.length;
      if (
        2 * live.length < wanted.size || gone > (this.#spec.measures.length > 0 ? 0 : live.length)
      ) {
        return undefined;
      }
      const part = await new PartReader(rollup.summary, this.#spec, this.#deps).read();
      return part === undefined
        ? undefined
        : { ...part, held: new Map(rollup.files.map((file) => [file.key, file])) };
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      log.warn("the roll-up of {folder} cannot be used: {error}", {
        folder,
        error: messageOf(error),
      });
      return undefined;
    }
  }

  /**
   * What is known without the files that are `gone`. Nothing is known where they cannot be
   * subtracted.
   */
  async #without(gone: readonly SidecarSubject[]): Promise<Cube> {
    if (gone.length === 0) return this.#cube;
    // A smallest value that is gone cannot be taken out of a cube.
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

  async #partsOf(files: readonly SidecarSubject[]): Promise<(CubePart | undefined)[]> {
    const parts: (CubePart | undefined)[] = [];
    for (let start = 0; start < files.length; start += READS_MAX) {
      const batch = files.slice(start, start + READS_MAX);
      parts.push(...await Promise.all(batch.map((file) => this.#partOf(file))));
    }
    return parts;
  }

  /** A file's part of the cube. Undefined: the file has no summary that will do. */
  #partOf(file: SidecarSubject): Promise<CubePart | undefined> {
    const read = (summary: FileSummary) => new PartReader(summary, this.#spec, this.#deps).read();
    return readSummary(this.#deps, file, read);
  }

  #sumOf(parts: readonly CubePart[]): CubePart {
    const measures = new Map<number, MeasuredCells>();
    for (const { id } of this.#spec.measures) {
      const own = parts.flatMap((part) => part.measures.get(id) ?? []);
      const sum = sumOfMeasures(own);
      if (sum !== undefined) measures.set(id, sum);
    }
    return { cells: sumOfCells(parts.map(({ cells }) => cells)), measures };
  }
}
