/**
 * One trace request: what it reserves, how long it may take and how much it may hold. It runs its
 * statements one after the other. It is to trace lookup what `sql/sql_call.ts` is to one statement.
 *
 * A result past a ceiling is refused whole: nothing of it was sent yet.
 */

import { getLogger } from "@logtape/logtape";
import { present } from "../../shared/base/assert.ts";
import { isOperatingError, messageOf, OperatingError } from "../../shared/base/errors.ts";
import { textOf } from "../../shared/base/bytes.ts";
import type { Cost, PreparedQuery } from "../../shared/engine/types.ts";
import { TRACES_TABLE } from "../../shared/schema/traces.ts";
import { type EffectiveLimits, effectiveLimits, interactiveTier } from "../limits.ts";
import type { QueryCaller } from "../query_caller.ts";
import { breakerOf, outcomeOf, serverStops } from "../sql/call_failures.ts";
import { addCosts } from "../sql/summed_cost.ts";
import type { SqlService } from "../sql/sql_service.ts";
import type { TraceBreaker, TraceEndpoint } from "./metrics.ts";
import { type TraceCeilings, traceCeilings } from "./trace_ceilings.ts";

/** Who asks what; the statements, the metrics and the audit need it. */
export interface TraceCallMade {
  readonly caller: QueryCaller;
  readonly endpoint: TraceEndpoint;
  /** The index that the path names. */
  readonly index: string;
  /** Method and address, for the audit. */
  readonly asked: string;
}

/** Which rows a statement reads, and how many it may give. */
export interface StatementOptions {
  /** Rows that the statement may give. */
  readonly rowsMax: number;
  /** The ceiling that more rows than that cross. */
  readonly breaker: TraceBreaker;
  /** Which rows: committed ones, those that are only in the WAL, or all. Default: all. */
  readonly source?: "committed" | "wal";
  /**
   * With `committed`: an earlier snapshot whose rows need not be read again. `StatementRows.since`
   * says whether they were left out.
   */
  readonly since?: string | undefined;
}

/** How a trace request ended. */
export interface TraceCallEnd {
  /** Spans in the answer. */
  readonly spans?: number | undefined;
  readonly failure?: OperatingError;
}

/** Rows of a statement, as their JSON was parsed. */
export interface StatementRows {
  readonly rows: readonly (readonly unknown[])[];
  /** The table's snapshot when the statement was planned; null before the first commit. */
  readonly snapshotId: string | null;
  /** The earlier snapshot whose rows are left out; undefined: no rows are. */
  readonly since: string | undefined;
  /** Rows that the statement was planned to read. */
  readonly rowsPlanned: number;
  /** The table's data files, whether the statement reads them or not. */
  readonly filesInAll: number;
}

const NO_COST: Cost = {
  files_to_scan: 0,
  files_considered: 0,
  estimated_bytes_scanned: 0,
  estimated_rows_processed: 0,
  estimated_runtime_seconds: 0,
  complexity_class: "small",
  exact: true,
  warnings: [],
};

/**
 * One trace request, from its admission to its end. Errors: those of the engine, admission and the
 * ceilings.
 */
export class TraceCall implements AsyncDisposable {
  readonly ceilings: TraceCeilings;
  readonly made: TraceCallMade;
  readonly #service: SqlService;
  readonly #limits: EffectiveLimits;
  readonly #startedMs: number;
  readonly #arrivedMs: number;
  readonly #stop = new AbortController();
  #reservation: Disposable | undefined;
  /** What all statements together were planned to read. */
  #cost = NO_COST;
  #bytes = 0;
  #ended = false;

  constructor(service: SqlService, made: TraceCallMade) {
    this.#service = service;
    this.made = made;
    this.#limits = effectiveLimits({}, interactiveTier(service.rowsCeiling));
    this.ceilings = traceCeilings(service.admission.shareBytes);
    this.#arrivedMs = service.clock.nowMs();
    this.#startedMs = service.clock.monotonicMs();
    service.metrics.inFlight.at({}).add(1);
  }

  /** Unix nanoseconds of the request's arrival. */
  get nowNs(): bigint {
    return BigInt(Math.floor(this.#arrivedMs)) * 1_000_000n;
  }

  /** Stops what runs when `request`'s sender goes away. Disposing the result undoes that. */
  stopWith({ signal }: Request): Disposable {
    const onAbort = () =>
      this.#stop.abort(new OperatingError("cancelled", "The client closed the connection"));
    signal.addEventListener("abort", onAbort, { once: true });
    return { [Symbol.dispose]: () => signal.removeEventListener("abort", onAbort) };
  }

  /**
   * Reserves the memory that the ceilings follow from. It comes before the first statement. Errors:
   * `rate_limited`.
   */
  async admit(): Promise<void> {
    const reservation = await this.#service.admission.reserve({
      tenant: this.made.caller.tenant,
      bytes: this.ceilings.reservationBytes,
      signal: this.#stop.signal,
      deadlineMs: this.#leftMs(),
    });
    this.#reservation = reservation;
    this.throwIfStopped();
  }

