/** Values that do not come from the engine, in PostgreSQL's formats. */

import { utf8 } from "../../../shared/base/bytes.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import type { PgCell } from "../pg_plan.ts";
import { pgError } from "../sqlstate.ts";
import { parseArrayText } from "../../../shared/engine/statement/array_text.ts";
import { type Format, TEXT_FORMAT } from "./formats.ts";
import { writeNumeric } from "./numeric_binary.ts";
import { itemOid, OID } from "./oids.ts";

/** The bytes of a value; null for NULL. Errors: SQLSTATE 0A000 for a type without binary format. */
export function cellBytes(
  cell: PgCell,
  { oid, format }: { readonly oid: number; readonly format: Format },
): Uint8Array | null {
  if (cell === null) return null;
  const text = typeof cell === "boolean" ? (cell ? "t" : "f") : String(cell);
  return format === TEXT_FORMAT ? utf8(text) : binaryOf(text, oid);
}

const ARRAY_ITEMS_MAX = 100_000;

function binaryOf(text: string, oid: number): Uint8Array {
  const item = itemOid(oid);
  if (item !== undefined) return arrayOf(text, item);
  switch (oid) {
    case OID.bool:
      return Uint8Array.of(text === "t" ? 1 : 0);
    case OID.int2:
      return sized(2, (view) => view.setInt16(0, Number(text)));
    case OID.int4:
      return sized(4, (view) => view.setInt32(0, Number(text)));
    case OID.oid:
    case OID.regclass:
    case OID.regproc:
    case OID.regtype:
      return sized(4, (view) => view.setUint32(0, Number(text)));
    case OID.int8:
      return sized(8, (view) => view.setBigInt64(0, BigInt(text)));
    case OID.float4:
      return sized(4, (view) => view.setFloat32(0, Number(text)));
    case OID.float8:
      return sized(8, (view) => view.setFloat64(0, Number(text)));
    case OID.numeric: {
      const out = new ByteBuilder(64);
      writeNumeric(text, out);
      return out.take();
    }
    case OID.text:
    case OID.varchar:
    case OID.bpchar:
    case OID.name:
    case OID.char:
    case OID.json:
    case OID.unknown:
      return utf8(text);
    default:
      throw pgError("0A000", `Cannot send a value of type ${oid} in the binary format`, {
        hint: "Ask for the text format.",
      });
  }
}

function arrayOf(text: string, item: number): Uint8Array {
  const items = parseArrayText(text, ARRAY_ITEMS_MAX) ?? [];
  const out = new ByteBuilder(256);
  const int32 = (value: number) => {
    out.reserve(4);
    out.view.setInt32(out.length, value);
    out.length += 4;
  };
  int32(items.length === 0 ? 0 : 1);
  int32(items.includes(null) ? 1 : 0);
  int32(item);
  if (items.length > 0) {
    int32(items.length);
    int32(1);
  }
  for (const one of items) {
    const bytes = one === null ? null : binaryOf(one, item);
    int32(bytes === null ? -1 : bytes.byteLength);
    if (bytes !== null) out.append(bytes);
  }
  return out.take();
}

function sized(bytes: number, write: (view: DataView) => void): Uint8Array {
  const view = new DataView(new ArrayBuffer(bytes));
  write(view);
  return new Uint8Array(view.buffer);
}
