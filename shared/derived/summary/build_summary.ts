/**
 * The summary of a data file, from its rows: README.md says what is in it. Pure; runs beside the
 * encoding of the file.
 *
 * A pass over each counted column gives its rows ids; everything else counts ids. Counts by pair
 * and by minute are taken with arrays, one slot a pair: pairs of columns that would need more than
 * `PAIR_SLOTS_MAX` are left out.
 */

import { present } from "../../base/assert.ts";
import { attributeOf, isUnasked } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import type { Blob, FileRows } from "../types.ts";
import { type GroupIds, groupIds } from "./group_ids.ts";
import { type Minutes, minutesOf, rowsOfRun, runOfRow } from "./minutes.ts";
import {
  measureColumn,
  type MeasuredColumn,
  type MeasuredType,
  type RowGroups,
} from "./measure_column.ts";
import {
  CUBE_COUNTS_BLOB,
  type CubeCells,
  type CubeCounts,
  encodeCubeCounts,
  encodeGroupCounts,
  encodeMeasures,
  encodeSummary,
  GROUP_COUNTS_BLOB,
  type GroupType,
  MEASURES_BLOB,
  SUMMARY_BLOB,
} from "./summary_blobs.ts";
import {
  countValues,
  TOP_VALUES_BLOB,
  VALUE_COUNTS_BLOB,
  valueCountsBlob,
  VALUES_MAX,
} from "./value_counts.ts";
import type { ColumnPiece } from "./value_table.ts";

/** Default of `SVC_TYPED_GROUP_COUNT_CARDINALITY`. */
export const GROUP_VALUES_MAX = 4_096;
/** Default of `SVC_INDEX_FOOTER_MAX_BYTES`. */
export const SUMMARY_BYTES_MAX = 1024 * 1024;
/** Columns that are counted by value, tags first. Those of attributes come on top of them. */
const COLUMNS_MAX = 24;
/** Values of a column that has one, beside NULL. */
const SINGLE_VALUE = 2;
/** Columns that are counted in pairs. */
const PAIRED_MAX = 6;
const MEASURES_MAX = 8;
/** Columns by whose values measures are taken, and their values. */
const MEASURED_COLUMNS_MAX = 8;
const MEASURED_VALUES_MAX = 512;
/**
 * Columns by whose values measures are taken minute by minute, and their values; slots are minutes
 * times values.
 */
const TIMED_COLUMNS_MAX = 4;
const TIMED_VALUES_MAX = 64;
const TIMED_SLOTS_MAX = 2 ** 17;
const PAIR_SLOTS_MAX = 2 ** 20;

/**
 * Bytes of values beyond the summary's, for each byte of the file's rows: about a fourth of what
 * these take in the file.
 */
const SPILL_BYTES_PER_BYTE = 1 / 32;
const SPILL_BYTES_MIN = 64 * 1024;
/** Columns of a file whose values are counted beyond the summary's. */
const SPILLED_MAX = 4;

export interface SummaryLimits {
  /** Values of a column by which a file is counted, at most 65,534. Default `GROUP_VALUES_MAX`. */
  readonly groupValuesMax?: number;
  /**
   * Bytes of all blobs but counts of values beyond `groupValuesMax`. Default `SUMMARY_BYTES_MAX`.
   */
  readonly bytesMax?: number;
}

/** The blobs of a file's summary. */
export function summaryBlobs(file: FileRows, limits: SummaryLimits = {}): Blob[] {
  const { groupValuesMax = GROUP_VALUES_MAX, bytesMax = SUMMARY_BYTES_MAX } = limits;
  const { columns } = file.schema;
  const blobs: Blob[] = [{
    type: SUMMARY_BLOB,
    fields: columns.map(({ id }) => id),
    data: encodeSummary(file.rows),
  }];
  let bytes = present(blobs[0]).data.byteLength;
  for (const blob of partsOf(file, groupValuesMax)) {
    if (bytes + blob.data.byteLength > bytesMax) continue;
    bytes += blob.data.byteLength;
    blobs.push(blob);
  }
  return [...blobs, ...spilledBlobs(file, blobs)];
}

