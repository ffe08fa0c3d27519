/**
 * The Arrow IPC schema message of a table. Every field carries its field id as metadata
 * `PARQUET:field_id`, which is where Parquet writers take the id from.
 *
 * Source: https://arrow.apache.org/docs/format/Columnar.html and the IDL it names (Schema.fbs,
 * Message.fbs).
 */

import { OperatingError } from "../base/errors.ts";
import type { Column, ColumnType, TableSchema } from "../schema/schema.ts";
import {
  type FlatChild,
  type FlatField,
  FlatTable,
  flatTable,
  writeFlatbuffer,
} from "./flatbuffer.ts";
import { frameMetadata, HEADER_SCHEMA, MESSAGE, METADATA_V5, readMessage } from "./ipc_message.ts";

const FIELD_ID_KEY = "PARQUET:field_id";
const EPOCH_KEY = "svc.epoch";

/** Slots of the tables of Schema.fbs. */
const SCHEMA = { endianness: 0, fields: 1, metadata: 2 } as const;
const FIELD = { name: 0, nullable: 1, typeType: 2, type: 3, children: 5, metadata: 6 } as const;
const KEY_VALUE = { key: 0, value: 1 } as const;
const INT = { bitWidth: 0, isSigned: 1 } as const;
const FLOAT = { precision: 0 } as const;
const TIMESTAMP = { unit: 0, timezone: 1 } as const;

/** Members of the union `Type`. */
const TYPE_INT = 2;
const TYPE_FLOAT = 3;
const TYPE_UTF8 = 5;
const TYPE_BOOL = 6;
const TYPE_TIMESTAMP = 10;

const PRECISION_DOUBLE = 2;
const UNIT_MICROSECOND = 2;

/** The encapsulated Arrow IPC schema message of `schema`, padded to 8 bytes. */
export function encodeSchemaMessage(schema: TableSchema): Uint8Array {
  const fields = schema.columns.map(fieldOf);
  return frameMetadata(writeFlatbuffer(flatTable(
    { slot: MESSAGE.version, width: 2, value: METADATA_V5 },
    { slot: MESSAGE.headerType, width: 1, value: HEADER_SCHEMA },
    {
      slot: MESSAGE.header,
      child: flatTable(
        { slot: SCHEMA.fields, child: { kind: "vector", items: fields } },
        ...epochFields(schema.epoch ?? 0),
      ),
    },
  )));
}

/**
 * The columns that a schema message describes, in its order. Throws `corrupt` for bytes that are no
 * schema message, for a column without a field id and for a type that no table has.
 */
export function decodeSchemaMessage(message: Uint8Array): Column[] {
  const { header } = readMessage(message, HEADER_SCHEMA);
  if (header.int16(SCHEMA.endianness, 0) !== 0) throw corrupt("it is big-endian");
  return header.tables(SCHEMA.fields).map((field) => {
    const name = field.string(FIELD.name) ?? "";
    return {
      id: fieldIdOf(field, name),
      name,
      type: typeOf(field, name),
      required: !field.bool(FIELD.nullable, false),
    };
  });
}

/** The epoch that a schema message was written with: `TableSchema.epoch`. Throws `corrupt`. */
export function epochOfSchemaMessage(message: Uint8Array): number {
  const { header } = readMessage(message, HEADER_SCHEMA);
  const entry = header.tables(SCHEMA.metadata).find((one) =>
    one.string(KEY_VALUE.key) === EPOCH_KEY
  );
  if (entry === undefined) return 0;
  const epoch = Number(entry.string(KEY_VALUE.value));
  if (Number.isSafeInteger(epoch) && epoch > 0) return epoch;
  throw corrupt(`its ${EPOCH_KEY} is ${entry.string(KEY_VALUE.value)}`);
}

/** The first epoch is not written. */
function epochFields(epoch: number): FlatField[] {
  if (epoch === 0) return [];
  return [{
    slot: SCHEMA.metadata,
    child: { kind: "vector", items: [keyValue(EPOCH_KEY, String(epoch))] },
  }];
}

function keyValue(key: string, value: string): FlatChild {
  return flatTable(
    { slot: KEY_VALUE.key, child: { kind: "string", text: key } },
    { slot: KEY_VALUE.value, child: { kind: "string", text: value } },
  );
}

function fieldOf(column: Column): FlatChild {
  const { typeType, type } = arrowTypeOf(column.type);
  return flatTable(
    { slot: FIELD.name, child: { kind: "string", text: column.name } },
    { slot: FIELD.nullable, width: 1, value: column.required ? 0 : 1 },
    { slot: FIELD.typeType, width: 1, value: typeType },
    { slot: FIELD.type, child: flatTable(...type) },
    { slot: FIELD.children, child: { kind: "vector", items: [] } },
    {
      slot: FIELD.metadata,
      child: {
        kind: "vector",
        items: [keyValue(FIELD_ID_KEY, String(column.id))],
      },
    },
  );
}

function arrowTypeOf(type: ColumnType): { typeType: number; type: FlatField[] } {
  switch (type) {
    case "timestamptz":
      return {
        typeType: TYPE_TIMESTAMP,
        type: [
          { slot: TIMESTAMP.unit, width: 2, value: UNIT_MICROSECOND },
          { slot: TIMESTAMP.timezone, child: { kind: "string", text: "UTC" } },
        ],
      };
    case "long":
    case "int":
      return {
        typeType: TYPE_INT,
        type: [
          { slot: INT.bitWidth, width: 4, value: type === "long" ? 64 : 32 },
          { slot: INT.isSigned, width: 1, value: 1 },
        ],
      };
    case "double":
      return {
        typeType: TYPE_FLOAT,
        type: [{ slot: FLOAT.precision, width: 2, value: PRECISION_DOUBLE }],
      };
    case "bool":
      return { typeType: TYPE_BOOL, type: [] };
    case "string":
      return { typeType: TYPE_UTF8, type: [] };
  }
}

function typeOf(field: FlatTable, name: string): ColumnType {
  const typeType = field.uint8(FIELD.typeType, 0);
  const type = field.table(FIELD.type);
  if (type !== undefined) {
    if (typeType === TYPE_UTF8) return "string";
    if (typeType === TYPE_BOOL) return "bool";
    if (typeType === TYPE_FLOAT && type.int16(FLOAT.precision, 0) === PRECISION_DOUBLE) {
      return "double";
    }
    if (typeType === TYPE_INT && type.bool(INT.isSigned, false)) {
      const bits = type.int32(INT.bitWidth, 0);
      if (bits === 64) return "long";
      if (bits === 32) return "int";
    }
    if (
      typeType === TYPE_TIMESTAMP && type.int16(TIMESTAMP.unit, 0) === UNIT_MICROSECOND &&
      type.string(TIMESTAMP.timezone) === "UTC"
    ) return "timestamptz";
  }
  throw corrupt(`column ${JSON.stringify(name)} has Arrow type ${typeType}, which no table has`);
}

function fieldIdOf(field: FlatTable, name: string): number {
  for (const entry of field.tables(FIELD.metadata)) {
    if (entry.string(KEY_VALUE.key) !== FIELD_ID_KEY) continue;
    const id = Number(entry.string(KEY_VALUE.value));
    if (Number.isInteger(id) && id > 0) return id;
  }
  throw corrupt(`column ${JSON.stringify(name)} has no ${FIELD_ID_KEY}`);
}

function corrupt(what: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read an Arrow schema message: ${what}`);
}
