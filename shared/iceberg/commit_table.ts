/**
 * One change of a table: stage files, then one commit point, `catalog.commit`. The change comes in
 * as a function from the table's present state to staged files. It is called again whenever another
 * writer was first. Appends and rewrites are such changes.
 *
 * Invariants: before the commit point nothing refers to what was staged; at most one call of
 * `catalog.commit` takes effect; an outcome is reported only when it is known.
 */

import type { Catalog, CommitOutcome } from "../catalog/catalog.ts";
import type { DeleteTaskCommit } from "../catalog/delete_ledger.ts";
import { isOperatingError, messageOf, OperatingError } from "../base/errors.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import type { Random } from "../os/random.ts";
import type { ObjectStore, ReadableStore } from "../storage/object_store.ts";
import { IcebergReader, type LoadedTable } from "./iceberg_reader.ts";
import { isBelowRoot } from "./locations.ts";
import { removeQuietly, Staging } from "./staging.ts";

/** What commits need: a store, a catalog, a clock and randomness. */
export interface CommitDeps {
  readonly store: ObjectStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: Random;
  /** Kept between commits, it saves reading the same metadata again; over the same store. */
  readonly reader?: IcebergReader;
  /** Heeded between attempts, never after the commit point. */
  readonly signal?: AbortSignal;
}

/** Files are written; the pointer is not. */
export interface StagedChange {
  readonly metadataLocation: string;
  readonly tableUuid: string;
  /** The snapshot that the change adds; 0 when it adds none. */
  readonly snapshotId: bigint;
  readonly consumed: readonly string[];
  /** Token of the claim that must hold `consumed`. */
  readonly claim?: string;
  /** The delete task that the change carries out. */
  readonly deletes?: DeleteTaskCommit;
  /** The table's columns after the change. */
  readonly schema: TableSchema;
  /** Keys that nothing needs once the change is committed. */
  readonly obsolete: readonly string[];
}

/**
 * Puts into `staging` what makes `base` (undefined: no such table) the changed table; undefined: no
 * change.
 */
export type StageChange = (
  base: LoadedTable | undefined,
  staging: Staging,
) => Promise<StagedChange | undefined> | StagedChange | undefined;

export interface CommittedChange {
  /** `unchanged`: the change had nothing to do. */
  readonly outcome: "committed" | "consumed" | "claim_lost" | "unchanged";
  /** Where the table's metadata is now. */
  readonly metadataLocation: string;
  /** What was committed; undefined for the other outcomes. */
  readonly staged: StagedChange | undefined;
  readonly retries: number;
}

/** Attempts at one change while other writers are first; then `unavailable`. */
const ATTEMPTS_MAX = 20;
/** Attempts at learning what became of a commit whose answer was lost. */
const SETTLE_ATTEMPTS_MAX = 5;
const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 1_000;

export interface CommitOptions {
  /**
   * The change writes the table's locations anew, so it may be committed where the pointer leads
   * out of the warehouse. Default false.
   */
  readonly relocates?: boolean;
}

/**
 * Errors: those of `stage`; `unavailable` when other writers kept being first or the outcome is
 * unknown; `precondition_failed` (`moved_warehouse`) when the pointer leads out of the warehouse.
 */
export async function commitTable(
  deps: CommitDeps,
  ident: TableIdent,
  stage: StageChange,
  { relocates = false }: CommitOptions = {},
): Promise<CommittedChange> {
  const reader = readerOf(deps);
  for (let retries = 0; retries < ATTEMPTS_MAX; retries += 1) {
    if (retries > 0) await backOff(deps, retries);
    deps.signal?.throwIfAborted();
    const expected = await deps.catalog.metadataLocation(ident);
    if (!relocates) refuseElsewhere(deps.store.rootUri, ident, expected);
    const base = await loadBase(deps, { reader, ident, expected });
    if (base === "moved") continue;
    const staging = new Staging(deps.store);
    const staged = await stageOrDiscard(stage, base, staging);
    if (staged === undefined) {
      return unchanged(base, retries);
    }
    const outcome = await settle(deps, { ident, expected, staged });
    if (outcome === "committed") {
      await removeQuietly(deps.store, staged.obsolete);
      return { outcome, metadataLocation: staged.metadataLocation, staged, retries };
    }
    await staging.discard();
    if (outcome === "consumed" || outcome === "claim_lost") {
      const metadataLocation = await deps.catalog.metadataLocation(ident) ?? "";
      return { outcome, metadataLocation, staged: undefined, retries };
    }
  }
  throw new OperatingError(
    "unavailable",
    `Cannot commit to table ${nameOf(ident)}: other writers were first ${ATTEMPTS_MAX} times. ` +
      "Try again, or run fewer writers on this table.",
    { reason: "commit_contention" },
  );
}

interface Attempt {
  readonly ident: TableIdent;
  readonly expected: string | undefined;
  readonly staged: StagedChange;
}

/**
 * Commits and finds out what happened. A lost answer is looked up in the table's history. While
 * that does not show it, the same commit is sent again. It takes effect at most once, since each
 * attempt expects the same pointer.
 */