/**
 * Counts of the columns that have too many values for `summary`; none where words are indexed
 * later.
 */
function spilledBlobs(file: FileRows, summary: readonly Blob[]): Blob[] {
  if (file.text === undefined) return [];
  const counted = fieldsOf(summary, GROUP_COUNTS_BLOB);
  let bytesLeft = Math.max(SPILL_BYTES_MIN, SPILL_BYTES_PER_BYTE * bytesOf(file));
  const blobs: Blob[] = [];
  for (const column of groupColumns(file).filter(({ id }) => !counted.has(id))) {
    if (blobs.length === SPILLED_MAX) break;
    const counts = countValues(column.type as GroupType, piecesOf(file, column));
    if (counts === undefined) continue;
    const blob = valueCountsBlob(column, counts, bytesLeft);
    bytesLeft -= blob.data.byteLength;
    blobs.push(blob);
  }
  return blobs;
}

/**
 * Columns that an indexed file's summary must count by value and does not: it was made by an
 * earlier version, or for other tags. For doubles, and for files with very many rows, only the
 * values tell.
 */
export function uncountedColumns(
  { schema, rows }: Pick<FileRows, "schema" | "rows">,
  summary: readonly Pick<Blob, "type" | "fields">[],
): readonly Column[] {
  const counted = fieldsOf(summary, GROUP_COUNTS_BLOB);
  const spilled = fieldsOf(summary, VALUE_COUNTS_BLOB, TOP_VALUES_BLOB);
  const known = fieldsOf(summary, SUMMARY_BLOB);
  const wanted = groupColumns({ schema }).filter(({ id, type }) =>
    !counted.has(id) && (spilled.has(id) || (type !== "double" && rows <= VALUES_MAX))
  ).slice(0, SPILLED_MAX);
  return wanted.filter(({ id }) => !spilled.has(id) && known.has(id));
}

function fieldsOf(
  blobs: readonly Pick<Blob, "type" | "fields">[],
  ...types: readonly string[]
): ReadonlySet<number> {
  return new Set(blobs.flatMap(({ type, fields }) => types.includes(type) ? fields : []));
}

function bytesOf({ batches }: FileRows): number {
  let bytes = 0;
  for (const { offsets, values } of batches.flatMap(({ columns }) => columns)) {
    bytes += (offsets?.byteLength ?? 0) + values.byteLength;
  }
  return bytes;
}

/** A column whose rows have ids. */
interface Counted extends GroupIds {
  readonly column: Column;
}

/** Everything but the first blob, the most wanted first. */
function* partsOf(file: FileRows, valuesMax: number): Generator<Blob> {
  const { schema: { columns } } = file;
  const counted = byUse(
    countedColumns(file).flatMap((column): Counted[] => {
      const ids = groupIds(column.type as GroupType, piecesOf(file, column), valuesMax);
      return ids === undefined ? [] : [{ column, ...ids }];
    }),
  );
  const time = columns.find(({ name }) => name === "timestamp");
  const minutes = time === undefined ? undefined : minutesOf(piecesOf(file, time));
  const [first, further] = [counted.slice(0, COLUMNS_MAX), counted.slice(COLUMNS_MAX)];
  for (const group of first) yield groupCountsBlob(group);
  if (time !== undefined && minutes !== undefined) {
    yield blobOf([time.id], minuteCounts(minutes));
    for (const group of first) {
      yield blobOf([time.id, group.column.id], minuteGroupCounts(minutes, group));
    }
  }
  const measured = { counted: first, time, minutes, measures: measuredColumns(file, counted) };
  yield* measuresBlobs(file, measured);
  if (time !== undefined && minutes !== undefined) {
    yield* timedMeasuresBlobs(file, { ...measured, time, minutes });
  }
  yield* pairsBlobs(first.slice(0, PAIRED_MAX));
  for (const group of further) {
    yield groupCountsBlob(group);
    if (time === undefined || minutes === undefined) continue;
    yield blobOf([time.id, group.column.id], minuteGroupCounts(minutes, group));
  }
}

