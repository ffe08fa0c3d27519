/**
 * The write side: opens or creates a table, and appends data files to it with the WAL segments that
 * they hold, in one commit.
 */

import { committedSegments } from "./committed_segments.ts";
import { assert } from "../base/assert.ts";
import { uuidV4 } from "../os/random.ts";
import { type CommitDeps, commitTable, readerOf } from "./commit_table.ts";
import { type LoadedTable, loadedTable } from "./iceberg_reader.ts";
import { tableLocationKey, TableLocator } from "./locations.ts";
import { createTableMetadata } from "./new_table.ts";
import { stageAppend } from "./stage_append.ts";
import { type StageBase, stageMetadata } from "./stage_snapshot.ts";
import type { AppendCommit, AppendResult, NewTable } from "./types.ts";

/**
 * The table as it is, created without rows when there is none: `dataFileKey` of it says where its
 * data files go. Errors: those of `IcebergReader.loadTable`; `unavailable`.
 */
export async function ensureTable(given: CommitDeps, table: NewTable): Promise<LoadedTable> {
  const deps = { ...given, reader: readerOf(given) };
  const { metadataLocation } = await commitTable(deps, table.ident, (base, staging) => {
    if (base !== undefined) return undefined;
    const fresh = freshBase(deps, table);
    const staged = stageMetadata(deps, fresh, {
      next: fresh.table.metadata,
      staging,
    });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
  return await deps.reader.loadTable(table.ident, metadataLocation);
}

/**
 * Adds `files` and records `consumed`: both or neither. `files` may be empty (segments without
 * rows). A table that does not exist is created; only then `files` must be empty, since they have
 * no place yet.
 *
 * Errors: `conflict` (`table_recreated`) when a file belongs to another incarnation. `unavailable`
 * when other writers kept being first (`commit_contention`) or the catalog did not say what became
 * of the commit (`commit_unknown`). After these the same call again finds out, through `consumed`.
 */
export async function commitAppend(
  given: CommitDeps,
  change: AppendCommit,
): Promise<AppendResult> {
  const deps = { ...given, reader: readerOf(given) };
  assert(change.files.length + change.consumed.length > 0, "an append adds or consumes something");
  let forgotten: readonly string[] = [];
  const result = await commitTable(deps, change.ident, async (table, staging) => {
    forgotten = [];
    if (await change.isStillDue?.() === false) return undefined;
    const held = table === undefined ? undefined : committedSegments(table.metadata);
    const again = change.consumed.filter((segment) => held?.has(segment));
    if (again.length > 0) {
      const known = await deps.catalog.consumedOf(again);
      forgotten = again.filter((segment) => !known.has(segment));
      return undefined;
    }
    const base = table === undefined ? freshBase(deps, change) : { table, exists: true };
    const staged = await stageAppend(deps, base, { append: change, staging });
    return change.claim === undefined ? staged : { ...staged, claim: change.claim };
  });
  const outcome = result.outcome === "unchanged" ? "consumed" : result.outcome;
  return { outcome, forgotten, retries: result.retries };
}

function freshBase(deps: CommitDeps, { ident, schema }: NewTable): StageBase {
  const uuid = uuidV4(deps.random);
  const locationKey = tableLocationKey(ident, uuid);
  const location = `${deps.store.rootUri}/${locationKey}`;
  const metadata = createTableMetadata({ schema, uuid, location, nowMs: deps.clock.nowMs() });
  const locator = new TableLocator(deps.store.rootUri, location, `${locationKey}/metadata/none`);
  return { table: loadedTable(ident, metadata, { metadataLocation: "", locator }), exists: false };
}
