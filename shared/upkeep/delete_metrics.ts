/** Metrics of delete tasks, and the observer that counts them. */

import { isDamagedFile } from "../base/damaged_file.ts";
import type { MetricHandles } from "../metrics/metrics.ts";
import type { MetricTable } from "../metrics/table.ts";
import type { DeleteObserver } from "./delete_task.ts";

const TASK_SECS_BUCKETS = [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000] as const;

export const DELETE_METRICS = {
  deleteAttempts: {
    kind: "counter",
    name: "svc_compactor_delete_attempts_total",
    help:
      "Attempts at delete tasks by how they ended; failed: for good, retried: another attempt follows",
    labels: { outcome: ["done", "failed", "retried"] },
  },
  deletedRows: {
    kind: "counter",
    name: "svc_compactor_deleted_rows_total",
    help: "Rows that delete tasks took out of tables",
  },
  deleteRewrittenFiles: {
    kind: "counter",
    name: "svc_compactor_delete_rewritten_files_total",
    help: "Data files that delete tasks wrote anew or took out",
  },
  deleteDamagedFiles: {
    kind: "counter",
    name: "svc_compactor_delete_damaged_files_total",
    help:
      "Attempts at delete tasks that ended because a stored file failed a checksum; the task names it",
  },
  deleteTasks: {
    kind: "gauge",
    name: "svc_compactor_delete_tasks",
    help: "Delete tasks that have not ended",
    labels: { status: ["pending", "running"] },
  },
  deleteTaskSecs: {
    kind: "histogram",
    name: "svc_compactor_delete_task_seconds",
    help: "From the claim of a delete task to its commit",
    buckets: TASK_SECS_BUCKETS,
  },
} as const satisfies MetricTable;

/** An observer that counts delete tasks. */
export function countDeletes(
  metrics: MetricHandles<typeof DELETE_METRICS>,
): Required<DeleteObserver> {
  const ended = (outcome: "failed" | "retried", error: unknown) => {
    metrics.deleteAttempts.add(1, { outcome });
    if (isDamagedFile(error)) metrics.deleteDamagedFiles.add(1, {});
  };
  return {
    done(_, { rowsDeleted, filesRewritten, secs }) {
      metrics.deleteAttempts.add(1, { outcome: "done" });
      metrics.deletedRows.add(rowsDeleted, {});
      metrics.deleteRewrittenFiles.add(filesRewritten, {});
      metrics.deleteTaskSecs.observe(secs);
    },
    failed: (_, error) => ended("failed", error),
    retried: (_, error) => ended("retried", error),
    unfinished({ pending, running }) {
      metrics.deleteTasks.set(pending, { status: "pending" });
      metrics.deleteTasks.set(running, { status: "running" });
    },
  };
}