  /**
   * All rows of a statement. Errors: those of `Engine.prepare`; `not_found` for an index that is
   * not there; `invalid_argument` for one without the columns of a span; `too_large` past a
   * ceiling.
   */
  async rows(sql: string, options: StatementOptions): Promise<StatementRows> {
    return present(await this.rowsWithin(sql, Infinity, options));
  }

  /**
   * All rows of a statement, with the errors of `rows`. Undefined, and nothing is read, when it is
   * planned to read more rows than `rowsPlannedMax`.
   */
  async rowsWithin(
    sql: string,
    rowsPlannedMax: number,
    options: StatementOptions,
  ): Promise<StatementRows | undefined> {
    await using prepared = await this.#prepare(sql, options);
    this.throwIfStopped();
    const rowsPlanned = prepared.cost.estimated_rows_processed;
    if (rowsPlanned > rowsPlannedMax) return undefined;
    this.#count(prepared.cost);
    const { snapshot_id: snapshotId = null, since } = prepared.tables[0] ?? {};
    // No file has rows in the window. What is answered from counts is planned to read nothing, too.
    const isEmpty = rowsPlanned === 0 && prepared.servedBy === "scan";
    const rows = isEmpty ? [] : await this.#collect(prepared, options);
    return { rows, snapshotId, since, rowsPlanned, filesInAll: prepared.cost.files_considered };
  }

  /** Counts that `what` crossed a ceiling, and returns the error that says so. */
  beyond(breaker: TraceBreaker, what: string): OperatingError {
    this.#service.metrics.breakerTrips.at({ breaker }).add(1);
    return new OperatingError(
      "too_large",
      `Cannot answer with ${what}: narrow the time, ask for fewer traces, or give the query server ` +
        "a larger memory pool",
      { reason: breaker },
    );
  }

  throwIfStopped(): void {
    this.#stop.signal.throwIfAborted();
  }

