/**
 * What a frame says of its rows: how many there are of each minute and combination of values, and
 * which traces they can be of. Whoever counts rows by these, or looks for a trace, need not read
 * them. The ingester writes it with the rows, under their checksum.
 *
 * It is JSON, filled up with spaces to a multiple of 8 bytes. A column with more than `VALUES_MAX`
 * values or with a long one is left out, and so are those with most values where there would be too
 * many combinations.
 */

import { textOf, utf8, viewOf } from "../base/bytes.ts";
import type { ColumnBatch, ColumnData } from "../columns/batch.ts";
import { constantOf } from "../columns/compact.ts";
import { halvesOf, int64At } from "../columns/timestamps.ts";
import { areSameBytesAt } from "../columns/value_bytes.ts";
import type { TableSchema } from "../schema/schema.ts";
import { FRAME_SUMMARY_BYTES_MAX } from "./format.ts";

/** The attributes of which a summary can tell. */
export const TOLD_ATTRIBUTES: ReadonlySet<string> = new Set(["severity_text", "severity_number"]);

/** A value of a column or an attribute. */
export type SummaryValue = string | number | null;

/** What a frame says of its rows. */
export interface FrameSummary {
  /** Absent: how many there are of each value is not said. */
  readonly counts?: FrameCounts;
  /** Which traces they can be of (`trace_filter.ts`), as base64. Absent: any. */
  readonly traces?: string;
}

/** Rows of a frame by minute and value. */
export interface FrameCounts {
  /** Names of columns of the frame. */
  readonly columns: readonly string[];
  /** Names in `attributes`: what stands there is known of every row. */
  readonly attributes: readonly string[];
  /** Minutes since 1970, the values of each of `columns`, and those of each of `attributes`. */
  readonly values: readonly [readonly number[], ...(readonly SummaryValue[])[]];
  /**
   * One combination after the other: its number of rows, and its place in each of `values` that
   * have more than one.
   */
  readonly cells: readonly number[];
}

/** Values of one column. */
const VALUES_MAX = 16;
const VALUE_BYTES_MAX = 128;
/** Combinations that a frame has at most, and its rows for each beyond the first few. */
const CELLS_MAX = 256;
const CELLS_MIN = 32;
const ROWS_PER_CELL = 2;
/** Tags that are looked at, the first of the table. */
const TAGS_MAX = 8;
/** Lists of more than one value: their places fit one integer. */
const LISTS_MAX = 7;
const MINUTE_MICROS = 60_000_000;
const SPACE = 0x20;

/** Values, and for each row its place among them. */
interface Part {
  readonly values: readonly SummaryValue[];
  /** Undefined: all rows have the first one. */
  readonly ids: Uint8Array | undefined;
}

interface NamedPart extends Part {
  readonly name: string;
}

/** The summary of a batch's rows; undefined: there is none. */
export function summaryOf(batch: ColumnBatch): Uint8Array<ArrayBuffer> | undefined {
  const counts = countsOf(batch);
  const traces = batch.traces?.toBase64();
  return written({ counts, traces }) ?? written({ counts: undefined, traces });
}

/** Undefined: it says nothing, or is too long. */
function written(summary: Optional<FrameSummary>): Uint8Array<ArrayBuffer> | undefined {
  if (summary.counts === undefined && summary.traces === undefined) return undefined;
  const text = utf8(JSON.stringify(summary));
  const length = Math.ceil(text.byteLength / 8) * 8;
  if (length > FRAME_SUMMARY_BYTES_MAX) return undefined;
  const bytes = new Uint8Array(length);
  bytes.set(text);
  return bytes.fill(SPACE, text.byteLength);
}

type Optional<T> = { readonly [Name in keyof T]: T[Name] | undefined };

function countsOf({ schema, rows, columns, told }: ColumnBatch): FrameCounts | undefined {
  const time = columns[schema.columns.findIndex(isTime)];
  if (rows === 0 || time === undefined || time.nullCount > 0) return undefined;
  const minutes = minutesOf(time, rows);
  if (minutes === undefined) return undefined;
  const own: NamedPart[] = [];
  for (const name of schema.tags.slice(0, TAGS_MAX)) {
    const at = schema.columns.findIndex((column) => column.name === name);
    const part = schema.columns[at]?.type === "string"
      ? partOf(columns[at] as ColumnData, rows)
      : undefined;
    if (part !== undefined) own.push({ name, ...part });
  }
  const attributes: NamedPart[] = [];
  if (told !== undefined) {
    const ids = told.values.length === 1 ? undefined : told.ids;
    told.names.forEach((name, at) => {
      attributes.push({ name, ids, values: told.values.map((values) => values[at] ?? null) });
    });
  }
  for (;;) {
    const parts = [minutes, ...own, ...attributes];
    const cells = cellsOf(parts, rows);
    if (cells !== undefined) {
      return {
        columns: own.map(({ name }) => name),
        attributes: attributes.map(({ name }) => name),
        values: [minutes.values, ...[...own, ...attributes].map(({ values }) => values)],
        cells,
      };
    }
    // Levels are asked for more often than what has as many values.
    const left = own.length > 0 ? own : attributes;
    const most = left.reduce((max, { values }) => Math.max(max, values.length), 1);
    if (most === 1) return undefined;
    left.splice(left.findIndex(({ values }) => values.length === most), 1);
  }
}

