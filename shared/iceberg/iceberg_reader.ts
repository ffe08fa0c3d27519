/** The read side: loads a table's metadata and selects the data files that a time range needs. */

import type { TableIdent } from "../event/tenant.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { FileSelection, Table, TimeRange } from "./types.ts";

/** A table with what only this folder needs of it. */
export interface LoadedTable extends Table {
  readonly metadata: unknown;
}

export interface IcebergReaderOptions {
  /** Bytes of decoded metadata kept at most. */
  readonly cacheBytesMax?: number;
}

export class IcebergReader {
  readonly store: ReadableStore;

  constructor(store: ReadableStore, _options: IcebergReaderOptions = {}) {
    this.store = store;
  }

  /** Errors: `not_found`, `corrupt`, `unimplemented` (format version, column type, partition transform). */
  loadTable(_ident: TableIdent, _metadataLocation: string): Promise<LoadedTable> {
    return Promise.reject(new Error("being written"));
  }

  /** Errors: also `unimplemented` when the snapshot has delete files. */
  selectFiles(_table: LoadedTable, _range: TimeRange): Promise<FileSelection> {
    return Promise.reject(new Error("being written"));
  }
}
