/**
 * Collects the records of ended statements and hands them to the table in batches, off the
 * request's path.
 *
 * - `completed` never waits: it charges the record to two ceilings, rows and bytes, and queues it,
 *   or drops it whole and counts why. A charge is given back when the append that took the record
 *   has ended, or was abandoned at its deadline. So each ceiling covers what is queued, being built
 *   and being written, together.
 * - The queue is both submit channel and flush buffer. A batch goes when its oldest record has
 *   waited long enough, or when `flushRows` wait. Appends follow one another, and the queue has its
 *   own capacity for what comes meanwhile.
 * - "Long enough" is `flushMs` after a quiet time. After each small batch the wait is twice as
 *   long, up to `flushMsMax`: each batch leaves a file, and a trickle must not leave one every few
 *   seconds. `smallRows` that wait end the longer time. A quarter of the bytes ends either, so that
 *   a longer wait causes no drops.
 * - A batch is appended once. After an error or past the deadline it is abandoned: it may have been
 *   committed, and trying again could double its rows.
 * - No log line has a statement or a text that could repeat one.
 */

import { Buffer } from "node:buffer";
import { getLogger } from "@logtape/logtape";
import { counted } from "../../shared/base/counted.ts";
import type { RowObject } from "../../shared/columns/rows.ts";
import type { Metrics } from "../../shared/metrics/metrics.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { QueryObserver, QueryRecord } from "../query_record.ts";
import { auditRow } from "./audit_row.ts";
import { failureText } from "./failure_text.ts";
import type { AUDIT_METRICS, DropReason, FailureReason } from "./metrics.ts";

const MIB = 1024 * 1024;

/** Ceilings in rows and bytes, and times in milliseconds. */
export interface AuditLimits {
  /** Rows and bytes that may be queued, built and written together. */
  readonly rowsMax: number;
  readonly bytesMax: number;
  /** Rows that wait while a batch is appended. */
  readonly queueRowsMax: number;
  readonly flushRows: number;
  readonly flushMs: number;
  /** A batch of fewer rows is small. */
  readonly smallRows: number;
  readonly flushMsMax: number;
  /** How long one append may take; 0: there is no deadline. */
  readonly appendDeadlineMs: number;
  /** How long stopping waits for the last batch. */
  readonly stopMs: number;
}

const AUDIT_LIMITS: AuditLimits = {
  rowsMax: 10_000,
  bytesMax: 64 * MIB,
  queueRowsMax: 4_096,
  flushRows: 1_024,
  flushMs: 5_000,
  smallRows: 256,
  flushMsMax: 60_000,
  appendDeadlineMs: 30_000,
  stopMs: 5_000,
};

/** Bytes of the row's objects and fixed columns. */
const ROW_BYTES = 512;
/**
 * A text is held several times: the text itself, a column that grows by doubling, its exact copy,
 * the Arrow stream, the writer's copy and the file.
 */
const BYTES_PER_TEXT_BYTE = 8;

/** What the writer hands its batches to, and what it tells. */
export interface AuditDeps {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics<typeof AUDIT_METRICS>, "auditDropped" | "auditFailures">;
  /** Adds the rows to the table, all or none. `signal`: the batch was abandoned. */
  append(rows: readonly RowObject[], signal: AbortSignal): Promise<void>;
  readonly build?: (record: QueryRecord) => RowObject;
  readonly limits?: Partial<AuditLimits>;
}

/** What a charged record holds until its append has ended. */
interface Charged {
  readonly record: QueryRecord;
  readonly bytes: number;
}

