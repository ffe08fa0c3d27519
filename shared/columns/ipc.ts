/**
 * Column batches as Arrow IPC record-batch messages, and back. Nothing is copied on the way out but
 * the padding. On the way in the columns are views of the message. They are copied only when the
 * message does not lie at a multiple of 4 bytes, or leaves out what `compact.ts` says.
 *
 * Invariants: buffers are uncompressed, in the order validity, offsets, values, each padded to 8
 * bytes; a column without nulls has an empty validity buffer. Decoding checks every length and
 * offset, so that a bad message throws `corrupt` and never yields a batch that reads outside its
 * bytes. Not covered: dictionaries, nested types, and whether string bytes are UTF-8 (writers check
 * that).
 */

import { assert, present } from "../base/assert.ts";
import { concatBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { type ColumnBatch, type ColumnData, type EncodedBatch, valueBytes } from "./batch.ts";
import { compactColumns, expandColumns, isStoredForm, type StoredColumn } from "./compact.ts";
import { recordBatchMetadata } from "./ipc_batch.ts";
import { HEADER_RECORD_BATCH, readMessage } from "./ipc_message.ts";
import { timestampRangeOf } from "./timestamps.ts";

export { decodeSchemaMessage, encodeSchemaMessage, epochOfSchemaMessage } from "./ipc_schema.ts";

/** Slots of the table `RecordBatch` of Message.fbs. */
const BATCH = { length: 0, nodes: 1, buffers: 2, compression: 3 } as const;

const PADDING = new Uint8Array(8);
const END_OF_STREAM = new Uint8Array([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);

/**
 * The record-batch message of `batch` in the form of `compact.ts`. The pieces share memory with the
 * batch: do not change it before they are written. The time range of an empty batch is 0 to 0.
 */
export function encodeBatch(batch: ColumnBatch): EncodedBatch {
  const range = timestampRangeOf(batch);
  return {
    schema: batch.schema,
    rows: batch.rows,
    timestampNsMin: range.min,
    timestampNsMax: range.max,
    plainBytes: batch.columns.reduce((sum, column) => sum + bytesOf(column), 0),
    ...encodeStored(batch, compactColumns(batch)),
  };
}

/**
 * The message of any batch, also of one without time columns, as Arrow has it: nothing is left out.
 */
export function encodeColumns(batch: ColumnBatch): Pick<EncodedBatch, "pieces" | "byteLength"> {
  return encodeStored(batch, batch.columns.map((data) => ({ rows: batch.rows, data })));
}

function bytesOf({ validity, offsets, values }: ColumnData): number {
  return (validity?.byteLength ?? 0) + (offsets?.byteLength ?? 0) + values.byteLength;
}

function encodeStored(
  batch: ColumnBatch,
  stored: readonly StoredColumn[],
): Pick<EncodedBatch, "pieces" | "byteLength"> {
  const pieces: Uint8Array[] = [PADDING];
  const buffers: number[] = [];
  let bodyBytes = 0;
  const add = (bytes: Uint8Array) => {
    buffers.push(bodyBytes, bytes.byteLength);
    if (bytes.byteLength === 0) return;
    pieces.push(bytes);
    const padding = -bytes.byteLength & 7;
    if (padding > 0) pieces.push(PADDING.subarray(0, padding));
    bodyBytes += bytes.byteLength + padding;
  };
  assert(stored.length === batch.schema.columns.length, "a batch has its schema's columns");
  batch.schema.columns.forEach((column, i) => {
    const { rows, data } = present(stored[i]);
    assertShape(column, data, rows);
    add(data.nullCount === 0 ? PADDING.subarray(0, 0) : present(data.validity));
    if (data.offsets !== null) {
      add(new Uint8Array(data.offsets.buffer, data.offsets.byteOffset, data.offsets.byteLength));
    }
    add(data.values);
  });
  const nodes = stored.flatMap(({ rows, data }) => [rows, data.nullCount]);
  const metadata = recordBatchMetadata(batch.rows, { nodes, buffers, bodyBytes });
  pieces[0] = metadata;
  return { pieces, byteLength: metadata.byteLength + bodyBytes };
}

/** An Arrow IPC stream: the schema, the batches in order, the end marker. */
export function ipcStreamOf(
  schemaMessage: Uint8Array,
  messages: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  return concatBytes([schemaMessage, ...messages, END_OF_STREAM]);
}

/**
 * The rows of one record-batch message that was written with `schema`. Throws `corrupt` when the
 * message is damaged or has another shape.
 */
export function decodeBatch(message: Uint8Array, schema: TableSchema): ColumnBatch {
  const { header, body } = readMessage(message, HEADER_RECORD_BATCH);
  if (header.table(BATCH.compression) !== undefined) throw corrupt("its buffers are compressed");
  const rows = header.count(BATCH.length);
  const nodes = header.pairs(BATCH.nodes);
  const buffers = header.pairs(BATCH.buffers);
  if (nodes.length !== 2 * schema.columns.length) {
    throw corrupt(`it has ${nodes.length / 2} columns, not ${schema.columns.length}`);
  }
  let next = 0;
  const take = (): Uint8Array => {
    const [at, length] = [buffers[next], buffers[next + 1]];
    next += 2;
    if (at === undefined || length === undefined || at + length > body.byteLength) {
      throw corrupt(`buffer ${next / 2 - 1} (${length} bytes at ${at}) lies outside the body`);
    }
    return body.subarray(at, at + length);
  };
  const stored = schema.columns.map((column, i): StoredColumn => {
    const storedRows = nodes[2 * i] ?? 0;
    if (!isStoredForm(storedRows, i, { schema, rows })) {
      throw corrupt(`column ${column.name} has ${storedRows} rows, the batch ${rows}`);
    }
    const nullCount = nodes[2 * i + 1] ?? 0;
    return { rows: storedRows, data: decodeColumn(column, { rows: storedRows, nullCount, take }) };
  });
  if (next !== buffers.length) {
    throw corrupt(`it has ${buffers.length / 2} buffers, not ${next / 2}`);
  }
  return { schema, rows, columns: expandColumns(schema, rows, stored) };
}

function decodeColumn(
  column: Column,
  { rows, nullCount, take }: { rows: number; nullCount: number; take: () => Uint8Array },
): ColumnData {
  const validity = decodeValidity(column, take(), { rows, nullCount });
  if (column.type !== "string") {
    const values = takeValues(column, take(), valueBytes(column.type, rows));
    return { validity, nullCount, offsets: null, values };
  }
  const offsets = decodeOffsets(column, take(), rows);
  return { validity, nullCount, offsets, values: takeValues(column, take(), offsets[rows] ?? 0) };
}

function decodeValidity(
  column: Column,
  bytes: Uint8Array,
  { rows, nullCount }: { rows: number; nullCount: number },
): Uint8Array | null {
  if (nullCount === 0) return null;
  if (nullCount > rows) throw corrupt(`column ${column.name} has ${nullCount} nulls of ${rows}`);
  if (column.required) throw corrupt(`required column ${column.name} has ${nullCount} nulls`);
  return takeValues(column, bytes, (rows + 7) >> 3);
}

function takeValues(column: Column, bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.byteLength < length) {
    throw corrupt(`column ${column.name} has a buffer of ${bytes.byteLength} bytes, not ${length}`);
  }
  return bytes.subarray(0, length);
}

function decodeOffsets(column: Column, bytes: Uint8Array, rows: number): Int32Array {
  if (rows === 0) return new Int32Array(1);
  const exact = takeValues(column, bytes, 4 * (rows + 1));
  const aligned = exact.byteOffset % 4 === 0 ? exact : exact.slice();
  const offsets = new Int32Array(aligned.buffer, aligned.byteOffset, rows + 1);
  let ascending = offsets[0] === 0;
  for (let i = 0, last = 0; i <= rows; i += 1) {
    const offset = offsets[i] as number;
    if (offset < last) ascending = false;
    last = offset;
  }
  if (!ascending) throw corrupt(`offsets of column ${column.name} do not ascend from 0`);
  return offsets;
}

function assertShape(column: Column, data: ColumnData, rows: number): void {
  assert(data.nullCount === 0 || !column.required, `required column ${column.name} has nulls`);
  if (column.type !== "string") {
    assert(data.offsets === null, `column ${column.name} has offsets`);
    assert(
      data.values.byteLength === valueBytes(column.type, rows),
      `column ${column.name} has ${data.values.byteLength} value bytes for ${rows} rows`,
    );
    return;
  }
  assert(data.offsets?.length === rows + 1, `column ${column.name} has no offset per row`);
  assert(
    data.offsets[0] === 0 && data.offsets[rows] === data.values.byteLength,
    `offsets of column ${column.name} do not cover its values`,
  );
}

function corrupt(what: string): OperatingError {
  return new OperatingError("corrupt", `Cannot read an Arrow record batch: ${what}`);
}
