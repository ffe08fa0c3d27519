/** The write side: opens or creates a table, appends data files in one commit. */

import type { Catalog } from "../catalog/catalog.ts";
import type { Clock } from "../os/clock.ts";
import type { Random } from "../os/random.ts";
import type { ObjectStore } from "../storage/object_store.ts";
import type { AppendCommit, AppendResult, NewTable, Table } from "./types.ts";

export interface CommitDeps {
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  /** Given up between attempts, never after the commit point. */
  readonly signal?: AbortSignal;
}

/** The table as it is, created empty when there is none: where data files are to be written (`dataFileKey`). */
export function ensureTable(_deps: CommitDeps, _table: NewTable): Promise<Table> {
  return Promise.reject(new Error("being written"));
}

/** Adds `files` and records `consumed` in one commit. */
export function commitAppend(_deps: CommitDeps, _change: AppendCommit): Promise<AppendResult> {
  return Promise.reject(new Error("being written"));
}
