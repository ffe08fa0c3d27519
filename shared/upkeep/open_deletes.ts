/**
 * Opens what delete tasks are carried out with, for a process that may load DuckDB's
 * library.
 */

import { openDeleteLedger, openWalClaims } from "../catalog/open_catalog_parts.ts";
import { LateResource } from "../base/late_resource.ts";
import { openRowMatcher, type RowMatcher } from "../engine/predicate/row_matcher.ts";
import { IcebergReader } from "../iceberg/iceberg_reader.ts";
import type { FileSystem } from "../os/file_system.ts";
import { mayStartChild } from "../os/child_process.ts";
import { uuidV4 } from "../os/random.ts";
import { openMirrorWalReader } from "../wal/mirror/mirror_wal_reader.ts";
import type { DeleteObserver, DeleteTaskDeps } from "./delete_task.ts";
import type { DrainDeps } from "../drain/drain.ts";
import { openScratchFolder } from "./scratch_folder.ts";

export interface OpenDeletesOptions {
  readonly drain: DrainDeps;
  readonly files: FileSystem;
  /** Where the catalog is, in the form that `openCatalog` takes. */
  readonly catalogPlace: string;
  /** Absolute; made when a task needs it. */
  readonly scratchParent: string;
  readonly observer?: DeleteObserver;
  /** Where ingest servers mirror their WALs to, below the warehouse. */
  readonly mirror?: { readonly prefix: string; readonly graceMs: number };
}

export interface OpenDeletes extends AsyncDisposable {
  readonly deps: DeleteTaskDeps;
}

/** One file's rows are matched column by column: this much holds the widest. */
const MATCHER_BYTES_MAX = 256 * 1024 * 1024;

/** Nothing of DuckDB is loaded before the first task. Errors: the catalog's. */
export async function openDeletes(options: OpenDeletesOptions): Promise<OpenDeletes> {
  const { drain, files, scratchParent, observer, mirror } = options;
  await using opening = new AsyncDisposableStack();
  const ledger = opening.use(await openDeleteLedger(options.catalogPlace, { files }));
  const scratch = opening.use(
    new LateResource(() => openScratchFolder(scratchParent, { files, random: drain.random })),
  );
  const matcher = opening.use(
    new LateResource(async (): Promise<RowMatcher> => {
      const { path } = await scratch.get();
      return await openRowMatcher({
        files,
        scratchDir: `${path}/engine`,
        readableDirs: [...localRoots(drain), path],
        memoryBytesMax: MATCHER_BYTES_MAX,
        hasProcess: mayStartChild(),
        threads: Math.max(1, navigator.hardwareConcurrency >> 1),
      });
    }),
  );
  const { claiming, observer: _, ...parts } = drain;
  const deps: DeleteTaskDeps = {
    ...parts,
    ledger,
    reader: drain.reader ?? new IcebergReader(drain.store),
    matcher: () => matcher.get(),
    rest: () => matcher.rest(),
    files,
    scratchDir: async () => (await scratch.get()).path,
    claimant: claiming?.claimant ?? `compactor ${uuidV4(drain.random)}`,
    ...(mirror === undefined ? {} : {
      mirror: {
        wal: openMirrorWalReader(drain.store, mirror.prefix),
        claims: claiming?.claims ??
          opening.use(await openWalClaims(options.catalogPlace, { files })),
        graceMs: mirror.graceMs,
      },
    }),
    ...(observer === undefined ? {} : { observer }),
  };
  const opened = opening.move();
  return { deps, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The folder of the warehouse, when it is one. */
function localRoots({ store }: DrainDeps): string[] {
  const scheme = "file://";
  return store.rootUri.startsWith(scheme) ? [store.rootUri.slice(scheme.length)] : [];
}
