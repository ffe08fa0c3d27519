/** Rows as the page holds them: their places, their fields, and how pages and new rows join. */

import { SEVERITIES, type Severity, severityOf } from "../../shared/search/severities.ts";
import type { NamedMembers } from "../../shared/search/flat_attributes.ts";
import {
  ATTRIBUTES_NAME,
  LEVEL_ATTRIBUTES,
  LEVEL_NUMBER,
} from "../../shared/search/search_fields.ts";
import type { Answer, Value } from "../api/sql_client.ts";
import { flatMembers, jsonMembers } from "./json_members.ts";

/** The place of a row in the order newest first. */
export interface RowPlace {
  /** The text of the answer. */
  readonly timestamp: string;
  /** Unix nanoseconds as text: too many digits for a number. */
  readonly timestampNs: string;
}

/** A row by the names of its columns. */
export interface LogRow {
  /** Tells the row from all others: its instant, and a hash of what it says. */
  readonly key: string;
  readonly place: RowPlace;
  readonly values: Readonly<Record<string, Value>>;
}

/** The column of a row's instant as a text, beside the table's own: `rowsSql` selects it. */
export const NS_TEXT = "timestamp_ns text";

/** Reads the rows of `rowsSql`, or of the tail. */
export function rowsOf(
  { columns, rows }: { readonly columns: readonly string[]; readonly rows: Answer["rows"] },
): readonly LogRow[] {
  const counts = new Map<string, number>();
  return rows.map((values) => {
    const named = Object.fromEntries(columns.map((name, at) => [name, values[at] ?? null]));
    const { [NS_TEXT]: nsText, ...rest } = named;
    const timestampNs = String(nsText ?? named["timestamp_ns"]);
    const content = `${timestampNs}-${contentHash(rest)}`;
    const count = (counts.get(content) ?? 0) + 1;
    counts.set(content, count);
    return {
      key: count === 1 ? content : `${content}-${count}`,
      place: { timestamp: String(rest["timestamp"]), timestampNs },
      values: rest,
    };
  });
}

/**
 * Adds a page of older rows. It begins with all rows of the last row's instant, so that none of
 * those is missing and none comes twice.
 */
export function joinPages(shown: readonly LogRow[], older: readonly LogRow[]): readonly LogRow[] {
  const last = shown.at(-1)?.place.timestampNs;
  const kept = shown.findLastIndex((row) => row.place.timestampNs !== last) + 1;
  return [...shown.slice(0, kept), ...older];
}

/** Whether a page has rows of one instant alone: the walk needs a larger page then. */
export function isOneInstant(page: readonly LogRow[]): boolean {
  return page.at(0)?.place.timestampNs === page.at(-1)?.place.timestampNs;
}

/** Rows that are not among `known`, each once: a search and the tail may both bring a row. */
export function unknownRows(
  arrived: readonly LogRow[],
  known: readonly LogRow[],
): readonly LogRow[] {
  const unknown = new Map(arrived.map((row) => [row.key, row]));
  for (const { key } of known) unknown.delete(key);
  return [...unknown.values()];
}

/** Puts rows where their instants belong, the newest first; `shown` is in that order. */
export function mergeRows(shown: readonly LogRow[], added: readonly LogRow[]): readonly LogRow[] {
  const merged: LogRow[] = [];
  let at = 0;
  for (const row of added.toSorted(newestFirst)) {
    let next = shown[at];
    while (next !== undefined && newestFirst(next, row) < 0) {
      merged.push(next);
      at += 1;
      next = shown[at];
    }
    merged.push(row);
  }
  for (; at < shown.length; at += 1) {
    const row = shown[at];
    if (row !== undefined) merged.push(row);
  }
  return merged;
}

/** Instants are texts of 19 digits for centuries; a shorter one is smaller. */
function newestFirst({ place: a }: LogRow, { place: b }: LogRow): number {
  if (a.timestampNs === b.timestampNs) return 0;
  const isNewer = a.timestampNs.length === b.timestampNs.length
    ? a.timestampNs > b.timestampNs
    : a.timestampNs.length > b.timestampNs.length;
  return isNewer ? -1 : 1;
}

/** A field of a row. */
export interface RowField {
  /** The name in a search. */
  readonly name: string;
  readonly text: string;
}

