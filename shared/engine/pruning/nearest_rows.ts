/**
 * Newest-N and oldest-N with a filter, without reading the table. The walk goes over its data files
 * from the near end and asks their indexes which rows may count. It asks DuckDB (`probed_rows.ts`)
 * how many of the first ones do. Once N rows are found, the time of the last of them is a
 * threshold: whatever lies wholly beyond it cannot be in the answer.
 *
 * The walk gives up when, going by what it found, a sixteenth of the table would not be enough. The
 * statement then scans what the indexes leave of all of it, in bands (`order/ordered_bands.ts`).
 * The statement itself, with its filter, order and limit, always runs over what is left.
 *
 * Relies on: `timestamp` has no nulls, the bounds of files and row groups are true, the filter is
 * steady (`steady.ts`).
 */

import type { Soon } from "../../base/steps.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { ROW_GROUP_ROWS } from "../../parquet/row_groups.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import {
  deltaPart,
  type RowRange,
  rowsOfParts,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import type { FileSelection } from "./file_selection.ts";
import type { ProbedRows, RowsByFile } from "./probed_rows.ts";
import { clipped, onlyRows } from "./selected_parts.ts";

/** What the walk asks of indexes and of DuckDB. */
export interface NearestDeps {
  /** Returns what the indexes leave of a file. */
  readonly select: (file: DataFile) => Soon<FileSelection>;
  /** Returns the file's row groups with their times. */
  readonly groups: (file: DataFile) => Promise<readonly TimedRows[]>;
  /**
   * How many of the first `rows` rows that satisfy the filter some parts hold; undefined when that
   * cannot be told.
   */
  readonly probe: (parts: readonly ScanPart[], rows: number) => Promise<ProbedRows | undefined>;
  /**
   * Returns the time of the last wanted row of a part, whether or not the filter keeps it, in Unix
   * microseconds; undefined when that cannot be told.
   */
  readonly edge: (part: ScanPart) => Promise<bigint | undefined>;
  /** Candidates of the first probe, and of each one at least. */
  readonly firstRows: number;
  /** Ends the walk, with its reason. */
  readonly signal: AbortSignal;
}

/**
 * Rows of a file that follow each other; times in Unix microseconds, undefined where they are not
 * known.
 */
export interface TimedRows {
  readonly firstRow: number;
  readonly rows: number;
  readonly timestampMin: bigint | undefined;
  readonly timestampMax: bigint | undefined;
}

/** Units of which is known which of their rows may count. */
interface Placed {
  readonly units: ReadonlySet<Unit>;
  readonly numbers: RowsByFile;
}

/** What is left to read of a table. */
export interface NearestRows {
  /**
   * Files that were looked at, and what is to be read of each; the others hold no row of the
   * answer.
   */
  readonly selections: ReadonlyMap<DataFile, FileSelection>;
  /** The parts of the WAL that may hold rows of the answer. */
  readonly delta: readonly ScanPart[];
}

/** Share of the table's rows that may be looked at in vain. */
const PROBED_SHARE = 1 / 16;
/** That share of a small table, up to a row group. Two probes are made in any case. */
const SMALL_PROBED_SHARE = 1 / 8;
/** A probe of fewer candidates would rarely find enough. */
const CANDIDATES_PER_ROW = 4;
/** How much more is probed than would just be enough. */
const SPARE = 1.3;
/** Files that are looked up at the same time. */
const AHEAD = 16;

/** Row groups of a file and what is to be read of them. */
interface Unit {
  readonly file: DataFile | undefined;
  /** The end that is wanted first, written `sign × time`: smaller is nearer. */
  readonly near: bigint;
  readonly range: RowRange;
  readonly parts: readonly ScanPart[];
  /** Number of the row group. */
  readonly group: number;
}

/**
 * A unit that was cut in two because its rows are in order: the nearer ones, and those that wait
 * for a later probe.
 */
interface Cut {
  readonly whole: Unit;
  readonly nearer: Unit;
  readonly farther: Unit;
}

/**
 * Narrows a table. Undefined: the walk found no threshold, or nothing to leave out. Errors: those
 * of `deps`.
 */
export async function nearestRows(
  plan: TablePlan,
  files: readonly DataFile[],
  wanted: OrderedRequest & { readonly deps: NearestDeps },
): Promise<NearestRows | undefined> {
  const walk = new Walk(plan, files, wanted);
  return await walk.run();
}

class Walk {
  readonly #sign: bigint;
  readonly #wanted: number;
  readonly #deps: NearestDeps;
  readonly #isSorted: (file: DataFile) => boolean;
  /** Files that were not looked at yet, nearest first. */
  readonly #left: { readonly file: DataFile; readonly near: bigint }[];
  readonly #isTimed: boolean;
  readonly #deltas: readonly Unit[];
  readonly #units: Unit[] = [];
  readonly #selections = new Map<DataFile, FileSelection>();
  readonly #probedRowsMax: number;
  /** All probes' rows: those that may count, those that were looked at, those that count. */
  #candidates = 0;
  #looked = 0;
  #found = 0;
  /** One for each probe, as far as it told. */
  readonly #placed: Placed[] = [];
  #reaches: bigint | undefined;

  constructor(
    plan: TablePlan,
    files: readonly DataFile[],
    { direction, rows, deps }: OrderedRequest & { readonly deps: NearestDeps },
  ) {
    this.#sign = direction === "newest" ? -1n : 1n;
    this.#wanted = rows;
    this.#deps = deps;
    this.#isSorted = ({ sortOrderId }) => sortOrderId !== 0 && sortOrderId === plan.order.id;
    const timed = files.flatMap((file) => {
      const near = this.#near(file.timestampNsMin, file.timestampNsMax);
      return near === undefined ? [] : [{ file, near }];
    });
    this.#isTimed = timed.length === files.length;
    this.#left = timed.sort((a, b) => a.near < b.near ? -1 : a.near > b.near ? 1 : 0);
    this.#deltas = plan.delta.flatMap((delta) => {
      const near = this.#near(delta.timestampNsMin, delta.timestampNsMax);
      const part = deltaPart(delta);
      if (near === undefined) return [];
      const range = { first: 0, end: part.rows };
      return [{ file: undefined, near, range, parts: [part], group: 0 }];
    });
    const rowsInAll = totalRows(files);
    this.#probedRowsMax = Math.max(
      2 * deps.firstRows,
      Math.min(ROW_GROUP_ROWS, rowsInAll * SMALL_PROBED_SHARE),
      rowsInAll * PROBED_SHARE,
    );
  }

  async run(): Promise<NearestRows | undefined> {
    if (!this.#isTimed || this.#wanted === 0) return undefined;
    const waiting: Unit[] = [...this.#deltas];
    for (let rows = this.#deps.firstRows;;) {
      while (this.#left.length > 0 && !this.#isEnough(waiting, rows)) {
        waiting.push(...await this.#next());
      }
      // All rows that may count are known, and they are few.
      if (this.#left.length === 0 && !this.#isEnough(waiting, rows)) return this.#everything();
      const { batch, cut } = this.#take(waiting, rows);
      const candidates = candidatesIn(batch);
      if (this.#isTooMuch(candidates)) return undefined;
      const parts = batch.flatMap((unit) => unit.parts);
      const answer = await this.#deps.probe(parts, this.#wanted - this.#found);
      if (answer === undefined) return undefined;
      this.#candidates += candidates;
      this.#looked += answer.looked;
      this.#found += answer.rows;
      this.#reach(answer.reaches);
      // What lies between its last row and one of an earlier probe is not known.
      if (this.#found < this.#wanted || this.#isFarthest(answer.reaches)) {
        const { numbers } = answer;
        if (numbers !== undefined) this.#placed.push({ units: new Set(batch), numbers });
      }
      if (cut !== undefined) waiting.unshift(...await this.#settle(cut));
      if (this.#found >= this.#wanted) return await this.#upToThreshold();
      rows = this.#nextRows(rows);
      if (this.#isTooMuch(rows)) return undefined;
    }
  }

  /**
   * How many candidates are likely enough, by what was found so far; four times the last probe at
   * most.
   */
  #nextRows(rows: number): number {
    if (this.#found === 0) return rows * 4;
    const left = (this.#wanted - this.#found) / this.#found * this.#candidates * SPARE;
    if (this.#isTooMuch(left)) return Infinity;
    return Math.max(this.#deps.firstRows, Math.min(rows * 4, Math.ceil(left)));
  }

  /** Whether a probe of `rows` more candidates would look at too many rows, as far as is known. */
  #isTooMuch(rows: number): boolean {
    const share = this.#candidates === 0 ? 1 : this.#looked / this.#candidates;
    return this.#looked + rows * share > this.#probedRowsMax;
  }

  #isEnough(units: readonly Unit[], rows: number): boolean {
    return candidatesIn(units) >= Math.max(rows, this.#wanted * CANDIDATES_PER_ROW);
  }

  /** Takes units off until they are enough. The last one may be cut. */
  #take(waiting: Unit[], rows: number): { readonly batch: readonly Unit[]; readonly cut?: Cut } {
    const batch: Unit[] = [];
    while (!this.#isEnough(batch, rows)) {
      const unit = waiting.shift();
      if (unit === undefined) break;
      const cut = this.#cut(unit, batch, rows);
      if (cut !== undefined) return { batch: [...batch, cut.nearer], cut };
      batch.push(unit);
    }
    return { batch };
  }

  /**
   * Cuts `unit` so that a batch is enough with its nearer rows. Undefined: it takes most of them,
   * or their order is not known.
   */
  #cut(unit: Unit, batch: readonly Unit[], rows: number): Cut | undefined {
    const { file, range: { first, end } } = unit;
    if (file === undefined || !this.#isSorted(file)) return undefined;
    for (let taken = rows; taken * 2 <= end - first; taken *= 2) {
      const ranges = [{ first, end: first + taken }, { first: first + taken, end }];
      if (this.#sign < 0n) {
        ranges.splice(0, 2, { first: end - taken, end }, { first, end: end - taken });
      }
      const [nearer, farther] = ranges.map((range) => within(unit, range));
      if (nearer === undefined || farther === undefined) return undefined;
      if (this.#isEnough([...batch, nearer], rows)) return { whole: unit, nearer, farther };
    }
    return undefined;
  }

  /** Finds out where the cut lies in time. What is left of the unit lies beyond it, or on it. */
  async #settle({ whole, nearer, farther }: Cut): Promise<Unit[]> {
    const selection = whole.file === undefined ? undefined : this.#selections.get(whole.file);
    if (selection === undefined) return [];
    const edge = await this.#deps.edge({ ...selection.whole, range: nearer.range });
    const rest = edge === undefined ? farther : { ...farther, near: this.#sign * edge };
    this.#units.splice(this.#units.indexOf(whole), 1, nearer, rest);
    return rest.parts.length === 0 ? [] : [rest];
  }

  #reach(reaches: bigint | undefined): void {
    if (reaches === undefined) return;
    const far = this.#sign * reaches;
    if (this.#reaches === undefined || far > this.#reaches) this.#reaches = far;
  }

  #isFarthest(reaches: bigint | undefined): boolean {
    return reaches !== undefined && this.#sign * reaches === this.#reaches;
  }

  /** The rows of a file that may count, if that is known of all these units of it. */
  #rowsOf(file: DataFile, units: readonly Unit[]): Uint32Array | undefined {
    const isKnown = (unit: Unit) =>
      unit.parts.length === 0 || this.#placed.some((placed) => placed.units.has(unit));
    if (!units.every(isKnown)) return undefined;
    return Uint32Array.from(this.#placed.flatMap(({ numbers }) => numbers.get(file) ?? [])).sort();
  }

  /** Units of the next files, nearest first; empty when indexes leave nothing of them. */
  async #next(): Promise<Unit[]> {
    this.#deps.signal.throwIfAborted();
    // The first file is often enough.
    const next = this.#left.splice(0, Math.max(1, Math.min(AHEAD, this.#selections.size)));
    const units = await Promise.all(next.map(({ file, near }) => this.#unitsOf(file, near)));
    const own = units.flat();
    this.#units.push(...own);
    return own.filter(({ parts }) => parts.length > 0);
  }

  async #unitsOf(file: DataFile, near: bigint): Promise<Unit[]> {
    const selection = await this.#deps.select(file);
    this.#selections.set(file, selection);
    if (selection.parts.length === 0) return [];
    const groups = file.splitOffsets.length <= 1 ? [] : await this.#deps.groups(file);
    const units = groups.flatMap((timed, group): Unit[] => {
      const { timestampMin: min, timestampMax: max, firstRow: first, rows } = timed;
      if (min === undefined || max === undefined) return [];
      const range = { first, end: first + rows };
      return [{
        file,
        near: this.#sign * (this.#sign < 0n ? max : min),
        range,
        parts: selection.parts.flatMap((part) => clipped(part, range) ?? []),
        group,
      }];
    });
    if (units.length < groups.length || units.length === 0) {
      const range = { first: 0, end: file.rows };
      return [{ file, near, range, parts: selection.parts, group: 0 }];
    }
    return units.sort((a, b) => a.near < b.near ? -1 : a.near > b.near ? 1 : 0);
  }

  /** What may reach the threshold, with ties. */
  async #upToThreshold(): Promise<NearestRows> {
    const threshold = this.#reaches ?? 0n;
    while ((this.#left[0]?.near ?? threshold + 1n) <= threshold) await this.#next();
    const needed = this.#units.filter(({ near }) => near <= threshold);
    const byFile = Map.groupBy(needed, ({ file }) => file);
    const selections = new Map<DataFile, FileSelection>();
    for (const [file, selection] of this.#selections) {
      const units = byFile.get(file) ?? [];
      const range = hull(units);
      const clippedParts = range === undefined
        ? []
        : selection.parts.flatMap((part) => clipped(part, range) ?? []);
      const numbers = this.#rowsOf(file, units);
      const parts = numbers === undefined
        ? clippedParts
        : clippedParts.flatMap((part) => onlyRows(part, numbers) ?? []);
      const own = this.#units.filter((unit) => unit.file === file);
      selections.set(file, {
        ...selection,
        parts: parts.map((part) => ({ ...part, rowGroupsRead: rowGroupsOf(part, own) })),
      });
    }
    const delta = this.#deltas.filter(({ near }) => near <= threshold)
      .flatMap(({ parts }) => parts);
    return { selections, delta };
  }

  #everything(): NearestRows {
    return { selections: this.#selections, delta: this.#deltas.flatMap(({ parts }) => parts) };
  }

  /** The near end of times in Unix nanoseconds. */
  #near(min: bigint | undefined, max: bigint | undefined): bigint | undefined {
    const ns = this.#sign < 0n ? max : min;
    return ns === undefined ? undefined : this.#sign * floorMicros(ns);
  }
}

/** The rows of a unit that lie in `range`. */
function within(unit: Unit, range: RowRange): Unit {
  return { ...unit, range, parts: unit.parts.flatMap((part) => clipped(part, range) ?? []) };
}

function candidatesIn(units: readonly Unit[]): number {
  return rowsOfParts(units.flatMap((unit) => unit.parts));
}

/** `units`: all of its file. */
function rowGroupsOf({ range, rowGroupsRead }: ScanPart, units: readonly Unit[]): number {
  if (range === undefined || units.length <= 1) return rowGroupsRead;
  const touched = units.filter((unit) =>
    unit.range.first < range.end && unit.range.end > range.first
  );
  return new Set(touched.map(({ group }) => group)).size;
}

function hull(units: readonly Unit[]): RowRange | undefined {
  if (units.length === 0) return undefined;
  return {
    first: Math.min(...units.map(({ range }) => range.first)),
    end: Math.max(...units.map(({ range }) => range.end)),
  };
}

function floorMicros(ns: bigint): bigint {
  return ns >= 0n ? ns / 1_000n : (ns - 999n) / 1_000n;
}
