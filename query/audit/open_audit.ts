/**
 * The audit of a running query server: the writer over its warehouse's table, or nothing with
 * `--audit-disabled`.
 */

import type { Clock } from "../../shared/os/clock.ts";
import type { LogThreshold } from "../../shared/logging/logging.ts";
import type { QuerySettings } from "../flags.ts";
import { queryPaths } from "../query_paths.ts";
import type { QueryObserver } from "../query_record.ts";
import { type AuditDeps, AuditWriter } from "./audit_writer.ts";
import { ThreadTable } from "./thread_table.ts";

/** Disposing it appends what waits, then closes the catalog. */
export interface Audit extends QueryObserver, AsyncDisposable {
  /** Bytes of rows that are on their way. */
  readonly bytes: number;
}

/** Opens nothing yet: the first batch starts the thread and opens the catalog for writing. */
export function openAudit(
  settings: QuerySettings,
  { bytesMax, ...deps }: {
    readonly clock: Clock;
    readonly metrics: AuditDeps["metrics"];
    /** Bytes of rows that may be on their way, all that is made of them included. */
    readonly bytesMax: number;
  },
): Audit {
  if (settings.auditDisabled) {
    return { bytes: 0, completed() {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  const { warehouse, catalog } = queryPaths(settings);
  const appendDeadlineMs = settings.auditAppendDeadlineSecs * 1000;
  const table = new ThreadTable({
    places: { warehouse, catalog, namespace: settings.tenantNamespace },
    logLevel: settings.logLevel as LogThreshold,
    appendDeadlineMs,
    clock: deps.clock,
  });
  const writer = new AuditWriter({
    ...deps,
    append: (rows, signal) => table.append(rows, signal),
    limits: { appendDeadlineMs, bytesMax },
  });
  const closing = new AsyncDisposableStack();
  closing.use(table);
  closing.use(writer);
  return {
    get bytes() {
      return writer.bytes;
    },
    completed: (record) => writer.completed(record),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}
