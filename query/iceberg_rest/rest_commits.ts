/**
 * Commits of other engines: the same swap of the table's pointer that the compactor makes, after
 * checks that this service reads what comes. The engine has written its files; this writes the
 * metadata file alone.
 */

import { getLogger } from "@logtape/logtape";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { Catalog } from "../../shared/catalog/catalog.ts";
import { type CommitDeps, commitTable } from "../../shared/iceberg/commit_table.ts";
import {
  IcebergReader,
  type LoadedTable,
  loadedTable,
} from "../../shared/iceberg/iceberg_reader.ts";
import { stageMetadata } from "../../shared/iceberg/stage_snapshot.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Random } from "../../shared/os/random.ts";
import { openParquetDecoder, type ParquetDecoder } from "../../shared/parquet/parquet_decoder.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import type { ObjectStore } from "../../shared/storage/object_store.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import { checkRequirements, type CommitRequest, refusedCommit } from "./commit_request.ts";
import { noSuchTable } from "./rest_catalog.ts";
import { snapshotChanges } from "./snapshot_changes.ts";
import { checkSnapshot } from "./snapshot_checks.ts";
import { updatedTable } from "./table_updates.ts";

export interface RestCommitParts {
  readonly store: ObjectStore;
  /** Opened with the first commit. */
  readonly catalog: () => Promise<Catalog>;
  readonly clock: Clock;
  readonly random: Random;
}

/** Commits that wait for one another, in all and of one namespace; more are refused. */
const WAITING_MAX = 16;
const OWN_WAITING_MAX = 4;
const COMMIT_MS_MAX = 60_000;
const CACHE_BYTES_MAX = 8 * 1024 * 1024;

/** Errors of reading files that say what is wrong with them. */
const UNREADABLE: ReadonlySet<string> = new Set(
  ["corrupt", "unimplemented", "not_found", "invalid_argument", "unprocessable"],
);

export class RestCommits implements Disposable {
  readonly #parts: RestCommitParts;
  readonly #decoder: ParquetDecoder = openParquetDecoder();
  /** The namespace of each commit that runs or waits. */
  readonly #waiting: string[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: RestCommitParts) {
    this.#parts = parts;
  }

  /**
   * Commits one at a time. Errors: `not_found`; `invalid_argument` (`commit_refused`); `conflict`
   * (`requirement_failed`) when another commit was first; `rate_limited`; `unavailable`, after
   * which with `commit_unknown` nobody knows whether it took effect.
   */
  async commit(ident: TableIdent, request: CommitRequest): Promise<void> {
    const { namespace, name } = ident;
    const own = this.#waiting.filter((one) => one === namespace).length;
    if (this.#waiting.length >= WAITING_MAX || own >= OWN_WAITING_MAX) {
      throw new OperatingError(
        "rate_limited",
        `Cannot commit to ${name}: ${own} commits to its namespace wait, and ` +
          `${this.#waiting.length} in all; retry`,
        { reason: "too_many_commits", retryAfterSecs: 1 },
      );
    }
    this.#waiting.push(namespace);
    const turn = this.#last.then(() => this.#commit(ident, request));
    this.#last = turn.catch(() => {});
    try {
      await turn;
    } finally {
      this.#waiting.splice(this.#waiting.indexOf(namespace), 1);
    }
  }

  async #commit(ident: TableIdent, request: CommitRequest): Promise<void> {
    if (ident.name.toLowerCase() === QUERY_AUDIT_TABLE) {
      throw refusedCommit(`${ident.name} records what was asked; nobody writes it`);
    }
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(tooLate(ident)), COMMIT_MS_MAX);
    try {
      await this.#swap(ident, { request, signal: late.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async #swap(
    ident: TableIdent,
    { request, signal }: { readonly request: CommitRequest; readonly signal: AbortSignal },
  ): Promise<void> {
    const { store, clock, random } = this.#parts;
    const reader = new IcebergReader(store, { cacheBytesMax: CACHE_BYTES_MAX });
    const deps: CommitDeps = {
      ...{ store, clock, random, reader, signal },
      catalog: await this.#parts.catalog(),
    };
    const { staged } = await commitTable(deps, ident, async (base, staging) => {
      if (base === undefined) throw noSuchTable(ident);
      checkRequirements(request.requirements, base.metadata);
      const updated = updatedTable(base.metadata, request.updates, clock.nowMs());
      const { metadata, snapshotIds } = updated;
      const { metadataLocation, locator } = base;
      let before = base;
      for (const id of snapshotIds) {
        const state = { ...metadata, "current-snapshot-id": id };
        const next = loadedTable(ident, state, { metadataLocation, locator });
        await this.#check(reader, { base: before, next }, signal);
        before = next;
      }
      const table = { table: base, exists: true };
      const written = stageMetadata(deps, table, { next: metadata, staging });
      return { ...written, snapshotId: snapshotIds.at(-1) ?? 0n, consumed: [] };
    });
    getLogger(["svc", "query"]).info("another engine committed to table {table}: {actions}", {
      table: `${ident.namespace}.${ident.name}`,
      actions: [...new Set(request.updates.map(({ action }) => action))].join(", "),
      snapshot: String(staged?.snapshotId ?? ""),
    });
  }

  async #check(
    reader: IcebergReader,
    { base, next }: { readonly base: LoadedTable; readonly next: LoadedTable },
    signal: AbortSignal,
  ): Promise<void> {
    const deps = { store: this.#parts.store, decoder: this.#decoder };
    try {
      const changes = await snapshotChanges(reader, { base, next });
      await checkSnapshot(deps, next, changes, signal);
    } catch (error) {
      // A commit whose files cannot be read did not take effect: the engine is to know that.
      if (
        isOperatingError(error) && error.reason !== "commit_refused" && UNREADABLE.has(error.code)
      ) {
        throw refusedCommit(`it has what cannot be read here. ${error.message}`);
      }
      throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#decoder[Symbol.dispose]();
  }
}

function tooLate({ name }: TableIdent): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot commit to ${name}: its files were not looked through in ${COMMIT_MS_MAX} ms; commit in ` +
      "parts",
    { reason: "commit_late", retryAfterSecs: 5 },
  );
}