/** The observer that queues records. Disposing it appends what waits. */
export class AuditWriter implements QueryObserver, AsyncDisposable {
  readonly #deps: AuditDeps;
  readonly #limits: AuditLimits;
  readonly #stop = new AbortController();
  #queue: Charged[] = [];
  #rows = 0;
  #bytes = 0;
  /** Set while `#wait` waits: what ends the wait early. */
  #awaited: { readonly rows: number; resolve(): void } | undefined;
  #intervalMs = 0;
  #flushedMs = -Infinity;
  #flushedRows = 0;
  #working: Promise<void> | undefined;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
    this.#limits = { ...AUDIT_LIMITS, ...deps.limits };
  }

  /** Bytes of rows that are on their way, with all that is made of them. */
  get bytes(): number {
    return this.#bytes;
  }

  completed(record: QueryRecord): void {
    const bytes = chargeOf(record);
    const refusal = this.#refusal(bytes);
    if (refusal !== undefined) {
      this.#drop(1, refusal);
      return;
    }
    this.#rows += 1;
    this.#bytes += bytes;
    this.#queue.push({ record, bytes });
    if (this.#awaited !== undefined && this.#isEnough(this.#awaited.rows)) {
      this.#awaited.resolve();
    }
    this.#working ??= this.#work();
  }

  /** Takes no more rows, and appends those that wait unless that takes longer than `stopMs`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    const waited = new AbortController();
    const late = this.#deps.clock.sleep(this.#limits.stopMs, { signal: waited.signal });
    await Promise.race([this.#working, late.catch(() => {})]);
    waited.abort();
    this.#drop(this.#queue.length, "worker_shutdown");
    this.#queue = [];
  }

  #refusal(bytes: number): DropReason | undefined {
    const { rowsMax, bytesMax, queueRowsMax } = this.#limits;
    if (this.#stop.signal.aborted) return "worker_shutdown";
    if (bytes > bytesMax) return "oversized";
    if (this.#rows >= rowsMax) return "row_limit";
    if (this.#bytes + bytes > bytesMax) return "byte_limit";
    return this.#queue.length >= queueRowsMax ? "channel_full" : undefined;
  }

  #isEnough(rows: number): boolean {
    return this.#queue.length >= rows || this.#bytes >= this.#limits.bytesMax / 4;
  }

  /** Appends batches while something waits. */
  async #work(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#due();
      const batch = this.#queue;
      this.#queue = [];
      this.#flushedRows = batch.length;
      await this.#flush(batch);
      this.#flushedMs = this.#deps.clock.monotonicMs();
    }
    this.#working = undefined;
  }

  async #due(): Promise<void> {
    const { flushRows, flushMs, smallRows, flushMsMax } = this.#limits;
    const quietMs = this.#deps.clock.monotonicMs() - this.#flushedMs;
    const isTrickle = quietMs < flushMsMax && this.#flushedRows < smallRows;
    this.#intervalMs = isTrickle ? Math.min(2 * this.#intervalMs, flushMsMax) : flushMs;
    await this.#wait(flushMs, flushRows);
    await this.#wait(this.#intervalMs - flushMs, smallRows);
  }

  /** Returns after `ms`, once `rows` or many bytes are queued, or when the writer stops. */
  async #wait(ms: number, rows: number): Promise<void> {
    if (ms <= 0 || this.#isEnough(rows) || this.#stop.signal.aborted) return;
    const enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, this.#stop.signal]);
    const slept = this.#deps.clock.sleep(ms, { signal }).catch(() => {});
    const reached = Promise.withResolvers<void>();
    this.#awaited = { rows, resolve: reached.resolve };
    await Promise.race([slept, reached.promise]);
    this.#awaited = undefined;
    enough.abort();
  }

  /** Never rejects. Returns when the batch is appended or abandoned. */
  async #flush(batch: readonly Charged[]): Promise<void> {
    const { build = auditRow } = this.#deps;
    let rows: readonly RowObject[];
    try {
      rows = batch.map(({ record }) => build(record));
    } catch (error) {
      this.#fail("build", batch.length, error);
      this.#release(batch);
      return;
    }
    const abandoned = new AbortController();
    const ended = new AbortController();
    const append = this.#deps.append(rows, abandoned.signal)
      .then(() => "appended" as const, (error: unknown) => ({ error }))
      .finally(() => this.#release(batch));
    const outcome = await Promise.race([append, this.#deadline(ended.signal)]);
    ended.abort();
    if (outcome === "appended") return;
    if (outcome === "late") {
      abandoned.abort();
      this.#drop(batch.length, "append_deadline");
      this.#fail("append_deadline", batch.length, undefined);
    } else {
      this.#drop(batch.length, "append");
      this.#fail("append", batch.length, outcome.error);
    }
  }

  #deadline(ended: AbortSignal): Promise<"late"> {
    const { appendDeadlineMs } = this.#limits;
    if (appendDeadlineMs === 0) return new Promise(() => {});
    const slept = this.#deps.clock.sleep(appendDeadlineMs, { signal: ended });
    return slept.then(() => "late" as const, () => new Promise<never>(() => {}));
  }

  #release(batch: readonly Charged[]): void {
    this.#rows -= batch.length;
    for (const { bytes } of batch) this.#bytes -= bytes;
  }

  #drop(rows: number, reason: DropReason): void {
    if (rows > 0) this.#deps.metrics.auditDropped.add(rows, { reason });
  }

  #fail(reason: FailureReason, rows: number, error: unknown): void {
    this.#deps.metrics.auditFailures.add(1, { reason });
    getLogger(["svc", "query"]).error(
      "abandoned {rows} of query_audit ({reason}): {error}; statements are answered as before",
      {
        rows: counted(rows, "row"),
        reason,
        error: error === undefined ? "it took too long" : failureText(error),
      },
    );
  }
}

function chargeOf({ query, error, caller, application }: QueryRecord): number {
  let text = Buffer.byteLength(query);
  for (const other of [error, caller.subject, caller.email, application]) {
    if (other !== undefined) text += Buffer.byteLength(other);
  }
  return ROW_BYTES + BYTES_PER_TEXT_BYTE * text;
}