async function settle(deps: CommitDeps, attempt: Attempt): Promise<CommitOutcome> {
  const { ident, expected, staged } = attempt;
  let lost: unknown;
  for (let tries = 0; tries < SETTLE_ATTEMPTS_MAX; tries += 1) {
    if (tries > 0) await deps.clock.sleep(backOffMs(deps, tries));
    let outcome: CommitOutcome = "conflict";
    try {
      // THE COMMIT POINT: the pointer and the consumed segments change here, both or neither.
      outcome = await deps.catalog.commit({
        ident,
        expected,
        next: staged.metadataLocation,
        tableUuid: staged.tableUuid,
        snapshotId: staged.snapshotId,
        consumed: staged.consumed,
        schema: staged.schema,
        ...(staged.claim === undefined ? {} : { claim: staged.claim }),
        ...(staged.deletes === undefined ? {} : { deletes: staged.deletes }),
      });
      if (outcome === "committed" || lost === undefined) return outcome;
      // The pointer was the expected one, so what was lost has not taken effect; without the claim
      // it cannot.
      if (outcome === "claim_lost") return outcome;
    } catch (error) {
      lost = error;
    }
    const fate = await fateOf(deps, attempt).catch(() => "unknown" as const);
    if (fate === "committed") return "committed";
    if (fate === "superseded") return outcome;
  }
  // What was staged stays: the lost commit may have taken effect, or yet do so, and then refers to
  // it.
  throw new OperatingError(
    "unavailable",
    `Cannot learn whether ${staged.metadataLocation} was committed to table ${nameOf(ident)}: ` +
      `${messageOf(lost)}. Nothing is lost: try again once the catalog answers.`,
    { reason: "commit_unknown", cause: lost },
  );
}

/**
 * What the table's present state says of a commit. Either it took effect, or another one took its
 * place, so that it never can. Or neither shows, since it is still open or the history no longer
 * reaches back.
 */
async function fateOf(
  deps: CommitDeps,
  { ident, expected, staged }: Attempt,
): Promise<"committed" | "superseded" | "unknown"> {
  const pointer = await deps.catalog.metadataLocation(ident);
  if (pointer === staged.metadataLocation) return "committed";
  if (pointer === undefined || pointer === expected) return "unknown";
  const { metadata } = await readerOf(deps).loadTable(ident, pointer);
  if (metadata.snapshots.some((one) => one["snapshot-id"] === staged.snapshotId)) {
    return "committed";
  }
  const log = metadata["metadata-log"].map((entry) => entry["metadata-file"]);
  if (log.includes(staged.metadataLocation)) return "committed";
  const isOurTable = metadata["table-uuid"] === staged.tableUuid;
  // The log has no gaps: it would show what followed the expected file, had that been ours.
  const followed = expected === undefined ? !isOurTable : isOurTable && log.includes(expected);
  return followed ? "superseded" : "unknown";
}

/**
 * The catalog may still be another warehouse's, whose pointer a commit here would take. Errors:
 * `precondition_failed`.
 */
function refuseElsewhere(rootUri: string, ident: TableIdent, pointer: string | undefined): void {
  if (pointer === undefined || isBelowRoot(rootUri, pointer)) return;
  throw movedWarehouse(`commit to table ${nameOf(ident)}`, { pointer, rootUri });
}

/** The catalog names files of another place than this warehouse. `what` was tried. */
export function movedWarehouse(
  what: string,
  { pointer, rootUri }: { readonly pointer: string; readonly rootUri: string },
): OperatingError {
  return new OperatingError(
    "precondition_failed",
    `Cannot ${what}: its metadata is ${pointer}, outside of this warehouse, ${rootUri}. If the warehouse was moved ` +
      "or copied here and nothing uses this catalog with the former place any more, run `svc relocate`; else give " +
      "the place and the catalog that belong together",
    { reason: "moved_warehouse" },
  );
}

/** `moved`: the pointer had moved on so far that the file it named is gone. */
async function loadBase(
  deps: CommitDeps,
  from: { reader: IcebergReader; ident: TableIdent; expected: string | undefined },
): Promise<LoadedTable | undefined | "moved"> {
  const { reader, ident, expected } = from;
  if (expected === undefined) return undefined;
  try {
    return await reader.loadTable(ident, expected);
  } catch (error) {
    const missing = isOperatingError(error, "not_found");
    if (missing && await deps.catalog.metadataLocation(ident) !== expected) return "moved";
    throw error;
  }
}

async function stageOrDiscard(
  stage: StageChange,
  base: LoadedTable | undefined,
  staging: Staging,
): Promise<StagedChange | undefined> {
  try {
    const staged = await stage(base, staging);
    await staging.written();
    return staged;
  } catch (error) {
    await staging.discard();
    throw error;
  }
}

function unchanged(base: LoadedTable | undefined, retries: number): CommittedChange {
  const metadataLocation = base?.metadataLocation ?? "";
  return { outcome: "unchanged", metadataLocation, staged: undefined, retries };
}

function backOff(deps: CommitDeps, retries: number): Promise<void> {
  const options = deps.signal === undefined ? {} : { signal: deps.signal };
  return deps.clock.sleep(backOffMs(deps, retries), options);
}

/** Between nothing and a bound that doubles, so that writers who collided do not collide again. */
function backOffMs(deps: CommitDeps, retries: number): number {
  return deps.random.float() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** retries);
}

/** What reading a table's metadata needs. */
export interface ReaderDeps {
  readonly store: ReadableStore;
  readonly reader?: IcebergReader;
}

/** The reader of tables that the process has, or a new one. */
export function readerOf(deps: ReaderDeps): IcebergReader {
  return deps.reader ?? new IcebergReader(deps.store);
}

function nameOf(ident: TableIdent): string {
  return `${ident.namespace}.${ident.name}`;
}
