/**
 * The audit's table on a thread of its own. Laying out, sorting, compressing and committing rows
 * takes the processor for up to 0.1 s the first time. Meanwhile the server's thread would answer
 * nobody. Where there can be no thread (`TaskThread`) the server's thread does it. The thread
 * starts with the first batch: a server that starts has other things to load first, and one that
 * nobody asks needs none.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { RowObject } from "../../shared/columns/rows.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { LogThreshold } from "../../shared/logging/logging.ts";
import { TaskThread, ThreadUnavailable } from "../../shared/os/task_thread.ts";
import type { AuditReply, AuditTask } from "./audit_worker.ts";
import { type AuditPlaces, WarehouseTable } from "./warehouse_table.ts";

/** How long stopping waits for an append that was abandoned, and for the catalog to be closed. */
const CLOSE_MS_MAX = 5_000;

/** Where the table is, and how long one append may take in milliseconds. */
export interface ThreadTableOptions {
  readonly places: AuditPlaces;
  readonly logLevel: LogThreshold;
  /** How long one append may take; 0: there is no deadline. */
  readonly appendDeadlineMs: number;
  readonly clock: Clock;
}

/** The audit's table, written by its own thread. Disposing it closes the catalog. */
export class ThreadTable implements AsyncDisposable {
  readonly #options: ThreadTableOptions;
  readonly #thread = new TaskThread<AuditTask, AuditReply>(
    new URL("./audit_worker.ts", import.meta.url),
    { what: "writes query_audit", category: ["svc", "query"] },
  );
  /** The table that this thread writes when there is no other thread. */
  readonly #inline: WarehouseTable;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ThreadTableOptions) {
    this.#options = options;
    this.#inline = new WarehouseTable(options.places, options.clock);
  }

  /**
   * Adds the rows, one batch at a time. Errors: an `OperatingError` whose message tells no
   * statement; the signal's reason.
   */
  append(rows: readonly RowObject[], signal: AbortSignal): Promise<void> {
    const appended = this.#last.then(() => this.#append(rows, signal));
    this.#last = appended.catch(() => {});
    return appended;
  }

  async #append(rows: readonly RowObject[], signal: AbortSignal): Promise<void> {
    // This append may have waited behind one that was abandoned, and past its own deadline.
    signal.throwIfAborted();
    try {
      const { failure } = await this.#run("append", rows);
      if (failure !== undefined) throw new OperatingError("unavailable", failure);
    } catch (error) {
      if (!(error instanceof ThreadUnavailable)) throw error;
      await this.#inline.append(rows, signal);
    }
  }

  #run(kind: AuditTask["kind"], rows: readonly RowObject[] = []): Promise<AuditReply> {
    const { places, logLevel, appendDeadlineMs: deadlineMs } = this.#options;
    return this.#thread.run({ kind, places, logLevel, deadlineMs, rows });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#thread.isRunning) {
      const waited = new AbortController();
      const late = this.#options.clock.sleep(CLOSE_MS_MAX, { signal: waited.signal });
      await Promise.race([this.#run("close"), late].map((ending) => ending.catch(() => {})));
      waited.abort();
    }
    this.#thread[Symbol.dispose]();
    await this.#inline[Symbol.asyncDispose]();
  }
}
