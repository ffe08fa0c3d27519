/**
 * PostgreSQL's types, as far as an answer or a statement of a client can name them. OIDs, names and
 * lengths are the same in every server (PostgreSQL's `pg_type.dat`).
 */

import type { ColumnType } from "../../schema/schema.ts";

/** A type that `pg_type` lists. */
export interface PgType {
  readonly oid: number;
  readonly name: string;
  /** The name that `format_type` gives. */
  readonly shown: string;
  /** Bytes; -1: of variable length. */
  readonly length: number;
  /** PostgreSQL's `typcategory`. */
  readonly category: string;
  /** OID of the array of it. */
  readonly array: number;
  /** `b`: a base type; `p`: a pseudo-type. */
  readonly kind: "b" | "p";
}

const SCALARS: readonly (readonly [number, string, string, number, string, number])[] = [
  [16, "bool", "boolean", 1, "B", 1000],
  [17, "bytea", "bytea", -1, "U", 1001],
  [18, "char", '"char"', 1, "Z", 1002],
  [19, "name", "name", 64, "S", 1003],
  [20, "int8", "bigint", 8, "N", 1016],
  [21, "int2", "smallint", 2, "N", 1005],
  [22, "int2vector", "int2vector", -1, "A", 1006],
  [23, "int4", "integer", 4, "N", 1007],
  [24, "regproc", "regproc", 4, "N", 1008],
  [25, "text", "text", -1, "S", 1009],
  [26, "oid", "oid", 4, "N", 1028],
  [27, "tid", "tid", 6, "U", 1010],
  [28, "xid", "xid", 4, "U", 1011],
  [30, "oidvector", "oidvector", -1, "A", 1013],
  [114, "json", "json", -1, "U", 199],
  [700, "float4", "real", 4, "N", 1021],
  [701, "float8", "double precision", 8, "N", 1022],
  [869, "inet", "inet", -1, "I", 1041],
  [1042, "bpchar", "character", -1, "S", 1014],
  [1043, "varchar", "character varying", -1, "S", 1015],
  [1082, "date", "date", 4, "D", 1182],
  [1083, "time", "time without time zone", 8, "D", 1183],
  [1114, "timestamp", "timestamp without time zone", 8, "D", 1115],
  [1184, "timestamptz", "timestamp with time zone", 8, "D", 1185],
  [1186, "interval", "interval", 16, "T", 1187],
  [1266, "timetz", "time with time zone", 12, "D", 1270],
  [1560, "bit", "bit", -1, "V", 1561],
  [1700, "numeric", "numeric", -1, "N", 1231],
  [2205, "regclass", "regclass", 4, "N", 2210],
  [2206, "regtype", "regtype", 4, "N", 2211],
  [2950, "uuid", "uuid", 16, "U", 2951],
  [3802, "jsonb", "jsonb", -1, "U", 3807],
];

/** Types by which functions are declared. No column has one. */
const PSEUDO: readonly (readonly [number, string, string])[] = [
  [705, "unknown", "X"],
  [2249, "record", "P"],
  [2276, "any", "P"],
  [2277, "anyarray", "P"],
  [2278, "void", "P"],
  [2279, "trigger", "P"],
  [2283, "anyelement", "P"],
];

/** Each type once. */
export const PG_TYPES: readonly PgType[] = [
  ...SCALARS.map(([oid, name, shown, length, category, array]): PgType => (
    { oid, name, shown, length, category, array, kind: "b" }
  )),
  ...PSEUDO.map(([oid, name, category]): PgType => (
    { oid, name, shown: name, length: -1, category, array: 0, kind: "p" }
  )),
];

/** Names that statements have for a type beside the two of the list. */
export const TYPE_ALIASES: Readonly<Record<string, string>> = {
  int: "int4",
  float: "float8",
  decimal: "numeric",
};

const COLUMN_TYPES: Readonly<Record<ColumnType, string>> = {
  timestamptz: "timestamptz",
  long: "int8",
  int: "int4",
  double: "float8",
  bool: "bool",
  string: "text",
};

/** Returns PostgreSQL's type of a stored column. */
export function pgTypeOf(type: ColumnType): PgType {
  return pgType(COLUMN_TYPES[type]);
}

/** Returns the type of that `typname`; throws where the list has none. */
export function pgType(name: string): PgType {
  const found = PG_TYPES.find((type) => type.name === name);
  if (found === undefined) throw new Error(`pg_types.ts has no type ${name}`);
  return found;
}
