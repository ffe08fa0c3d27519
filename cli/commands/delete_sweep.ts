/**
 * `svc delete-sweep`: carries out the pending delete tasks of one index. See
 * docs/api/command_line.md#what-changes-something and docs/api/query.md#delete-tasks.
 */

import {
  deleteSweepPaths,
  openDeleteSweep,
  OPTIONS as COMPACTOR_OPTIONS,
} from "../../compactor/mod.ts";
import { counted } from "../../shared/base/counted.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import type { DeleteTask } from "../../shared/catalog/delete_ledger.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import { belowDataDir } from "../../shared/catalog/storage_places.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../../shared/derived/summary/summary_options.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import { DeletePlanner, isFinal } from "../../shared/upkeep/delete_plan.ts";
import {
  type DeleteOutcome,
  type DeleteTaskDeps,
  runDeleteTask,
} from "../../shared/upkeep/delete_task.ts";
import { areRowsCommitted } from "../../shared/upkeep/delete_wait.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { requireCatalog } from "../open_warehouse.ts";
import { APPLY_OPTION, printPlan } from "../plan_table.ts";

const { dataDir, wal, warehouse, warehouseUrl, catalogUri } = COMPACTOR_OPTIONS;
const { catalogClaim, walMirrorPrefix, deleteGraceSecs, scratchDir } = COMPACTOR_OPTIONS;

const OPTIONS = {
  index: {
    kind: "text",
    flag: "index",
    placeholder: "ID",
    required: true,
    help: "The index whose delete tasks are executed.",
  },
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace of the index: that of its tenant.",
  },
  apply: APPLY_OPTION,
  dataDir,
  wal,
  warehouse,
  warehouseUrl,
  catalogUri,
  catalogClaim: {
    ...catalogClaim,
    help: "Use this if compactors drain the mirror of the WAL in the warehouse: the task waits " +
      "for rows that are still there.",
  },
  walMirrorPrefix: {
    ...walMirrorPrefix,
    help: "Where the mirror is in the warehouse; as of the compactor.",
  },
  deleteGraceSecs,
  scratchDir,
  ...SUMMARY_OPTIONS,
} as const satisfies OptionTable;

/** Records that are looked through for tasks of the index: the newest. */
const LISTED_MAX = 100_000;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    using end = listenForEnd();
    const stopping = new AbortController();
    end.requested.then(() => stopping.abort(new OperatingError("cancelled", "asked to end")));
    const paths = deleteSweepPaths(settings);
    await requireCatalog(paths.catalog);
    await using sweep = await openDeleteSweep(paths, {
      scratchDir: belowDataDir(settings, settings.scratchDir),
      graceMs: settings.deleteGraceSecs * 1_000,
      summaries: summaryLimitsOf(settings),
    });
    const { deps } = sweep;
    const ident = { namespace: settings.namespace, name: settings.index };
    const known = (await deps.ledger.list(ident.namespace, LISTED_MAX))
      .filter((task) => task.ident.name === ident.name);
    if (known.length === 0) await requireIndex(deps.catalog, ident);
    const tasks = known.filter(({ endedMs }) => endedMs === undefined).reverse();
    const plans: Planned[] = [];
    for (const task of tasks) plans.push(await planned(deps, task, stopping.signal));
    await printPlan(console, COLUMNS, plans.map(rowOf));
    if (!settings.apply || tasks.length === 0) {
      const isOne = tasks.length === 1;
      const left = `${counted(tasks.length, "delete task")} ${isOne ? "has" : "have"} not ended`;
      const hint = settings.apply ? "nothing to do" : "nothing is changed without --apply";
      await console.notes.write(`${left}; ${hint}\n`);
      return 0;
    }
    return await apply(deps, plans, { console, signal: stopping.signal });
  },
});

/** Errors: `not_found` where no task, no table and no configuration has the name. */
async function requireIndex(
  catalog: Pick<CatalogReader, "metadataLocation" | "indexState">,
  ident: TableIdent,
): Promise<void> {
  const isKnown = BUILT_IN_TABLES.has(ident.name) ||
    await catalog.metadataLocation(ident) !== undefined ||
    (await catalog.indexState(ident)).index !== undefined;
  if (isKnown) return;
  throw new OperatingError(
    "not_found",
    `Cannot sweep --index ${ident.name}: namespace ${ident.namespace} has no such index, and no delete task of it; ` +
      "`svc table-info` lists those that have rows",
    { reason: "unknown_index" },
  );
}

const COLUMNS = ["task", "predicate", "files", "rewritten", "rows", "bytes freed", "action"];

/** What a task would do now. */
interface Planned {
  readonly task: DeleteTask;
  /** That can hold such rows. */
  readonly files: number;
  readonly rewritten: number;
  readonly rows: number;
  /** The deleted rows' share of their files. */
  readonly bytesFreed: number;
  readonly action: string;
}

async function planned(
  deps: DeleteTaskDeps,
  task: DeleteTask,
  signal: AbortSignal,
): Promise<Planned> {
  const none = { task, files: 0, rewritten: 0, rows: 0, bytesFreed: 0 };
  const { wal, catalog, mirror } = deps;
  const looking = { wal, catalog, ...(mirror === undefined ? {} : { mirror }) };
  if (!await areRowsCommitted(looking, task)) return { ...none, action: "wait for the WAL" };
  try {
    const planner = new DeletePlanner({ ...deps, matcher: await deps.matcher() }, task);
    const plan = await planner.plan({ signal });
    if (plan === undefined) return { ...none, action: "nothing to delete" };
    return {
      task,
      files: plan.filesTotal,
      rewritten: plan.files.length,
      rows: plan.rowsMatched,
      bytesFreed: plan.files.reduce(
        (sum, { file, gone }) => sum + Math.round(file.byteLength * gone.count / file.rows),
        0,
      ),
      action: plan.files.length === 0 ? "nothing to delete" : "delete",
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!isFinal(error)) throw error;
    return { ...none, action: `fail: ${messageOf(error)}` };
  }
}

function rowOf({ task, files, rewritten, rows, bytesFreed, action }: Planned) {
  return [task.taskId, task.predicate, files, rewritten, rows, bytesFreed, action];
}

/** 1 when a task is not done. */
async function apply(
  deps: DeleteTaskDeps,
  plans: readonly Planned[],
  { console, signal }: { readonly console: Console; readonly signal: AbortSignal },
): Promise<number> {
  let status = 0;
  for (const { task } of plans) {
    const outcome = await runDeleteTask(deps, task, signal);
    const ended = await deps.ledger.find(task.ident.namespace, task.taskId);
    if (ended?.status !== "done") status = 1;
    await console.notes.write(`${task.taskId}: ${resultText(outcome, ended)}\n`);
  }
  return status;
}

const RESULTS: Readonly<Record<DeleteOutcome, string>> = {
  done: "done",
  failed: "failed",
  retried: "failed, may be tried again",
  waits: "waits: rows of it are still in the WAL; run the compactor, or wait for it",
  taken: "taken: a compactor works on it, or on another task of the index",
  lost: "lost: this process was stopped for longer than its lease",
};

function resultText(outcome: DeleteOutcome, task: DeleteTask | undefined): string {
  const { error } = task ?? {};
  if (task?.status === "done") {
    return `done, ${counted(task.rowsDeleted, "row")} deleted, ${
      counted(task.filesRewritten, "file")
    } rewritten`;
  }
  return `${RESULTS[outcome]}${error === undefined ? "" : `: ${error}`}`;
}
