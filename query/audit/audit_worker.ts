/**
 * The thread behind `ThreadTable`. It writes the audit's table while nobody else wants the
 * processor.
 */

import type { RowObject } from "../../shared/columns/rows.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { configureLogging, type LogThreshold } from "../../shared/logging/logging.ts";
import { serveTasks } from "../../shared/os/serve_tasks.ts";
import { yieldingRefusal, yieldToOthers } from "../../shared/os/thread_priority.ts";
import { failureText } from "./failure_text.ts";
import { type AuditPlaces, WarehouseTable } from "./warehouse_table.ts";

/** What the server's thread asks of the audit's thread. */
export interface AuditTask {
  /** Nothing comes after `close`. */
  readonly kind: "append" | "close";
  readonly places: AuditPlaces;
  readonly logLevel: LogThreshold;
  /** Nothing of an append is committed after this; 0: there is no deadline. */
  readonly deadlineMs: number;
  readonly rows: readonly RowObject[];
}

/** `failure`: why an append failed. */
export interface AuditReply {
  readonly failure?: string;
}

/**
 * The audit goes before expensive statements, which have 19: while it commits, other writers of the
 * catalog wait.
 */
const NICENESS = 10;

let table: WarehouseTable | undefined;

serveTasks(async (task: AuditTask) => ({ value: await reply(task) }));

async function reply({ kind, places, logLevel, deadlineMs, rows }: AuditTask): Promise<AuditReply> {
  table ??= await begin(places, logLevel);
  if (kind === "close") {
    await table[Symbol.asyncDispose]();
    return {};
  }
  try {
    const never = new AbortController().signal;
    await table.append(rows, deadlineMs > 0 ? AbortSignal.timeout(deadlineMs) : never);
    return {};
  } catch (error) {
    return { failure: failureText(error) };
  }
}

async function begin(places: AuditPlaces, level: LogThreshold): Promise<WarehouseTable> {
  if (yieldingRefusal() === undefined) yieldToOthers(NICENESS);
  await configureLogging({ level });
  return new WarehouseTable(places, new SystemClock());
}
