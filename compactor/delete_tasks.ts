/** Delete tasks in the compactor: the loop that carries them out, and what it says in the log. */

import { getLogger } from "@logtape/logtape";
import { counted } from "../shared/base/counted.ts";
import { messageOf } from "../shared/base/errors.ts";
import { belowDataDir } from "../shared/catalog/storage_places.ts";
import type { DeleteTask } from "../shared/catalog/delete_ledger.ts";
import {
  type DeleteLoop,
  startDeleteLoop,
  sweepDeleteTasks,
} from "../shared/upkeep/delete_loop.ts";
import type { DeleteObserver } from "../shared/upkeep/delete_task.ts";
import { type OpenDeletes, openDeletes } from "../shared/upkeep/open_deletes.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import type { CompactorSettings } from "./flags.ts";
import {
  type CompactorPaths,
  compactorPaths,
  mirrorPrefixOf,
  type OpenDrain,
  openDrain,
  type OpenDrainOptions,
} from "./open_drain.ts";

export interface DeleteOptions {
  /** Absolute. */
  readonly scratchDir: string;
  /** How long after its acceptance a task asks the mirror of the WAL what waits there. */
  readonly graceMs: number;
  readonly observer?: DeleteObserver;
}

const OFF: ReadonlySet<string> = new Set(["0", "off", "false", "no"]);

/** undefined: `SVC_DELETE_TASKS` leaves them to `svc delete-sweep`. */
export function deleteOptionsOf(
  settings: Pick<CompactorSettings, "deleteTasks" | "deleteGraceSecs" | "scratchDir" | "dataDir">,
  observer?: DeleteObserver,
): DeleteOptions | undefined {
  if (OFF.has(settings.deleteTasks.toLowerCase())) return undefined;
  const scratchDir = belowDataDir(settings, settings.scratchDir);
  const graceMs = settings.deleteGraceSecs * 1_000;
  return { scratchDir, graceMs, ...(observer === undefined ? {} : { observer }) };
}

/**
 * Starts the loop; it and what it stands on are closed with the returned disposable. Errors: the
 * catalog's.
 */
export async function startDeletes(
  paths: CompactorPaths,
  opened: OpenDrain,
  options: DeleteOptions,
): Promise<AsyncDisposable> {
  const deletes = await openCompactorDeletes(paths, opened, options);
  const loop: DeleteLoop = startDeleteLoop(deletes.deps);
  return {
    async [Symbol.asyncDispose]() {
      await loop.stop();
      await deletes[Symbol.asyncDispose]();
    },
  };
}

/**
 * Carries out what can be now; how many tasks are done. Errors: the catalog's; `engine_not_loaded`.
 */
export async function deleteOnce(
  paths: CompactorPaths,
  opened: OpenDrain,
  options: DeleteOptions & { readonly signal?: AbortSignal },
): Promise<number> {
  await using deletes = await openCompactorDeletes(paths, opened, options);
  let done = 0;
  for (;;) {
    const outcomes = [...(await sweepDeleteTasks(deletes.deps, options.signal)).values()];
    const now = outcomes.filter((outcome) => outcome === "done").length;
    if (now === 0) return done;
    done += now;
  }
}

/**
 * Where `svc delete-sweep` works: the WAL here, and its mirror where there is one. Errors:
 * `invalid_argument`.
 */
export function deleteSweepPaths(
  settings: Parameters<typeof compactorPaths>[0] & Parameters<typeof mirrorPrefixOf>[0],
): CompactorPaths {
  const mirrorPrefix = mirrorPrefixOf(settings);
  return { ...compactorPaths(settings), ...(mirrorPrefix === "" ? {} : { mirrorPrefix }) };
}

/** For `svc delete-sweep`: what the loop stands on, without the loop. Errors: the catalog's. */
export async function openDeleteSweep(
  paths: CompactorPaths,
  options: Pick<DeleteOptions, "scratchDir" | "graceMs"> & Pick<OpenDrainOptions, "summaries">,
): Promise<OpenDeletes> {
  await using opening = new AsyncDisposableStack();
  const drain = opening.use(await openDrain(paths, options));
  const { deps } = opening.use(await openCompactorDeletes(paths, drain, options));
  const opened = opening.move();
  return { deps, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

function openCompactorDeletes(
  paths: CompactorPaths,
  { deps }: OpenDrain,
  { scratchDir, graceMs, observer }: DeleteOptions,
): Promise<OpenDeletes> {
  const prefix = paths.mirror?.prefix ?? paths.mirrorPrefix;
  return openDeletes({
    ...(prefix === undefined ? {} : { mirror: { prefix, graceMs } }),
    drain: deps,
    files: new DenoFileSystem(),
    catalogPlace: paths.catalog,
    scratchParent: scratchDir,
    observer: combined(logDeletes(), observer ?? {}),
  });
}

function combined(a: DeleteObserver, b: DeleteObserver): Required<DeleteObserver> {
  return {
    done(task, report) {
      a.done?.(task, report);
      b.done?.(task, report);
    },
    failed(task, error) {
      a.failed?.(task, error);
      b.failed?.(task, error);
    },
    retried(task, error) {
      a.retried?.(task, error);
      b.retried?.(task, error);
    },
    unfinished(counts) {
      a.unfinished?.(counts);
      b.unfinished?.(counts);
    },
  };
}

/** The predicate is left out: it may name what is to be forgotten. */
function logDeletes(): DeleteObserver {
  const log = getLogger(["svc", "delete"]);
  const named = ({ taskId, ident }: DeleteTask) => ({
    task: taskId,
    table: `${ident.namespace}.${ident.name}`,
  });
  return {
    done: (task, { rowsDeleted, filesRewritten, secs }) =>
      log.info("delete task {task} took {rows} out of {table}", {
        ...named(task),
        rows: counted(rowsDeleted, "row"),
        files: filesRewritten,
        secs: secs.toFixed(1),
      }),
    failed: (task, error) =>
      log.error("delete task {task} of {table} failed: {error}", {
        ...named(task),
        error: messageOf(error),
      }),
    retried: (task, error) =>
      log.warning("an attempt at delete task {task} of {table} failed, another follows: {error}", {
        ...named(task),
        error: messageOf(error),
      }),
  };
}
