/** Rows with the indexes that a data file of them would have, in memory: for tests of lookups. */

import type { OperatingError } from "../base/errors.ts";
import type { Soon } from "../base/steps.ts";
import { batchOfRows, type RowObject } from "../columns/rows.ts";
import { readPuffinTail, writePuffin } from "../derived/puffin.ts";
import type { IndexedFile } from "../derived/rows/indexed_file.ts";
import type { RowSet } from "../derived/rows/row_query.ts";
import { deriveWords, valuesBlobs } from "../derived/text/text_blobs.ts";
import type { Blob, FileRows } from "../derived/types.ts";
import type { TableSchema } from "../schema/schema.ts";

export interface IndexedRowsOptions {
  /** Columns of text; default `raw`. */
  readonly text?: readonly string[];
  /** Default 64. */
  readonly rowGroupRows?: number;
  /** Rows of each batch; default: all of them. */
  readonly batchRows?: number;
}

export function blobsOfRows(
  schema: TableSchema,
  rows: readonly RowObject[],
  { text = ["raw"], rowGroupRows = 64, batchRows = rows.length }: IndexedRowsOptions = {},
): Blob[] {
  const batches = [];
  for (let at = 0; at < rows.length; at += batchRows) {
    batches.push(batchOfRows(schema, rows.slice(at, at + batchRows)));
  }
  const file: FileRows = {
    schema,
    rows: rows.length,
    batches,
    text: text.map((name) => ({ name, tokenizer: "default" })),
    rowGroupRows,
  };
  return [...deriveWords(file).blobs, ...valuesBlobs(file)];
}

/** A file of `rows` rows with these indexes, and what was said of them. */
export interface TestedIndexes extends IndexedFile {
  readonly damages: OperatingError[];
  /** Bytes read so far. */
  readonly bytesRead: number;
}

export function indexedRows(
  schema: TableSchema,
  rows: number,
  blobs: readonly Blob[],
): TestedIndexes {
  const bytes = writePuffin(blobs);
  const tail = readPuffinTail(bytes, { size: bytes.byteLength, what: "a test" });
  if (!("footer" in tail)) throw new Error("the whole file was given");
  const damages: OperatingError[] = [];
  const room = new Uint8Array(bytes.byteLength);
  let reads = 0;
  const file = {
    schema,
    rows,
    blobs: tail.footer.blobs,
    damages,
    bytesRead: 0,
    read: (place: { readonly offset: number }, part: { offset: number; length: number }) => {
      file.bytesRead += part.length;
      const start = place.offset + part.offset;
      const own = bytes.subarray(start, start + part.length);
      // Every other read is given at once, in memory that the next one uses again.
      if ((reads += 1) % 2 === 0) return Promise.resolve(own.slice());
      room.fill(0xff);
      room.set(own);
      return room.subarray(0, own.length);
    },
    open: <T>(_place: unknown, load: () => Soon<T>) => load(),
    damaged: (_place: unknown, error: OperatingError) => void damages.push(error),
  };
  return file;
}

/** Whether the answer has this row. */
export function hasRow(set: RowSet, row: number): boolean {
  switch (set.kind) {
    case "all":
      return true;
    case "none":
      return false;
    case "rows":
      return set.rows.includes(row);
    case "groups":
      return set.groups.includes(Math.floor(row / set.groupRows));
  }
}
