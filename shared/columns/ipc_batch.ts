/** The metadata of an Arrow IPC record batch. */

import { CONTINUATION, HEADER_RECORD_BATCH, METADATA_V5, PREFIX_BYTES } from "./ipc_message.ts";

/** Where the parts of the metadata lie (`recordBatchMetadata`); the vectors follow at `nodes`. */
const LAYOUT = { messageVtable: 4, message: 16, batchVtable: 36, batch: 48, nodes: 68 } as const;

/**
 * Prefix and metadata of a record batch, laid out by hand because it is written for every request.
 * It has the root table `Message`, the table `RecordBatch`, the vector of field nodes and the
 * vector of buffers. Every 64-bit value lies at a multiple of 8, and so does the end.
 */
export function recordBatchMetadata(
  rows: number,
  { nodes, buffers, bodyBytes }: {
    /** Rows and nulls of each field, parents before their children. */
    readonly nodes: readonly number[];
    /** Place and length of each buffer in the body. */
    readonly buffers: readonly number[];
    readonly bodyBytes: number;
  },
): Uint8Array {
  const nodesEnd = LAYOUT.nodes + 4 + 8 * nodes.length;
  const metadataBytes = nodesEnd + 8 + 8 * buffers.length;
  const view = new DataView(new ArrayBuffer(PREFIX_BYTES + metadataBytes));
  view.setUint32(0, CONTINUATION, true);
  view.setInt32(4, metadataBytes, true);
  const u16 = (at: number, ...values: number[]) =>
    values.forEach((value, i) => view.setUint16(PREFIX_BYTES + at + 2 * i, value, true));
  const u32 = (at: number, value: number) => view.setUint32(PREFIX_BYTES + at, value, true);
  const u64 = (at: number, value: number) => {
    u32(at, value);
    u32(at + 4, Math.floor(value / 0x1_0000_0000));
  };
  u32(0, LAYOUT.message);
  // Message: header at 4, bodyLength at 8, version at 16, header type at 18.
  u16(LAYOUT.messageVtable, 12, 20, 16, 18, 4, 8);
  u32(LAYOUT.message, LAYOUT.message - LAYOUT.messageVtable);
  u32(LAYOUT.message + 4, LAYOUT.batch - (LAYOUT.message + 4));
  u64(LAYOUT.message + 8, bodyBytes);
  u16(LAYOUT.message + 16, METADATA_V5, HEADER_RECORD_BATCH);
  // RecordBatch: nodes at 4, length at 8, buffers at 16.
  u16(LAYOUT.batchVtable, 10, 20, 8, 4, 16);
  u32(LAYOUT.batch, LAYOUT.batch - LAYOUT.batchVtable);
  u32(LAYOUT.batch + 4, LAYOUT.nodes - (LAYOUT.batch + 4));
  u64(LAYOUT.batch + 8, rows);
  u32(LAYOUT.batch + 16, nodesEnd + 4 - (LAYOUT.batch + 16));
  u32(LAYOUT.nodes, nodes.length / 2);
  nodes.forEach((value, i) => u64(LAYOUT.nodes + 4 + 8 * i, value));
  u32(nodesEnd + 4, buffers.length / 2);
  buffers.forEach((value, i) => u64(nodesEnd + 8 + 8 * i, value));
  return new Uint8Array(view.buffer);
}
