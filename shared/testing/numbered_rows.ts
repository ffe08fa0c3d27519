/**
 * Batches whose rows are numbers, for tests of what carries batches. The WAL does not look into a
 * message, so any bytes will do that name the rows and cannot be mistaken for others.
 */

import { textOf, utf8 } from "../base/bytes.ts";
import type { EncodedBatch } from "../columns/batch.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { Random } from "../os/random.ts";

export const NUMBERED_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "row", type: "long", required: true },
  ],
  tags: [],
};

/**
 * A batch of `rows`; its message is at least `messageBytes` long, filled with blanks, or with
 * `noise`, which cannot be packed. `timestamp_ns` of a row is its number.
 */
export function numberedBatch(
  rows: readonly number[],
  options: { schema?: TableSchema; messageBytes?: number; noise?: Random } = {},
): EncodedBatch {
  const text = utf8(JSON.stringify(rows));
  const length = Math.max(options.messageBytes ?? 0, text.byteLength);
  const paddingBytes = Math.ceil(length / 8) * 8 - text.byteLength;
  const padding = options.noise?.bytes(paddingBytes) ?? new Uint8Array(paddingBytes).fill(0x20);
  return {
    schema: options.schema ?? NUMBERED_SCHEMA,
    rows: rows.length,
    timestampNsMin: BigInt(Math.min(...rows)),
    timestampNsMax: BigInt(Math.max(...rows)),
    pieces: [text, padding],
    byteLength: text.byteLength + padding.byteLength,
    plainBytes: text.byteLength + padding.byteLength,
  };
}

/** "]", which follows the last row. */
const ARRAY_END = 0x5d;

/** The rows of a message; throws when it is not one of `numberedBatch`. */
export function rowsOfMessage(message: Uint8Array): number[] {
  const rows: unknown = JSON.parse(textOf(message.subarray(0, message.indexOf(ARRAY_END) + 1)));
  if (!Array.isArray(rows) || !rows.every((row) => Number.isInteger(row))) {
    throw new Error(`message holds no row numbers: ${textOf(message)}`);
  }
  return rows;
}
