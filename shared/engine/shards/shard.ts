/** Values of statements that many servers share: shards, and tables as they were planned. */

import type { IndexState } from "../../catalog/index_catalog.ts";
import type { Column } from "../../schema/schema.ts";
import type { SegmentOutline } from "../../wal/types.ts";
import type { DeltaFile } from "../plan/delta_file.ts";
import type { LostRows } from "../plan/lost_rows.ts";
import type { TableSnapshot } from "../plan/snapshot.ts";

/** Some rows of one table of a statement. Its other tables are read whole. */
export interface Shard {
  /** Lower-cased name of the table. */
  readonly table: string;
  readonly files: readonly ShardFile[];
  /** How many shards the statement has. */
  readonly count: number;
  /** Whether rows that only the WAL holds are in the shard: the request has their files frozen. */
  readonly hasWalRows?: boolean;
}

/** A data file by its key in the store, or some of its rows. */
export interface ShardFile {
  readonly key: string;
  /** Rows [first, end) by position in the file; absent: all of them. */
  readonly rows?: { readonly first: number; readonly end: number };
}

/** Tables at one moment, by their lower-cased names. Whoever made it holds the leases. */
export type FrozenTables = ReadonlyMap<string, FrozenTable>;

/** A table, its rows in the WAL, and its index as the catalog had it. */
export interface FrozenTable {
  readonly snapshot: TableSnapshot;
  readonly state: IndexState | undefined;
  /** Rows of the WAL; undefined where no WAL is read. */
  readonly wal: FrozenRows | undefined;
  /** Rows that cannot be read; undefined: none. */
  readonly lost: LostRows | undefined;
}

/** Rows of the WAL, with the columns of the newest segment that was read. */
export interface FrozenRows {
  readonly files: readonly DeltaFile[];
  readonly counted: readonly SegmentOutline[];
  readonly columns: readonly Column[] | undefined;
}

/** Rows that other servers sent, which a statement finds as a table of this name. */
export interface ReceivedTable {
  readonly name: string;
  /** Names, and DuckDB's types. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly files: readonly ReceivedFile[];
}

/** A Parquet file of such rows. */
export interface ReceivedFile {
  readonly path: string;
  readonly rows: number;
  readonly byteLength: number;
}