  /** What to tell of `thrown`. */
  failureOf(thrown: unknown): unknown {
    if (this.#stop.signal.aborted) return this.#stop.signal.reason;
    if (isOperatingError(thrown, "cancelled")) return serverStops();
    if (isOperatingError(thrown, "deadline_exceeded")) {
      return new OperatingError(
        "deadline_exceeded",
        `Cannot finish the request within ${this.#limits.timeoutMs / 1000} s of wall clock: ` +
          "narrow the time or the conditions",
        { reason: "timeout", cause: thrown },
      );
    }
    const tripped = breakerOf(thrown);
    if (tripped !== undefined) {
      this.#service.metrics.breakerTrips.at({ breaker: tripped.breaker }).add(1);
    }
    return thrown;
  }

  /** Counts and records the request; only the first call does. */
  end(end: TraceCallEnd = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    const { metrics, clock } = this.#service;
    const outcome = end.failure === undefined ? "ok" : outcomeOf(end.failure);
    const durationMs = clock.monotonicMs() - this.#startedMs;
    metrics.inFlight.at({}).add(-1);
    metrics.requests.at({ endpoint: this.made.endpoint, outcome }).add(1);
    metrics.durationSecs.observe(durationMs / 1000);
    if (end.spans !== undefined) metrics.rowsReturned.observe(end.spans);
    const { failure } = end;
    if (failure !== undefined && outcome === "failed") logFailure(failure);
    this.#service.observer.completed({
      startedMs: this.#arrivedMs,
      durationMs,
      caller: this.made.caller,
      endpoint: this.made.endpoint,
      query: this.made.asked,
      priority: "interactive",
      status: failure?.httpStatus ?? 200,
      cost: this.#cost,
      ...(end.spans === undefined ? {} : { rowsReturned: end.spans }),
      truncated: false,
      ...(failure === undefined ? {} : { error: failure.message }),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.end({ failure: new OperatingError("cancelled", "The request is over") });
    this.#stop.abort(new OperatingError("cancelled", "The request is over"));
    this.#reservation?.[Symbol.dispose]();
    return Promise.resolve();
  }

  async #prepare(
    sql: string,
    { rowsMax, source, since }: StatementOptions,
  ): Promise<PreparedQuery> {
    const { caller, index } = this.made;
    try {
      const preparing = this.#service.engine.prepare({
        sql,
        namespace: caller.namespace,
        tenant: caller.tenant,
        defaultOrder: false,
        rowsMax,
        rowsScannedMax: this.#limits.rowsScannedMax,
        deadlineMs: this.#leftMs(),
        waitMs: this.#service.admission.turnWaits,
        signal: this.#stop.signal,
        ...(source === "committed" ? { snapshot: "latest" } : {}),
        ...(since === undefined ? {} : { since }),
        ...(source === "wal" ? { uncommittedOnly: true } : {}),
      });
      return await this.#inLine("connections", preparing);
    } catch (error) {
      throw indexFault(error, index);
    }
  }

  async #collect(
    prepared: PreparedQuery,
    { rowsMax, breaker }: StatementOptions,
  ): Promise<readonly (readonly unknown[])[]> {
    await this.#inLine("dear_statements", prepared.turn());
    await using running = await prepared.run();
    const rows: (readonly unknown[])[] = [];
    for await (const chunk of running.chunks("arrays")) {
      this.throwIfStopped();
      if (rows.length + chunk.rowCount > rowsMax) {
        const [name, word] = CEILING_OF_BREAKER[breaker];
        throw this.beyond(breaker, `more than ${this.ceilings[name]} ${word}`);
      }
      if (chunk.rowCount === 0) continue;
      const bytes = chunk.bytes();
      this.#bytes += bytes.byteLength;
      if (this.#bytes > this.ceilings.bytes) {
        throw this.beyond("jaeger_bytes", `more than ${this.ceilings.bytes} bytes of rows`);
      }
      // Each row ends with a comma.
      const parsed = JSON.parse(`[${textOf(bytes.subarray(0, -1))}]`) as (readonly unknown[])[];
      for (const row of parsed) rows.push(row);
    }
    this.throwIfStopped();
    return rows;
  }

  /** Waits for `turn`, and counts a refusal as a lack of `resource`. */
  async #inLine<T>(resource: "connections" | "dear_statements", turn: Promise<T>): Promise<T> {
    try {
      return await turn;
    } catch (error) {
      if (isOperatingError(error, "rate_limited")) {
        this.#service.metrics.admissionRejected.at({ resource }).add(1);
      }
      throw error;
    }
  }

  /**
   * Adds a statement's price, and refuses when all prices together are too high. Errors:
   * `invalid_argument`.
   */
  #count(cost: Cost): void {
    const sum = addCosts(this.#cost, cost);
    this.#cost = sum;
    const { rowsScannedMax, bytesScannedMax } = this.#limits;
    if (
      sum.estimated_rows_processed <= rowsScannedMax &&
      sum.estimated_bytes_scanned <= bytesScannedMax
    ) return;
    throw new OperatingError(
      "invalid_argument",
      `Cannot answer: it would scan about ${sum.estimated_rows_processed} rows and ` +
        `${sum.estimated_bytes_scanned} bytes, and ${rowsScannedMax} rows and ${bytesScannedMax} ` +
        "bytes are allowed; narrow the time",
      { reason: "max_rows_scanned" },
    );
  }

  #leftMs(): number {
    return this.#limits.timeoutMs - (this.#service.clock.monotonicMs() - this.#startedMs);
  }
}

function logFailure({ message, cause }: OperatingError): void {
  // Never the address: its values may be secrets.
  getLogger(["svc", "query"]).error("trace lookup failed: {error}", {
    error: message,
    cause: messageOf(cause ?? "none"),
  });
}

/** The name of each ceiling, and what it counts. */
const CEILING_OF_BREAKER: Readonly<Record<TraceBreaker, readonly [keyof TraceCeilings, string]>> = {
  jaeger_traces: ["traces", "traces"],
  jaeger_spans: ["spans", "spans"],
  jaeger_bytes: ["bytes", "bytes of rows"],
  jaeger_names: ["names", "names"],
};

/** An error that the engine has for the table, in words for the index in the path. */
function indexFault(error: unknown, index: string): unknown {
  if (!isOperatingError(error, "invalid_argument")) return error;
  if (error.reason === "unknown_table") {
    return new OperatingError("not_found", `Cannot find index ${JSON.stringify(index)}`, {
      reason: "unknown_index",
      cause: error,
    });
  }
  // The service's own table has every column, so there it is our statement that is wrong.
  if (error.reason !== "statement_failed" || index === TRACES_TABLE) return error;
  return new OperatingError(
    "invalid_argument",
    `Cannot look up traces in index ${JSON.stringify(index)}: it has not the columns of the ` +
      `index ${TRACES_TABLE}, which has spans`,
    { reason: "not_a_trace_index", cause: error },
  );
}
