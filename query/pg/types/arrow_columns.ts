/** Columns of an Arrow batch of shape `arrow_flat`, read in place. */

import { present } from "../../../shared/base/assert.ts";
import { viewOf } from "../../../shared/base/bytes.ts";
import { HEADER_RECORD_BATCH, readMessage } from "../../../shared/columns/ipc_message.ts";
import type { Layout } from "./column_type.ts";

/** Slots of the table `RecordBatch` of Message.fbs. */
const BATCH = { nodes: 1, buffers: 2 } as const;

/** One column, or the items of one. */
export interface ArrowColumn {
  readonly rows: number;
  /** A bit a row; empty: none is null. */
  readonly validity: Uint8Array;
  /** Where the value of each row begins in `values` or `items`, and the last one ends. */
  readonly offsets: DataView | undefined;
  readonly values: DataView;
  readonly items: ArrowColumn | undefined;
}

/** The columns of a batch's message. Errors: `corrupt`. */
export function arrowColumns(message: Uint8Array, layouts: readonly Layout[]): ArrowColumn[] {
  const { header, body } = readMessage(message, HEADER_RECORD_BATCH);
  const nodes = header.pairs(BATCH.nodes);
  const buffers = header.pairs(BATCH.buffers);
  let node = 0;
  let buffer = 0;
  const nextBuffer = () => {
    const at = present(buffers[2 * buffer], "place of a buffer");
    const length = present(buffers[2 * buffer + 1], "length of a buffer");
    buffer += 1;
    return body.subarray(at, at + length);
  };
  const read = (layout: Layout): ArrowColumn => {
    const rows = present(nodes[2 * node], "rows of a column");
    node += 1;
    const validity = nextBuffer();
    const hasOffsets = layout.kind === "texts" || layout.kind === "list";
    const offsets = hasOffsets ? viewOf(nextBuffer()) : undefined;
    const isList = layout.kind === "list";
    const values = viewOf(isList ? new Uint8Array() : nextBuffer());
    const items = isList ? read(layout.item) : undefined;
    return { rows, validity, offsets, values, items };
  };
  return layouts.map(read);
}

export function isNull({ validity }: ArrowColumn, row: number): boolean {
  return validity.length > 0 && ((validity[row >> 3] ?? 0) >> (row & 7) & 1) === 0;
}
