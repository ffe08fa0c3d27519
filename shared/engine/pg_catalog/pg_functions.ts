/**
 * What `pg_proc` lists: the functions of this service's dialect, which `\df` shows, and those by
 * which drivers tell how a type is read (`array_recv`).
 */

import { PG_TYPES } from "./pg_types.ts";

/** A function that `pg_proc` lists. */
export interface PgFunction {
  readonly oid: number;
  readonly name: string;
  /** Whether it is this service's own: it is in the schema of the tables then. */
  readonly isOwn: boolean;
  /** Names of types. */
  readonly parameters: readonly string[];
  /** `typname` of what it gives. */
  readonly result: string;
}

/** docs of each: `shared/engine/DIALECT.md`. */
const OWN: readonly (readonly [name: string, parameters: string, result: string])[] = [
  ["attr_get", "attributes text, name text", "text"],
  ["kv_extract", "line text, key text", "text"],
  ["log_pattern", "line text", "text"],
  ["match", "column text, words text", "bool"],
  ["match_any", "column text, words text", "bool"],
  ["match_phrase", "column text, words text", "bool"],
  ["match_prefix", "column text, prefix text", "bool"],
  ["match_terms", "column text, words text", "bool"],
  ["date_bin", "stride interval, at timestamp with time zone", "timestamptz"],
  ["to_timestamp_nanos", "nanoseconds bigint", "timestamptz"],
  ["to_timestamp_micros", "microseconds bigint", "timestamptz"],
  ["to_timestamp_millis", "milliseconds bigint", "timestamptz"],
  ["to_timestamp_seconds", "seconds bigint", "timestamptz"],
];

/** OIDs of the functions are ours: no client knows any by its number. */
const OID_MIN = 9_000;

/** Older types of PostgreSQL's have functions whose names lack the `_` of `date_recv`. */
const JOINED: ReadonlySet<string> = new Set(
  `bool bytea char name int8 int2 int2vector int4 regproc text oid tid xid oidvector float4 float8
   bpchar varchar regclass regtype unknown`.split(/\s+/),
);

/** The name of the function that reads or writes a type. */
export function typeProcName(type: string, end: "in" | "out" | "recv" | "send"): string {
  return JOINED.has(type) ? `${type}${end}` : `${type}_${end}`;
}

const IO_NAMES = [
  ...new Set(
    PG_TYPES.map(({ name }) => name).concat("array", "enum", "range", "domain").flatMap((type) =>
      (["in", "out", "recv", "send"] as const).map((end) => typeProcName(type, end))
    ),
  ),
];

export const PG_FUNCTIONS: readonly PgFunction[] = [
  ...IO_NAMES.map((name) => ({ name, isOwn: false, parameters: ["any"], result: "any" })),
  ...OWN.map(([name, parameters, result]) => ({
    ...{ name, isOwn: true, parameters: parameters.split(", "), result },
  })),
].map((one, at) => ({ ...one, oid: OID_MIN + at }));

const OIDS = new Map(PG_FUNCTIONS.map(({ name, oid }) => [name, oid]));

/** Returns the OID of a function of the list, or 0. */
export function procOid(name: string): number {
  return OIDS.get(name) ?? 0;
}