/** What `summaryOf` wrote. */
export function readFrameSummary(bytes: Uint8Array): FrameSummary {
  return JSON.parse(textOf(bytes));
}

function isTime({ name, type }: TableSchema["columns"][number]): boolean {
  return name === "timestamp" && type === "timestamptz";
}

/** Undefined: it has too many values, or too long ones. */
function partOf(data: ColumnData, rows: number): Part | undefined {
  const constant = constantOf(data, "string", rows);
  if (constant !== undefined) {
    const { values, nullCount } = constant;
    if (values.byteLength > VALUE_BYTES_MAX) return undefined;
    return { values: [nullCount > 0 ? null : textOf(values)], ids: undefined };
  }
  const { offsets, values: bytes, validity } = data;
  if (offsets === null) return undefined;
  const view = viewOf(bytes);
  const ids = new Uint8Array(rows);
  const values: SummaryValue[] = [];
  const starts: number[] = [];
  const lengths: number[] = [];
  let id = 0;
  const isKnown = (known: number, start: number, length: number) =>
    lengths[known] === length &&
    (length <= 0 || areSameBytesAt(view, start, view, starts[known] as number, length));
  for (let row = 0; row < rows; row += 1) {
    const isNull = validity !== null && ((validity[row >> 3] as number) >> (row & 7) & 1) === 0;
    const start = offsets[row] as number;
    const length = isNull ? -1 : (offsets[row + 1] as number) - start;
    if (!isKnown(id, start, length)) {
      id = 0;
      while (id < values.length && !isKnown(id, start, length)) id += 1;
      if (id === values.length) {
        if (id === VALUES_MAX || length > VALUE_BYTES_MAX) return undefined;
        starts.push(start);
        lengths.push(length);
        values.push(isNull ? null : textOf(bytes.subarray(start, start + length)));
      }
    }
    ids[row] = id;
  }
  return { values, ids: values.length === 1 ? undefined : ids };
}

/** Undefined: there are too many, or some that no number has exactly. */
function minutesOf(
  time: ColumnData,
  rows: number,
): { readonly values: readonly number[]; readonly ids: Uint8Array | undefined } | undefined {
  const halves = halvesOf(time, rows);
  const values: number[] = [];
  const ids = new Uint8Array(rows);
  let [id, end] = [0, -Infinity];
  for (let row = 0; row < rows; row += 1) {
    const micros = int64At(halves, row);
    if (micros >= end || micros < end - MINUTE_MICROS) {
      if (!Number.isSafeInteger(micros)) return undefined;
      const minute = Math.floor(micros / MINUTE_MICROS);
      end = (minute + 1) * MINUTE_MICROS;
      id = values.indexOf(minute);
      if (id < 0) id = values.push(minute) - 1;
      if (id === VALUES_MAX) return undefined;
    }
    ids[row] = id;
  }
  return { values, ids: values.length === 1 ? undefined : ids };
}

/** The combinations of the parts' values, with their rows. Undefined: there are too many. */
function cellsOf(parts: readonly Pick<Part, "ids">[], rows: number): readonly number[] | undefined {
  const lists: Uint8Array[] = [];
  for (const { ids } of parts) if (ids !== undefined) lists.push(ids);
  if (lists.length === 0) return [rows];
  // Attributes that were told together have one list.
  const different = lists.filter((ids, at) => lists.indexOf(ids) === at);
  if (different.length > LISTS_MAX) return undefined;
  const keys = new Int32Array(rows);
  for (const ids of different) {
    for (let row = 0; row < rows; row += 1) {
      keys[row] = (keys[row] as number) * VALUES_MAX + (ids[row] as number);
    }
  }
  const max = Math.min(CELLS_MAX, Math.max(CELLS_MIN, rows / ROWS_PER_CELL));
  const cells: number[] = [];
  const places = new Map<number, number>();
  let [known, place] = [-1, 0];
  for (let row = 0; row < rows; row += 1) {
    const key = keys[row] as number;
    if (key !== known) {
      known = key;
      place = places.get(key) ?? cells.length;
      if (place === cells.length) {
        if (places.size >= max) return undefined;
        places.set(key, place);
        cells.push(0);
        for (const ids of lists) cells.push(ids[row] as number);
      }
    }
    cells[place] = (cells[place] as number) + 1;
  }
  return cells;
}
