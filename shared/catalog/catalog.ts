/**
 * The catalog: which metadata file is each table's current one, and which WAL segments its rows
 * already hold. The commit point of a table is one row here; see
 * docs/decisions.md#one-transaction-a-commit.
 *
 * Asynchronous from the start: SQLite and PostgreSQL implement the same page, held by one
 * conformance suite. Errors: `OperatingError` `not_found`, `conflict`, `unavailable`, `corrupt`.
 */

import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type { DeleteTaskCommit } from "./delete_ledger.ts";
import type { IndexState, IndexView } from "./index_catalog.ts";

/** What a process may ask of the catalog that changes nothing. */
export interface CatalogReader extends AsyncDisposable {
  namespaces(): Promise<string[]>;
  tables(namespace: string): Promise<string[]>;
  /** Location of the current metadata file, or undefined when there is no such table. */
  metadataLocation(ident: TableIdent): Promise<string | undefined>;
  /** The pointer and which of `segments` it already holds, from one read transaction. */
  readView(ident: TableIdent, segments: readonly string[]): Promise<TableView>;
  /**
   * Which of `segments` some table has consumed, ever: also when their files, and their rows, are
   * long gone.
   */
  consumedOf(segments: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * Columns of a namespace's tables by name, as the last commit that told them left them: for
   * processes that may read the catalog but not the warehouse. A table that another program made or
   * altered since may be missing or older here.
   */
  tableSchemas(namespace: string): Promise<ReadonlyMap<string, TableSchema>>;
  /** Configuration and epoch of one table. */
  indexState(ident: TableIdent): Promise<IndexState>;
  /** Managed indexes of a namespace. */
  indexView(namespace: string): Promise<IndexView>;
  /** The view of every namespace that has any index, by namespace. */
  indexViews(): Promise<ReadonlyMap<string, IndexView>>;
  /** Cheap proof that the catalog answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** A table's pointer, and which of some segments it holds, at one moment. */
export interface TableView {
  readonly metadataLocation: string | undefined;
  readonly consumed: ReadonlySet<string>;
}

/** One change of a table's pointer, with all that happens in its transaction. */
export interface TableCommit {
  readonly ident: TableIdent;
  /** What the pointer must still be; undefined creates the table and its namespace. */
  readonly expected: string | undefined;
  readonly next: string;
  readonly tableUuid: string;
  /** The snapshot that holds the rows of `consumed`; 0 when `consumed` is empty. */
  readonly snapshotId: bigint;
  /** WAL segment names whose rows this commit adds. */
  readonly consumed: readonly string[];
  /** The table's columns after the change, for `tableSchemas`; without it those known stay. */
  readonly schema?: TableSchema;
  /**
   * Token of a claim (`wal_claims.ts`) that must hold all of `consumed` now, and ends with the
   * commit.
   */
  readonly claim?: string;
  /**
   * The delete task that this commit carries out, held by its claim now: `done` with the commit.
   */
  readonly deletes?: DeleteTaskCommit;
}

/**
 * After all but the first, nothing changed. `conflict`: the pointer had moved. `consumed`: a
 * segment was already there. `claim_lost`: neither, but the claim does not hold every segment, or
 * the delete task, any more: it never will again.
 */
export type CommitOutcome = "committed" | "conflict" | "consumed" | "claim_lost";

/** The catalog for roles that write tables. */
export interface Catalog extends CatalogReader {
  /** The commit point: compare-and-swap of the pointer and the consumed rows, both or neither. */
  commit(change: TableCommit): Promise<CommitOutcome>;
  /**
   * False, and nothing changed, when there is no such table, or its pointer is not `expected` where
   * that is given.
   */
  dropTable(ident: TableIdent, options?: { readonly expected?: string }): Promise<boolean>;
  /**
   * Keeps in little room (`consumed_runs.ts`) that these segments are consumed, and forgets what
   * claims there were of them: for those whose files are gone from the WAL.
   */
  foldConsumed(segments: readonly string[]): Promise<void>;
}