/**
 * Tags first: they are asked most. A promoted column was promoted for being asked. Then come all
 * that a table has for attributes of its rows, texts before numbers.
 */
export function groupColumns(
  { schema: { columns, tags, promoted = [] } }: Pick<FileRows, "schema">,
) {
  const isTag = ({ name }: Column) =>
    !isUnasked(name) && (tags.includes(name) || promoted.includes(name));
  const counted = columns.filter(({ type }) => type !== "timestamptz");
  const asked = counted.filter(isTag).slice(0, COLUMNS_MAX);
  const typed = counted.filter((column) =>
    !isTag(column) && !isUnasked(column.name) && column.type !== "string" &&
    column.name !== "timestamp_ns"
  ).slice(0, COLUMNS_MAX - asked.length);
  const unasked = counted.filter(({ name }) => isUnasked(name));
  return [
    ...asked,
    ...unasked.filter(({ type }) => type === "string"),
    // Numbers with fractions are measured: nobody groups by them, and their counts are large.
    ...unasked.filter(({ type }) => type === "long"),
    ...typed,
  ];
}

/** A file whose indexes wait has no counts of attributes either: the merge makes both. */
function countedColumns(file: FileRows): Column[] {
  const columns = groupColumns(file);
  return file.text === undefined ? columns.filter(({ name }) => !isUnasked(name)) : columns;
}

/**
 * The columns in the order in which they are wanted. Attributes come after others: the severity,
 * then those with fewer values. One with a single value tells least.
 */
function byUse(counted: readonly Counted[]): Counted[] {
  const rank = ({ column: { name }, values: { length } }: Counted) => {
    if (!isUnasked(name)) return 0;
    if (attributeOf(name) === "severity_text") return 1;
    return length <= SINGLE_VALUE ? Infinity : length;
  };
  return counted.toSorted((a, b) => Math.sign(rank(a) - rank(b)) || 0);
}

function piecesOf({ schema, batches }: FileRows, column: Column): ColumnPiece[] {
  const at = schema.columns.indexOf(column);
  return batches.map(({ rows, columns }) => ({ rows, data: present(columns[at], "column") }));
}

function groupCountsBlob({ column, type, ids, values }: Counted): Blob {
  const counts = new Float64Array(values.length);
  // By runs: neighbours mostly have the same value.
  for (let from = 0, to = 0; from < ids.length; from = to) {
    const id = ids[from] as number;
    while (to < ids.length && ids[to] === id) to += 1;
    counts[id] = (counts[id] as number) + to - from;
  }
  return {
    type: GROUP_COUNTS_BLOB,
    fields: [column.id],
    data: encodeGroupCounts({ type, values, counts }),
  };
}

function blobOf(fields: readonly number[], cube: CubeCounts): Blob {
  return { type: CUBE_COUNTS_BLOB, fields, data: encodeCubeCounts(cube) };
}

function minuteCounts({ minutes, starts }: Minutes): CubeCounts {
  return {
    dims: 1,
    a: Float64Array.from(minutes),
    b: new Uint32Array(minutes.length),
    counts: Float64Array.from(minutes, (_, at) => rowsOfRun({ starts }, at)),
  };
}

function minuteGroupCounts({ minutes, starts }: Minutes, { ids, values }: Counted): CubeCounts {
  const slots = new Uint32Array(values.length);
  const [a, b, counts]: [number[], number[], number[]] = [[], [], []];
  for (const [at, minute] of minutes.entries()) {
    const met = countIds(slots, ids.subarray(starts[at], starts[at + 1]));
    met.sort((one, other) => one - other);
    for (const id of met) {
      a.push(minute);
      b.push(id);
      counts.push(slots[id] as number);
      slots[id] = 0;
    }
  }
  return {
    dims: 2,
    a: Float64Array.from(a),
    b: Uint32Array.from(b),
    counts: Float64Array.from(counts),
  };
}

