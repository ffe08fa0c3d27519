/** Types by the names that SQL has for them. */

import { ARRAY_OID, OID } from "./oids.ts";

/** Other names of a type than that of `OID`. */
const OTHER_NAMES: Readonly<Record<string, number>> = {
  boolean: OID.bool,
  bigint: OID.int8,
  smallint: OID.int2,
  int: OID.int4,
  integer: OID.int4,
  real: OID.float4,
  float: OID.float8,
  double: OID.float8,
  "double precision": OID.float8,
  decimal: OID.numeric,
  string: OID.text,
  "character varying": OID.varchar,
  character: OID.bpchar,
  "time without time zone": OID.time,
  "timestamp without time zone": OID.timestamp,
  "timestamp with time zone": OID.timestamptz,
};

const NAMES: ReadonlyMap<string, number> = new Map([
  ...Object.entries(OID),
  ...Object.entries(OTHER_NAMES),
]);

const LENGTH_MAX = 100;

/** `numeric(10, 2)`, `double precision`, `int[]`; undefined: there is none of that name here. */
export function typeNamed(written: string): number | undefined {
  if (written.length > LENGTH_MAX) return undefined;
  const words = written.toLowerCase().replaceAll('"', "").replace(/^pg_catalog\./, "");
  const [, name = "", , array] = /^([a-z0-9_ ]*[a-z0-9])\s*(\([\d\s,]*\))?\s*(\[\d*\])?$/
    .exec(words.replace(/\(\d+\)(?= with)/, "")) ?? [];
  const oid = NAMES.get(name.replaceAll(/\s+/g, " "));
  return array === undefined || oid === undefined ? oid : ARRAY_OID[oid];
}