/** Columns that only say again what another says. */
const HIDDEN = new Set(["timestamp_ns", "attributes"]);

/**
 * Columns first, then attributes, those within nested objects by their paths; nothing that is null.
 */
export function fieldsOf(row: LogRow): readonly RowField[] {
  return fieldsWith(row, [...attributesOf(row, FLAT)]);
}

/** Columns and attributes as they were sent: an object is one of them. */
export function sentFieldsOf(row: LogRow): readonly RowField[] {
  return fieldsWith(row, [...attributesOf(row, SENT)]);
}

function fieldsWith(row: LogRow, attributes: NamedMembers<string>): readonly RowField[] {
  const columns = Object.entries(row.values)
    .filter(([name, value]) => !HIDDEN.has(name) && value !== null)
    .map(([name, value]) => ({ name, text: textOf(value) }));
  const named = attributes.map(([name, text]) => ({
    name: name in row.values || ALIASES.has(name) ? `attributes.${name}` : name,
    text,
  }));
  return [...columns, ...named];
}

/** Names that a search takes for a column. */
const ALIASES = new Set(["service", "service.name", "host.name"]);

/** Returns the text of the field that a search calls so; undefined where the row has none. */
export function fieldText(row: LogRow, name: string): string | undefined {
  const value = row.values[name];
  if (value !== undefined && value !== null && !HIDDEN.has(name)) return textOf(value);
  const isCalledSo = (field: RowField) => field.name === name;
  return (sentFieldsOf(row).find(isCalledSo) ?? fieldsOf(row).find(isCalledSo))?.text;
}

/** A way to read attributes, and what it read. */
interface AttributeReading {
  readonly read: (text: string) => NamedMembers<string> | undefined;
  readonly known: WeakMap<LogRow, ReadonlyMap<string, string>>;
}

const SENT: AttributeReading = { read: jsonMembers, known: new WeakMap() };
const FLAT: AttributeReading = { read: flatMembers, known: new WeakMap() };

/** The members of the row's attributes; one member where they are no object. */
function attributesOf(
  row: LogRow,
  { read, known }: AttributeReading,
): ReadonlyMap<string, string> {
  const before = known.get(row);
  if (before !== undefined) return before;
  const text = row.values[ATTRIBUTES_NAME];
  const attributes = typeof text === "string"
    ? new Map(read(text) ?? [[ATTRIBUTES_NAME, text]])
    : new Map();
  known.set(row, attributes);
  return attributes;
}

/** Returns the row's level as it names it, and the severity that this is. */
export function levelOf(row: LogRow): { readonly name: string; readonly severity?: Severity } {
  const attributes = attributesOf(row, SENT);
  const names = ["level", "severity_text"].map((name) => row.values[name])
    .concat(LEVEL_ATTRIBUTES.map((name) => attributes.get(name) ?? null));
  const name = names.find((value) => value !== undefined && value !== null);
  if (name !== undefined && name !== null) return withSeverity(textOf(name));
  const number = Number(attributes.get(LEVEL_NUMBER) ?? NaN);
  const found = Object.entries(SEVERITIES).find(([, { numbers: [first, last] }]) =>
    number >= first && number <= last
  );
  return found === undefined ? { name: "" } : withSeverity(found[0]);
}

function withSeverity(name: string) {
  const severity = severityOf(name);
  return severity === undefined ? { name } : { name, severity };
}

/** A value as text; a list or a struct is JSON. */
export function textOf(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

const HASHED_CHARS = 4_096;

/** A number is the same with all of its digits, as the tail has it, and with those of a double. */
function hashedText(value: Value): string {
  const text = textOf(value);
  return text.length > 15 && /^-?\d{16,20}$/.test(text) ? String(Number(text)) : text;
}

/** A short hash (FNV-1a) of what tells rows of one instant apart. */
function contentHash(values: Readonly<Record<string, Value>>): string {
  let hash = 0x811c9dc5;
  for (const [name, value] of Object.entries(values)) {
    if (name === "timestamp_ns") continue;
    const text = hashedText(value);
    const end = Math.min(text.length, HASHED_CHARS);
    hash = Math.imul(hash ^ text.length, 0x01000193);
    for (let at = 0; at < end; at += 1) {
      hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    }
  }
  return (hash >>> 0).toString(36);
}