/**
 * Adds one to the slot of each id; the ids whose slots were 0. A function of its own, like all that
 * loops over rows: V8 compiles it once for all columns.
 */
function countIds(slots: Uint32Array, ids: Uint16Array | Uint32Array): number[] {
  const met: number[] = [];
  for (let row = 0; row < ids.length; row += 1) {
    const id = ids[row] as number;
    const count = slots[id] as number;
    if (count === 0) met.push(id);
    slots[id] = count + 1;
  }
  return met;
}

/** `slots[row] = first[row] * width + second[row]`. */
function pairSlots(
  first: Uint16Array | Uint32Array,
  second: Uint16Array,
  width: number,
): Uint32Array {
  const slots = new Uint32Array(first.length);
  for (let row = 0; row < slots.length; row += 1) {
    slots[row] = (first[row] as number) * width + (second[row] as number);
  }
  return slots;
}

function* pairsBlobs(paired: readonly Counted[]): Generator<Blob> {
  for (const [at, first] of paired.entries()) {
    for (const second of paired.slice(at + 1)) {
      if (first.values.length * second.values.length > PAIR_SLOTS_MAX) continue;
      yield blobOf([first.column.id, second.column.id], pairCounts(first, second));
    }
  }
}

function pairCounts(first: Counted, second: Counted): CubeCounts {
  const width = second.values.length;
  const slots = new Uint32Array(first.values.length * width);
  countIds(slots, pairSlots(first.ids, second.ids, width));
  const [a, b, counts]: [number[], number[], number[]] = [[], [], []];
  for (let slot = 0; slot < slots.length; slot += 1) {
    const count = slots[slot] as number;
    if (count === 0) continue;
    a.push(Math.floor(slot / width));
    b.push(slot % width);
    counts.push(count);
  }
  return {
    dims: 2,
    a: Float64Array.from(a),
    b: Uint32Array.from(b),
    counts: Float64Array.from(counts),
  };
}

function* measuresBlobs(
  file: FileRows,
  { counted, time, minutes, measures }: {
    readonly counted: readonly Counted[];
    readonly time: Column | undefined;
    readonly minutes: Minutes | undefined;
    readonly measures: readonly Column[];
  },
): Generator<Blob> {
  const grouped = counted.filter(({ values }) => values.length <= MEASURED_VALUES_MAX + 1)
    .slice(0, MEASURED_COLUMNS_MAX);
  const byMinute = minutes === undefined ? undefined : runOfRow(minutes, file.rows);
  for (const column of measures) {
    const blob = measuring(file, column);
    yield* blob([], cellsOf(0, [0]), { groups: undefined, count: 1 });
    // By value `timestamp` tells when one was seen; nobody has asked for the nanosecond.
    if (column.name === "timestamp_ns") continue;
    for (const { column: { id }, ids, values } of grouped) {
      if (id === column.id) continue;
      yield* blob([id], cellsOf(1, values.keys()), { groups: ids, count: values.length });
    }
    if (time === undefined || minutes === undefined || column.type === "timestamptz") continue;
    const groups = { groups: byMinute, count: minutes.minutes.length };
    yield* blob([time.id], cellsOf(1, minutes.minutes), groups);
  }
}

/**
 * Fractions are measured first: they are not counted by value. An attribute of few integers is a
 * code: its sum says nothing.
 */
