/**
 * What is derived of a data file: blobs, each made by a builder of its own from all rows of the
 * file.
 */

import type { ColumnBatch } from "../columns/batch.ts";
import type { WordsColumn } from "../schema/row_words.ts";
import type { TableSchema } from "../schema/schema.ts";

/** A piece of a sidecar; its type says how to read `data`, version included: `svc-…-v1`. */
export interface Blob {
  readonly type: string;
  /** Ids of the columns that it is about. */
  readonly fields: readonly number[];
  readonly data: Uint8Array;
  readonly properties?: Readonly<Record<string, string>>;
}

/** What is derived of a data file, or a part of it. */
export interface Derived {
  readonly blobs: readonly Blob[];
  /** Columns that the data file gets besides its own. */
  readonly columns: readonly WordsColumn[];
}

/** A column of text whose words are indexed. */
export interface TextColumn {
  readonly name: string;
  readonly tokenizer: "default" | "stem";
}

/**
 * All rows of a data file, in its order: row n of the file is row n, counted through the batches.
 */
export interface FileRows {
  readonly schema: TableSchema;
  readonly rows: number;
  readonly batches: readonly ColumnBatch[];
  /** undefined: neither words nor values are indexed this time. */
  readonly text: readonly TextColumn[] | undefined;
  /** No row group of the file reaches across a multiple of so many rows. */
  readonly rowGroupRows: number;
}
