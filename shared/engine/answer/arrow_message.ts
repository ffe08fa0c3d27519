/**
 * Messages of an Arrow IPC stream: the schema of an answer, and batches of its rows.
 *
 * Source: https://arrow.apache.org/docs/format/Columnar.html and the IDL it names (Schema.fbs,
 * Message.fbs).
 */

import { concatBytes, utf8 } from "../../base/bytes.ts";
import { recordBatchMetadata } from "../../columns/ipc_batch.ts";
import {
  type FlatChild,
  type FlatField,
  flatTable,
  writeFlatbuffer,
} from "../../columns/flatbuffer.ts";
import { frameMetadata, HEADER_SCHEMA, MESSAGE, METADATA_V5 } from "../../columns/ipc_message.ts";
import type { ArrowField, ArrowType } from "../arrow_fields.ts";

/** The values of one batch. */
export interface ArrowBatch {
  readonly rows: number;
  /** Rows and nulls of each field, parents before their children. */
  readonly nodes: readonly number[];
  /** Buffers of each field in that order; an empty validity says that there are no nulls. */
  readonly buffers: readonly ArrowBuffer[];
}

/** The bytes of a buffer, in pieces, so that nobody puts long ones together who only sends them. */
export type ArrowBuffer = readonly Uint8Array<ArrayBuffer>[];

/** The end of a stream. */
export const ARROW_END = new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

const BUFFER_ALIGNMENT = 8;
const PADDING = new Uint8Array(BUFFER_ALIGNMENT);

/** Slots of the tables of Schema.fbs. */
const SCHEMA = { fields: 1 } as const;
const FIELD = { name: 0, nullable: 1, typeType: 2, type: 3, children: 5 } as const;
const UNITS = { ms: 1, us: 2, ns: 3 } as const;

/** The message that begins a stream. */
export function arrowSchemaMessage(fields: readonly ArrowField[]): Uint8Array<ArrayBuffer> {
  const children = fields.map((field) => fieldTable(field));
  return Uint8Array.from(frameMetadata(writeFlatbuffer(flatTable(
    { slot: MESSAGE.version, width: 2, value: METADATA_V5 },
    { slot: MESSAGE.headerType, width: 1, value: HEADER_SCHEMA },
    {
      slot: MESSAGE.header,
      child: flatTable({ slot: SCHEMA.fields, child: { kind: "vector", items: children } }),
    },
  ))));
}

/** The message of one batch, in pieces. */
export function arrowBatchPieces(
  { rows, nodes, buffers }: ArrowBatch,
): Uint8Array<ArrayBuffer>[] {
  const spans: number[] = [];
  const body: Uint8Array<ArrayBuffer>[] = [];
  let bodyBytes = 0;
  for (const pieces of buffers) {
    const bytes = pieces.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const padding = -bytes & BUFFER_ALIGNMENT - 1;
    spans.push(bodyBytes, bytes);
    body.push(...pieces);
    if (padding > 0) body.push(PADDING.subarray(0, padding));
    bodyBytes += bytes + padding;
  }
  const metadata = recordBatchMetadata(rows, { nodes, buffers: spans, bodyBytes });
  return [Uint8Array.from(metadata), ...body];
}

/** A batch of one row with one text. */
export function arrowTextMessage(text: string): Uint8Array<ArrayBuffer> {
  const values = utf8(text);
  const offsets = new Uint8Array(new Int32Array([0, values.byteLength]).buffer);
  return concatBytes(arrowBatchPieces({
    rows: 1,
    nodes: [1, 0],
    buffers: [[], [offsets], [values]],
  }));
}

function fieldTable({ name, type }: ArrowField, isNullable = true): FlatChild {
  const { union, members, children } = typeTable(type);
  return flatTable(
    { slot: FIELD.name, child: { kind: "string", text: name } },
    { slot: FIELD.nullable, width: 1, value: isNullable ? 1 : 0 },
    { slot: FIELD.typeType, width: 1, value: union },
    { slot: FIELD.type, child: flatTable(...members) },
    { slot: FIELD.children, child: { kind: "vector", items: children } },
  );
}

interface TypeTable {
  /** The member of the union `Type`. */
  readonly union: number;
  readonly members: readonly FlatField[];
  readonly children: readonly FlatChild[];
}

function typeTable(type: ArrowType): TypeTable {
  const leaf = (union: number, ...members: FlatField[]) => ({ union, members, children: [] });
  const int = (slot: number, width: 1 | 2 | 4, value: number) => ({ slot, width, value });
  switch (type.kind) {
    case "int":
      return leaf(2, int(0, 4, 8 * type.bytes), int(1, 1, type.isSigned ? 1 : 0));
    case "float":
      return leaf(3, int(0, 2, 1));
    case "double":
      return leaf(3, int(0, 2, 2));
    case "binary":
      return leaf(4);
    case "utf8":
      return leaf(5);
    case "bool":
      return leaf(6);
    case "decimal":
      return leaf(7, int(0, 4, type.precision), int(1, 4, type.scale), int(2, 4, 128));
    case "date":
      return leaf(8, int(0, 2, 0));
    case "time":
      return leaf(9, int(0, 2, UNITS.us), int(1, 4, 64));
    case "timestamp":
      return leaf(10, int(0, 2, UNITS[type.unit]), ...zoneMember(type.zone));
    case "list":
      return { union: 12, members: [], children: [fieldTable({ name: "item", type: type.item })] };
    case "struct":
      return { union: 13, members: [], children: type.fields.map((field) => fieldTable(field)) };
    case "map":
      return { union: 17, members: [int(0, 1, 0)], children: [entriesTable(type)] };
  }
}

function zoneMember(zone: string | undefined): FlatField[] {
  return zone === undefined ? [] : [{ slot: 1, child: { kind: "string", text: zone } }];
}

/** Entries and keys of a map are never null. */
function entriesTable({ key, value }: ArrowType & { readonly kind: "map" }): FlatChild {
  const children = [
    fieldTable({ name: "key", type: key }, false),
    fieldTable({ name: "value", type: value }),
  ];
  return flatTable(
    { slot: FIELD.name, child: { kind: "string", text: "entries" } },
    { slot: FIELD.nullable, width: 1, value: 0 },
    { slot: FIELD.typeType, width: 1, value: 13 },
    { slot: FIELD.type, child: flatTable() },
    { slot: FIELD.children, child: { kind: "vector", items: children } },
  );
}
