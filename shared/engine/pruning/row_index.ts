/** Where a statement finds the indexes of data files. */

import type { Soon } from "../../base/steps.ts";
import type { RowQuery, RowSet } from "../../derived/rows/row_query.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { ReadableStore } from "../../storage/object_store.ts";

/** The indexes of all data files. */
export interface RowIndexes {
  /**
   * Rows of a data file that may meet a query: `all` where there is no index, or none that can be
   * used. Never fails.
   */
  rows(file: DataFile, query: RowQuery, call: IndexCall): Soon<RowSet>;
}

/** The statement that asks: its table's schema and its store. */
export interface IndexCall {
  /** The table's schema now; files may have been written with an earlier one. */
  readonly schema: TableSchema;
  /** The statement's view of the warehouse, so that its reads are counted as its own. */
  readonly store: ReadableStore;
}

/** Reads every data file whole. */
export const NO_INDEXES: RowIndexes = { rows: () => ({ kind: "all" }) };
