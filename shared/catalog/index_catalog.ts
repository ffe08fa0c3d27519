/**
 * Managed indexes and templates in the catalog: who reads them, and the one who changes them.
 *
 * A table's name has an epoch: how often an index of that name was dropped. WAL segments carry the
 * epoch that their ingest server knew; those of an earlier one belong to what was dropped, and are
 * never read again.
 */

import type { IndexConfig } from "../schema/doc_mapping.ts";
import type { IndexTemplate } from "../schema/index_template.ts";
import type { TableIdent } from "../tenant/tenant.ts";

/**
 * How often an ingest server reads the view. A change of an index is answered a little later than
 * that, so that rows which the client sends then are mapped by it.
 */
export const INDEX_VIEW_INTERVAL_MS = 500;

/** An index that somebody configured, with the tag of its configuration. */
export interface ManagedIndex {
  readonly config: IndexConfig;
  /** Another one after every change. */
  readonly etag: string;
}

/** How often a name was dropped, and when last. */
export interface Epoch {
  readonly count: number;
  /** Unix ms of the last drop. */
  readonly droppedMs: number;
}

/** What the catalog says of one name. */
export interface IndexState {
  /** undefined: nobody configured it. */
  readonly index: ManagedIndex | undefined;
  /** How often it was dropped. */
  readonly epoch: number;
}

/** What a namespace knows of its indexes. */
export interface IndexView {
  readonly indexes: ReadonlyMap<string, ManagedIndex>;
  readonly templates: readonly IndexTemplate[];
  /** The epochs of names that were dropped at least once. */
  readonly epochs: ReadonlyMap<string, Epoch>;
}

export const NO_INDEX_VIEW: IndexView = { indexes: new Map(), templates: [], epochs: new Map() };

/** A table that was dropped and whose files are still there. */
export interface DroppedTable {
  readonly ident: TableIdent;
  readonly metadataLocation: string;
  readonly droppedMs: number;
}

/**
 * Errors: `unavailable`, `permission_denied`, `corrupt`. Each call is one transaction.
 */
export interface IndexCatalog extends AsyncDisposable {
  /** `exists`: also when rows made a table of that name. */
  create(namespace: string, index: ManagedIndex): Promise<"created" | "exists">;
  /**
   * Puts `index` in the place of the one that has the tag `expected`; undefined: of a table that
   * nobody configured. `changed`: somebody else was first.
   */
  replace(
    namespace: string,
    index: ManagedIndex,
    expected: string | undefined,
  ): Promise<"replaced" | "changed">;
  /**
   * Forgets the index and its table, and begins a new epoch of the name; the table's files are left
   * to `droppedTables`. False when there is neither.
   */
  drop(ident: TableIdent, options: { readonly nowMs: number }): Promise<boolean>;
  /**
   * Puts `template` in the place of one of its id; with `mayReplace`, only where there is one that
   * it lets go (`refused`). `changed`: somebody else was first.
   */
  putTemplate(
    namespace: string,
    template: IndexTemplate,
    mayReplace?: (before: IndexTemplate) => boolean,
  ): Promise<"put" | "refused" | "changed">;
  /** False when there is none. */
  deleteTemplate(namespace: string, id: string): Promise<boolean>;
  /** The first dropped ones, at most `max`. */
  droppedTables(max: number): Promise<DroppedTable[]>;
  /** Nothing is left of the dropped table. */
  forgetDropped(metadataLocation: string): Promise<void>;
}
