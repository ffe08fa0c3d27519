/**
 * What a plain DuckDB's values are in a records answer. It is written from the table of types in
 * `shared/engine/answer/render.ts` and from nothing else: the engine's rendering in SQL is what
 * this is held against.
 */

import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  type DuckDBConnection,
  DuckDBDecimalValue,
  DuckDBIntervalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  type DuckDBType,
  DuckDBTypeId,
  type DuckDBValue,
} from "@duckdb/node-api";

/**
 * A JSON value whose numbers keep their digits: integers and decimals as `#123`, doubles as
 * numbers.
 */
export type Exact = null | boolean | string | number | Exact[] | { [name: string]: Exact };

export interface PlainAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly Exact[][];
}

export async function plainAnswer(plain: DuckDBConnection, sql: string): Promise<PlainAnswer> {
  const reader = await plain.runAndReadAll(sql);
  const types = reader.columnTypes();
  const rows = reader.getRows().map((row) =>
    row.map((value, i) => exactOf(value, types[i] as DuckDBType))
  );
  return { columns: reader.columnNames(), rows };
}

/** What was parsed of an answer, with numbers told apart as `expected` tells them. */
export function parseDigits(text: string): unknown {
  return JSON.parse(
    text,
    (_key, value, context?: { readonly source?: string }) =>
      typeof value === "number" ? { digits: context?.source ?? String(value) } : value,
  );
}

/** `actual` (of `parseDigits`) in the form of `expected`, so that deepEqual compares them. */
export function inFormOf(expected: Exact | undefined, actual: unknown): unknown {
  if (isDigits(actual)) {
    return typeof expected === "number"
      ? near(expected, Number(actual.digits))
      : `#${actual.digits}`;
  }
  if (Array.isArray(actual)) {
    return actual.map((item, i) =>
      inFormOf(Array.isArray(expected) ? expected[i] : undefined, item)
    );
  }
  if (typeof actual !== "object" || actual === null) return actual;
  const members = expected as { readonly [name: string]: Exact } | null | undefined;
  return Object.fromEntries(
    Object.entries(actual).map(([name, value]) => [
      name,
      inFormOf(typeof members === "object" ? members?.[name] : undefined, value),
    ]),
  );
}

/** Sums of doubles depend on the order of the rows, which two threads do not share. */
const RELATIVE_ERROR = 1e-12;

function near(expected: number, actual: number): number {
  const distance = Math.abs(expected - actual);
  return distance <= RELATIVE_ERROR * Math.abs(expected) ? expected : actual;
}

function isDigits(value: unknown): value is { readonly digits: string } {
  return typeof value === "object" && value !== null && "digits" in value &&
    Object.keys(value).length === 1;
}

/**
 * A text by which rows are sorted where the statement leaves their order open; doubles count
 * roughly.
 */
export function sortKey(value: unknown): string {
  return JSON.stringify(value, (_key, inner) => {
    if (typeof inner === "number") return `#${inner.toPrecision(6)}`;
    if (isDigits(inner)) return roughly(inner.digits);
    return typeof inner === "string" && /^#-?[\d.]+$/.test(inner) ? roughly(inner.slice(1)) : inner;
  });
}

function roughly(digits: string): string {
  return /[.e]/.test(digits) ? `#${Number(digits).toPrecision(6)}` : `#${digits}`;
}

function exactOf(value: DuckDBValue, type: DuckDBType): Exact {
  if (value === null) return null;
  if (type.alias === "JSON") return withDigits(parseDigits(String(value)));
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return `#${value}`;
  if (typeof value === "number") return numberOf(value, type);
  if (value instanceof DuckDBDecimalValue) return `#${value}`;
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue) {
    const { valueType } = type as unknown as { readonly valueType: DuckDBType };
    return value.items.map((item) => exactOf(item, valueType));
  }
  if (value instanceof DuckDBStructValue) return structOf(value, type);
  if (value instanceof DuckDBMapValue) {
    const { valueType } = type as unknown as { readonly valueType: DuckDBType };
    return Object.fromEntries(
      value.entries.map(({ key, value }) => [String(key), exactOf(value, valueType)]),
    );
  }
  return textOf(value);
}

function structOf(value: DuckDBStructValue, type: DuckDBType): Exact {
  const { entryNames, entryTypes } = type as unknown as {
    readonly entryNames: readonly string[];
    readonly entryTypes: readonly DuckDBType[];
  };
  return Object.fromEntries(
    entryNames.map((name, i) => [
      name,
      exactOf(value.entries[name] ?? null, entryTypes[i] as DuckDBType),
    ]),
  );
}

/** JSON has no infinities and no NaN. */
function numberOf(value: number, type: DuckDBType): Exact {
  const floating = type.typeId === DuckDBTypeId.DOUBLE || type.typeId === DuckDBTypeId.FLOAT;
  if (!floating) return `#${value}`;
  return Number.isFinite(value) ? value : null;
}

function withDigits(value: unknown): Exact {
  // The engine writes a fraction inside JSON anew.
  if (isDigits(value)) {
    return /^-?\d+$/.test(value.digits) ? `#${value.digits}` : Number(value.digits);
  }
  if (Array.isArray(value)) return value.map(withDigits);
  if (typeof value !== "object" || value === null) return value as Exact;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withDigits(member)]),
  );
}

function textOf(value: DuckDBValue): string {
  if (value instanceof DuckDBTimestampTZValue || value instanceof DuckDBTimestampValue) {
    return instant(value.micros, 6);
  }
  if (value instanceof DuckDBTimestampSecondsValue) return instant(value.seconds * 1_000_000n, 6);
  if (value instanceof DuckDBTimestampMillisecondsValue) return instant(value.millis * 1_000n, 6);
  if (value instanceof DuckDBTimestampNanosecondsValue) return instant(value.nanos, 9);
  if (value instanceof DuckDBBlobValue) return btoa(String.fromCharCode(...value.bytes));
  if (value instanceof DuckDBIntervalValue) {
    const micros = value.micros < 0n ? -value.micros : value.micros;
    const fraction = String(micros % 1_000_000n).padStart(6, "0").replace(/0+$/, "");
    const sign = value.micros < 0n ? "-" : "";
    const seconds = `${sign}${micros / 1_000_000n}${fraction === "" ? "" : `.${fraction}`}`;
    return `P${value.months}M${value.days}DT${seconds}S`;
  }
  return String(value);
}

/** RFC 3339 UTC with `digits` of a second's fraction. */
function instant(count: bigint, digits: 6 | 9): string {
  const perSecond = 10n ** BigInt(digits);
  const fraction = (count % perSecond + perSecond) % perSecond;
  const second = new Date(Number((count - fraction) / perSecond) * 1_000).toISOString();
  return `${second.slice(0, 19)}.${String(fraction).padStart(digits, "0")}Z`;
}
