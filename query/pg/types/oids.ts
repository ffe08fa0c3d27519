/**
 * PostgreSQL's numbers of types, which its catalog fixes. Source:
 * https://github.com/postgres/postgres/blob/master/src/include/catalog/pg_type.dat
 */

export const OID = {
  bool: 16,
  bytea: 17,
  char: 18,
  name: 19,
  int8: 20,
  int2: 21,
  int4: 23,
  regproc: 24,
  text: 25,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  unknown: 705,
  bpchar: 1042,
  varchar: 1043,
  date: 1082,
  time: 1083,
  timestamp: 1114,
  timestamptz: 1184,
  interval: 1186,
  numeric: 1700,
  regclass: 2205,
  regtype: 2206,
  uuid: 2950,
  jsonb: 3802,
} as const;

/** The array type of each type that has one here. */
export const ARRAY_OID: Readonly<Record<number, number>> = {
  [OID.bool]: 1000,
  [OID.bytea]: 1001,
  [OID.char]: 1002,
  [OID.name]: 1003,
  [OID.int8]: 1016,
  [OID.int2]: 1005,
  [OID.int4]: 1007,
  [OID.text]: 1009,
  [OID.oid]: 1028,
  [OID.json]: 199,
  [OID.float4]: 1021,
  [OID.float8]: 1022,
  [OID.bpchar]: 1014,
  [OID.varchar]: 1015,
  [OID.date]: 1182,
  [OID.time]: 1183,
  [OID.timestamp]: 1115,
  [OID.timestamptz]: 1185,
  [OID.interval]: 1187,
  [OID.numeric]: 1231,
  [OID.uuid]: 2951,
  [OID.jsonb]: 3807,
};

const ITEM_OID: ReadonlyMap<number, number> = new Map(
  Object.entries(ARRAY_OID).map(([item, array]) => [array, Number(item)]),
);

/** The type of an array type's items; undefined: it is none. */
export function itemOid(oid: number): number | undefined {
  return ITEM_OID.get(oid);
}

/** Bytes of a value where each has as many. */
const SIZES: Readonly<Record<number, number>> = {
  [OID.bool]: 1,
  [OID.char]: 1,
  [OID.name]: 64,
  [OID.int8]: 8,
  [OID.int2]: 2,
  [OID.int4]: 4,
  [OID.regproc]: 4,
  [OID.oid]: 4,
  [OID.float4]: 4,
  [OID.float8]: 8,
  [OID.date]: 4,
  [OID.time]: 8,
  [OID.timestamp]: 8,
  [OID.timestamptz]: 8,
  [OID.interval]: 16,
  [OID.regclass]: 4,
  [OID.regtype]: 4,
  [OID.uuid]: 16,
};

/** `typlen`; -1: the type's values have different lengths, -2: unknown, which ends with a zero. */
export function sizeOfType(oid: number): number {
  return oid === OID.unknown ? -2 : SIZES[oid] ?? -1;
}
