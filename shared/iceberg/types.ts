/**
 * What the rest of the service sees of an Iceberg table. Format details stay inside this folder.
 */

import type { DeleteTaskCommit } from "../catalog/delete_ledger.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";

/** A live data file of a snapshot. */
export interface DataFile {
  /** Key in the warehouse's object store (location rebased on the current root). */
  readonly key: string;
  /** Absolute location as the manifest records it. */
  readonly location: string;
  readonly rows: number;
  readonly byteLength: number;
  /** Day partition: days since 1970-01-01. */
  readonly day: number;
  /** Bounds of `timestamp_ns`; undefined when the manifest has none. */
  readonly timestampNsMin: bigint | undefined;
  readonly timestampNsMax: bigint | undefined;
  /** Per field id, in Iceberg's single-value serialization. */
  readonly lowerBounds: ReadonlyMap<number, Uint8Array>;
  readonly upperBounds: ReadonlyMap<number, Uint8Array>;
  readonly nullCounts: ReadonlyMap<number, number>;
  readonly valueCounts: ReadonlyMap<number, number>;
  readonly columnSizes: ReadonlyMap<number, number>;
  /** Byte offsets of the row groups. */
  readonly splitOffsets: readonly number[];
  /** 0 = unsorted; the table's sort order id otherwise. */
  readonly sortOrderId: number;
}

/** A data file that was written and is not yet committed. */
export type NewDataFile = Omit<DataFile, "location">;

/** A table to write to, as of one metadata file. */
export interface Table {
  readonly ident: TableIdent;
  readonly uuid: string;
  readonly metadataLocation: string;
  /** Key prefix of the table's own files in the warehouse's store, without a trailing slash. */
  readonly locationKey: string;
  readonly schema: TableSchema;
  readonly schemaId: number;
  /** undefined when nothing was committed yet. */
  readonly snapshotId: bigint | undefined;
  /** `timestamp` then `timestamp_ns`, ascending, when the table declares that order; its id. */
  readonly sortOrderId: number;
}

/** Rows of interest in time: [min, max], both inclusive, Unix nanoseconds; undefined is open. */
export interface TimeRange {
  readonly minNs: bigint | undefined;
  readonly maxNs: bigint | undefined;
}

export const ALL_TIME: TimeRange = { minNs: undefined, maxNs: undefined };

/** What a time range needs of a snapshot. */
export interface SelectedFiles {
  /** Files that can hold rows of the range, oldest first. */
  readonly files: readonly DataFile[];
  /** Live files of the snapshot before pruning. */
  readonly considered: number;
}

/** What `ensureTable` opens or creates. */
export interface NewTable {
  readonly ident: TableIdent;
  /** Schema for a table that does not exist yet; an existing one keeps its own. */
  readonly schema: TableSchema;
}

/** New data files, and the WAL segments whose rows they hold. */
export interface AppendCommit extends NewTable {
  /**
   * Every key lies below the table's `locationKey` (`dataFileKey`): files are of one incarnation.
   */
  readonly files: readonly NewDataFile[];
  /** WAL segments whose rows `files` hold; recorded with the commit and in the snapshot summary. */
  readonly consumed: readonly string[];
  /**
   * Asked in each attempt after the table's pointer was read; false ends the commit with outcome
   * `consumed`. With it a drain that was paused longer than the catalog remembers its segments
   * still cannot add their rows twice.
   */
  readonly isStillDue?: () => Promise<boolean>;
  /**
   * Token of the claim on all of `consumed`: without it any more, the commit ends with
   * `claim_lost`.
   */
  readonly claim?: string;
}

/** How an append ended. */
export interface AppendResult {
  /**
   * `consumed`: another drain had committed one of the segments; `claim_lost`: the claim ran out.
   * After both nothing has changed.
   */
  readonly outcome: "committed" | "consumed" | "claim_lost";
  /** Segments of `consumed` that a snapshot has, and that the catalog did not tell as consumed. */
  readonly forgotten: readonly string[];
  /** How often the metadata was staged again because the pointer had moved. */
  readonly retries: number;
}

/**
 * `merge` leaves the rows as they are; `retention` and `delete` take some out. `apply` takes out
 * those that delete files of another engine had deleted before.
 */
export type RewriteKind = "merge" | "retention" | "delete" | "apply";

/** Data files that go, and those that come in their place. */
export interface RewriteCommit {
  readonly ident: TableIdent;
  /** Incarnation that the files belong to. */
  readonly tableUuid: string;
  readonly kind: RewriteKind;
  /** Live files of the table that go. There is at least one, but with `applied`. */
  readonly replaced: readonly DataFile[];
  /**
   * Files that come in their place: of a merge with the same rows. Keys as of `AppendCommit.files`.
   */
  readonly files: readonly NewDataFile[];
  /**
   * The delete task that this carries out: it ends with the commit, and must be held by its claim.
   */
  readonly deletes?: DeleteTaskCommit;
  /**
   * Data files with other engines' deletes, by `touchedName`, whose deletes were looked at. What
   * they take out of a replaced file is gone from `files`; from others they take nothing. When none
   * but these is left, the delete files leave the table with the commit.
   */
  readonly applied?: ReadonlySet<string>;
  /** Further members of the snapshot's summary, each named `svc.…`. */
  readonly summary?: Readonly<Record<string, string>>;
}

/** How a rewrite ended. */
export interface RewriteResult {
  /**
   * `superseded`: one of the replaced files is no longer in the table, or another engine deleted
   * rows of it meanwhile. It is said, too, when the table is another, or the delete task no longer
   * held. Nothing has changed. The new files are of no use to anyone and are the caller's to
   * remove.
   */
  readonly outcome: "committed" | "superseded";
  /** How often the metadata was staged again because the pointer had moved. */
  readonly retries: number;
}