function measuredColumns(
  { schema: { columns }, text }: FileRows,
  counted: readonly Counted[],
): Column[] {
  const codes = new Set(
    counted.filter(({ type, values }) => type !== "double" && values.length <= MEASURED_VALUES_MAX)
      .map(({ column }) => column),
  );
  const numbers = columns.filter(({ type }) => type !== "string" && type !== "bool");
  const own = numbers.filter(({ name }) => !isUnasked(name));
  const attributes = text === undefined
    ? []
    : numbers.filter((column) => isUnasked(column.name) && !codes.has(column));
  const isFraction = ({ type }: Column) => type === "double";
  return [
    ...own,
    ...attributes.filter(isFraction),
    ...attributes.filter((column) => !isFraction(column)),
  ].slice(0, MEASURES_MAX);
}

/** By minute and value. */
function* timedMeasuresBlobs(
  file: FileRows,
  { counted, time, minutes, measures: all }: {
    readonly counted: readonly Counted[];
    readonly time: Column;
    readonly minutes: Minutes;
    readonly measures: readonly Column[];
  },
): Generator<Blob> {
  const measures = all.filter(({ name, type }) =>
    type !== "timestamptz" && name !== "timestamp_ns"
  );
  const grouped = counted.filter(({ values }) =>
    values.length <= TIMED_VALUES_MAX + 1 &&
    values.length * minutes.minutes.length <= TIMED_SLOTS_MAX
  ).slice(0, TIMED_COLUMNS_MAX);
  if (measures.length === 0) return;
  const runs = runOfRow(minutes, file.rows);
  for (const { column: { id }, ids, values } of grouped) {
    const width = values.length;
    const slots = pairSlots(runs, ids, width);
    const count = width * minutes.minutes.length;
    const met = countIds(new Uint32Array(count), slots).sort((a, b) => a - b);
    const cells = slotCells(met, { minutes, width });
    const groups = { groups: slots, count };
    for (const column of measures) {
      if (id === column.id) continue;
      const measured = measureColumn(
        column.type as MeasuredType,
        piecesOf(file, column),
        groups,
      );
      if (measured === undefined) continue;
      yield {
        type: MEASURES_BLOB,
        fields: [time.id, id, column.id],
        data: encodeMeasures({ ...cells.keys, ...ofSlots(measured, cells.slots) }),
      };
    }
  }
}

/** Slots that have rows, as keys of minute and value. */
function slotCells(
  slots: readonly number[],
  { minutes, width }: { readonly minutes: Minutes; readonly width: number },
): { readonly slots: readonly number[]; readonly keys: CubeCells } {
  const a = Float64Array.from(slots, (slot) => minutes.minutes[Math.floor(slot / width)] as number);
  const b = Uint32Array.from(slots, (slot) => slot % width);
  return { slots, keys: { dims: 2, a, b } };
}

function ofSlots(measured: MeasuredColumn, slots: readonly number[]): MeasuredColumn {
  const { kind, sums } = measured;
  const pick = <T>(list: readonly T[]) => slots.map((slot) => list[slot] as T);
  return {
    kind,
    values: Float64Array.from(slots, (slot) => measured.values[slot] as number),
    smallest: pick(measured.smallest),
    largest: pick(measured.largest),
    sums: sums === undefined
      ? undefined
      : { units: sums.units, sums: pick(sums.sums), absolutes: pick(sums.absolutes) },
  };
}

function cellsOf(dims: number, keys: Iterable<number>): CubeCells {
  const a = Float64Array.from(keys);
  return { dims, a, b: new Uint32Array(a.length) };
}

/** Cell n of `cells` is group n. */
function measuring(
  file: FileRows,
  column: Column,
): (dims: readonly number[], cells: CubeCells, groups: RowGroups) => Blob[] {
  const pieces = piecesOf(file, column);
  return (dims, cells, groups) => {
    const measured = measureColumn(column.type as MeasuredType, pieces, groups);
    if (measured === undefined) return [];
    return [{
      type: MEASURES_BLOB,
      fields: [...dims, column.id],
      data: encodeMeasures({ ...cells, ...measured }),
    }];
  };
}
