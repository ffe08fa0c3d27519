/**
 * One statement on behalf of one request: what it holds, how long it may take, and whether its
 * caller is still there. Disposing it twice is fine. It gives everything back even when the engine
 * is still at work.
 *
 * The engine keeps the deadline while it works. The timer here is a second one, a little later. It
 * also ends an answer that no one reads, and a statement whose deadline the engine missed.
 */

import { getLogger } from "@logtape/logtape";
import { assert } from "../../shared/base/assert.ts";
import { isLeftOut } from "../../shared/base/damaged_file.ts";
import {
  isOperatingError,
  messageOf,
  OperatingError,
  placedMessageOf,
} from "../../shared/base/errors.ts";
import { ENGINE_REPLACED } from "../../shared/engine/duckdb/fault_error.ts";
import { DAMAGED_ATTEMPTS_MAX } from "../../shared/engine/limits.ts";
import type {
  Engine,
  Parameters,
  PreparedQuery,
  QueryRequest,
  ResultColumn,
  RunningQuery,
} from "../../shared/engine/types.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { type Admission, ADMISSION_FULL } from "../admission/admission.ts";
import type { Distribution } from "../distributed/distribute.ts";
import type { Wish } from "../distributed/distribution_options.ts";
import type { EffectiveLimits } from "../limits.ts";
import type { Endpoint, Outcome, QueryMetrics } from "../metrics/metrics.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { QueryObserver } from "../query_record.ts";
import { breakerOf, outcomeOf, refuseTooDear, serverStops } from "./call_failures.ts";
import type { LongStatements } from "./long_reads.ts";
import type { SqlRequest } from "./sql_request.ts";

/** A statement as a call is asked for it: a request's body, or a PostgreSQL client's statement. */
export interface CallRequest extends Omit<SqlRequest, "parameters" | "format"> {
  readonly parameters?: Parameters | null | undefined;
  readonly format: SqlRequest["format"] | "pg";
}

/** How far a statement is planned. */
interface PlanOptions {
  readonly isPlanOnly: boolean;
  readonly isBatch: boolean;
}

/** What running a statement needs. */
export interface CallService {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly metrics: QueryMetrics;
  readonly clock: Clock;
  /** Told of every statement that was read from a request. */
  readonly observer: QueryObserver;
  /** Absent in tests whose files nobody removes. */
  readonly longStatements?: Pick<LongStatements, "enter">;
  /** Shares statements with other servers; absent where there are none, and in tests. */
  readonly distribution?: Distribution;
}

/** Who made a call, and through which route. */
export interface CallMade {
  readonly caller: QueryCaller;
  readonly endpoint: Endpoint;
  /**
   * The call is a batch job's: its memory is reserved already, and the job has metrics of its own.
   */
  readonly isJob?: boolean;
  /** One of several statements of a request, which is counted once. */
  readonly isPart?: boolean;
  /** What the engine is asked besides. */
  readonly besides?: Partial<QueryRequest>;
  /** The client program, as it named itself. */
  readonly application?: string;
}

/** How a call ended, beyond its outcome. */
export interface CallEnd {
  readonly rowsReturned?: number | undefined;
  /** Rows were cut although the call ended well, which a job does. */
  readonly truncated?: boolean;
  readonly failure?: unknown;
}

/**
 * The status of an end that no error tells: docs/api/query.md#statuses, and 499 for a client that
 * left.
 */
const STATUS_OF_OUTCOME: Readonly<Record<Outcome, number>> = {
  ok: 200,
  truncated: 413,
  refused: 400,
  cancelled: 499,
  failed: 500,
  timeout: 504,
};

/** By route, whether a statement is shared with other servers. */
const WISHES: { readonly [E in Endpoint]?: Wish } = {
  sql: "auto",
  sql_distributed: "always",
  sql_explain: "told",
};

const DEADLINE_GRACE_MS = 500;
/** Why a call's signal aborts in the end. One for all: an error costs what its stack does. */
const OVER = new OperatingError("cancelled", "The query is over");
/** A job's statement must be planned within this time to be accepted. */
const CHECK_MS_MAX = 30_000;
/**
 * One statement of one request, from its text to its end. Errors: those of the engine and of
 * admission.
 */
export class SqlCall implements AsyncDisposable {
  readonly #service: CallService;
  readonly #caller: QueryCaller;
  readonly #endpoint: Endpoint;
  readonly #isJob: boolean;
  readonly #isPart: boolean;
  readonly #besides: CallMade["besides"];
  readonly #application: string | undefined;
  readonly #startedMs: number;
  readonly #arrivedMs: number;
  readonly #stop = new AbortController();
  readonly #held = new AsyncDisposableStack();
  #asked: CallRequest | undefined;
  #limits: EffectiveLimits | undefined;
  #prepared: PreparedQuery | undefined;
  #reservation: Disposable | undefined;
  /** Deadline on the monotonic clock. The engine's own is the same. */
  #deadlineMs = Infinity;
  #late = false;
  #isSecond = false;
  #filesLeftOut = 0;
  #ended = false;
  /** Whether it ended well, all of its rows taken: nothing runs for it. */
  #isDone = false;

  constructor(
    service: CallService,
    { caller, endpoint, isJob = false, isPart = false, besides, application }: CallMade,
  ) {
    this.#service = service;
    this.#caller = caller;
    this.#endpoint = endpoint;
    this.#isJob = isJob;
    this.#isPart = isPart;
    this.#besides = besides;
    this.#application = application;
    this.#arrivedMs = service.clock.nowMs();
    this.#startedMs = service.clock.monotonicMs();
    service.metrics.inFlight.at({}).add(1);
  }

  get prepared(): PreparedQuery {
    assert(this.#prepared !== undefined, "the call is prepared");
    return this.#prepared;
  }

  get limits(): EffectiveLimits {
    assert(this.#limits !== undefined, "the call is prepared");
    return this.#limits;
  }

  get tenant(): string {
    return this.#caller.tenant;
  }

  /** Stops the engine when `request`'s sender goes away. Disposing the result undoes that. */
  stopWith(request: Request): Disposable {
    const onAbort = () => this.cancel();
    request.signal.addEventListener("abort", onAbort, { once: true });
    return {
      [Symbol.dispose]: () => request.signal.removeEventListener("abort", onAbort),
    };
  }

  /** Stops what runs for the caller, who is gone. */
  cancel(): void {
    this.stop(new OperatingError("cancelled", "The client closed the connection"));
  }

  /** Stops what runs; it ends as `reason` says. */
  stop(reason: OperatingError): void {
    this.#stop.abort(reason);
  }

  /**
   * Stops what runs for a caller that took nothing of its answer for so long. Returns the error
   * that the caller is told should it come back.
   */
  stall(afterMs: number): OperatingError {
    const failure = new OperatingError(
      "cancelled",
      `Cannot finish the answer: nothing of it was taken for ${afterMs / 1000} s; ` +
        "read it without such pauses, or raise --stream-stall-secs",
      { reason: "stalled_reader" },
    );
    this.#service.metrics.breakerTrips.at({ breaker: "stalled_reader" }).add(1);
    this.#stop.abort(failure);
    this.end("cancelled", { failure });
    return failure;
  }

  async prepare(asked: CallRequest, limits: EffectiveLimits): Promise<void> {
    this.#asked = asked;
    this.#limits = limits;
    this.#deadlineMs = this.#service.clock.monotonicMs() + limits.timeoutMs;
    this.#watchDeadline(limits.timeoutMs);
    // This is deferred before the statement is held. So it is disposed after the statement, when
    // the engine has stopped using memory.
    this.#held.defer(() => this.#reservation?.[Symbol.dispose]());
    const { longStatements } = this.#service;
    if (longStatements !== undefined) {
      await this.#hold(await longStatements.enter(limits.timeoutMs));
    }
    await this.#prepare(asked, limits);
  }

  /**
   * Prepares the statement anew where `thrown` allows it and no row was sent yet. Either DuckDB's
   * process was replaced under it after `rowsSeen` rows, which is good once. Or a damaged file is
   * left out from now on. False: the call ends with what was thrown.
   */
  async isBegunAnew(thrown: unknown, rowsSeen: number): Promise<boolean> {
    // Before the first row the engine itself begins anew.
    const isReplaced = isOperatingError(thrown, "unavailable") &&
      thrown.reason === ENGINE_REPLACED && rowsSeen > 0 && !this.#isSecond;
    const isWithoutFile = isLeftOut(thrown) && this.#filesLeftOut < DAMAGED_ATTEMPTS_MAX;
    if (!isReplaced && !isWithoutFile || this.#stop.signal.aborted) return false;
    assert(this.#asked !== undefined, "the call is prepared");
    if (isReplaced) this.#isSecond = true;
    else this.#filesLeftOut += 1;
    await this.prepared[Symbol.asyncDispose]();
    const timeoutMs = this.#deadlineMs - this.#service.clock.monotonicMs();
    await this.#prepare(this.#asked, { ...this.limits, timeoutMs });
    return true;
  }

  async #prepare(asked: CallRequest, limits: EffectiveLimits): Promise<void> {
    const isPlanOnly = asked.dry_run || this.#endpoint === "sql_explain";
    const preparing = this.#planned(asked, limits, { isPlanOnly, isBatch: this.#isJob });
    this.#prepared = await this.#hold(await this.#inLine("connections", preparing));
  }

  /**
   * Plans a statement that a job is to run. The caller is told what is wrong with it before the job
   * is accepted.
   */
  async check(asked: CallRequest, limits: EffectiveLimits): Promise<void> {
    await this.#planOnly(asked, limits, (prepared) => refuseTooDear(prepared.cost, limits));
  }

  /** What a statement would answer. It does not run, and only a refusal of it is recorded. */
  async describe(asked: CallRequest, limits: EffectiveLimits): Promise<readonly ResultColumn[]> {
    return await this.#planOnly(asked, limits, ({ columns }) => columns);
  }

  /** DuckDB's types of a statement's parameters by name, null where nothing tells them. */
  async parameterTypes(
    asked: CallRequest,
    limits: EffectiveLimits,
  ): Promise<ReadonlyMap<string, string | null>> {
    const { engine } = this.#service;
    const options = { isPlanOnly: true, isBatch: false };
    const asking = engine.parameterTypes?.(this.#requestOf(asked, limits, options));
    return asking === undefined ? new Map() : await this.#inLine("connections", asking);
  }

  async #planOnly<T>(
    asked: CallRequest,
    limits: EffectiveLimits,
    read: (prepared: PreparedQuery) => T,
  ): Promise<T> {
    const timeoutMs = Math.min(limits.timeoutMs, CHECK_MS_MAX);
    this.#limits = { ...limits, timeoutMs };
    try {
      const options = { isPlanOnly: true, isBatch: false };
      const planning = this.#planned(asked, { ...limits, timeoutMs }, options);
      await using prepared = await this.#inLine("connections", planning);
      this.throwIfStopped();
      return read(prepared);
    } catch (error) {
      // A statement that passes is recorded when it has run.
      this.#asked = asked;
      throw error;
    }
  }

  #planned(
    asked: CallRequest,
    limits: EffectiveLimits,
    options: PlanOptions,
  ): Promise<PreparedQuery> {
    return this.#begun(this.#requestOf(asked, limits, options));
  }

  #requestOf(
    asked: CallRequest,
    limits: EffectiveLimits,
    { isPlanOnly, isBatch }: PlanOptions,
  ): QueryRequest {
    const { admission } = this.#service;
    return {
      sql: asked.query,
      ...asked.parameters === undefined || asked.parameters === null
        ? {}
        : { parameters: asked.parameters },
      namespace: this.#caller.namespace,
      tenant: this.#caller.tenant,
      defaultOrder: asked.default_order && asked.priority === "interactive",
      // A stream is made of rows that are read: docs/api/query.md#served_by.
      fastPaths: asked.format !== "ndjson",
      isExact: asked.exact,
      planOnly: isPlanOnly,
      rowsMax: limits.rowsReturnedMax,
      rowsScannedMax: limits.rowsScannedMax,
      isBegunAnew: this.#isSecond,
      deadlineMs: limits.timeoutMs,
      ...(isBatch ? { batch: true } : { waitMs: admission.turnWaits }),
      signal: this.#stop.signal,
      ...(asked.snapshot === undefined || asked.snapshot === null
        ? {}
        : { snapshot: asked.snapshot }),
      ...this.#besides,
    };
  }

  /** Prepared here, or to be shared with other servers. */
  #begun(request: QueryRequest): Promise<PreparedQuery> {
    const { engine, distribution } = this.#service;
    if (distribution === undefined) return engine.prepare(request);
    const wish = WISHES[this.#endpoint] ?? "never";
    if (request.planOnly === true && wish !== "told") return engine.prepare(request);
    return distribution.prepare(request, wish, {
      caller: this.#caller,
      reserve: (bytes) => this.#reserveFor(bytes),
    });
  }

  /** Reserves memory and runs the statement. The reservation is held until the call is disposed. */
  async run(): Promise<RunningQuery> {
    refuseTooDear(this.prepared.cost, this.limits);
    // The slot comes first: a statement that waits for it reserves no memory that others could use.
    await this.#inLine("dear_statements", this.prepared.turn());
    if (this.prepared.reservesLater !== true) {
      await this.#reserveFor(this.prepared.cost.estimated_bytes_scanned);
    }
    if (this.prepared.defaultOrderApplied) {
      this.#service.metrics.defaultOrderApplied.at({}).add(1);
    }
    this.#service.metrics.served.at({ served_by: this.prepared.servedBy }).add(1);
    return await this.#hold(await this.prepared.run());
  }

  /**
   * To be called after every wait on the engine: a stopped engine may report an end that is none.
   */
  throwIfStopped(): void {
    if (this.#late || this.#stop.signal.aborted) throw this.#stop.signal.reason;
  }

  /**
   * What to tell of `thrown`: the first cause that stopped the call, and the cost where
   * docs/api/query.md#statuses has it.
   */
  failureOf(thrown: unknown): unknown {
    const cost = this.#prepared?.cost;
    const details = cost === undefined ? {} : { cost };
    if (this.#late || isOperatingError(thrown, "deadline_exceeded")) {
      const seconds = Math.ceil(this.#limits?.timeoutMs ?? 0) / 1000;
      const option = this.#asked?.format === "pg" ? "statement_timeout" : "limits.timeout_seconds";
      return new OperatingError(
        "deadline_exceeded",
        `Cannot finish the query within ${seconds} s of wall clock: narrow it, ` +
          `or raise ${option}`,
        { reason: "timeout", details, cause: thrown },
      );
    }
    if (this.#stop.signal.aborted) return this.#stop.signal.reason;
    if (this.#asked !== undefined && isOperatingError(thrown, "cancelled")) return serverStops();
    const tripped = breakerOf(thrown);
    if (tripped === undefined || !isOperatingError(thrown)) return thrown;
    const { breaker, code, told } = tripped;
    this.#service.metrics.breakerTrips.at({ breaker }).add(1);
    return new OperatingError(code, thrown.message, {
      ...told,
      details: { ...thrown.details, ...details },
      cause: thrown,
    });
  }

  /** Counts the request; only the first call does. */
  end(outcome: Outcome, end: CallEnd = {}): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#isDone = outcome === "ok" && end.truncated !== true;
    const { metrics, clock } = this.#service;
    const { rowsReturned } = end;
    this.#record(outcome, end);
    metrics.inFlight.at({}).add(-1);
    if (this.#isJob || this.#isPart) return;
    metrics.requests.at({ endpoint: this.#endpoint, outcome }).add(1);
    metrics.durationSecs.observe((clock.monotonicMs() - this.#startedMs) / 1000);
    if (rowsReturned !== undefined) metrics.rowsReturned.observe(rowsReturned);
  }

  /**
   * Counts the request as the failure that `failure` is, and logs what is not the caller's doing.
   */
  endWith(failure: unknown): void {
    const outcome = outcomeOf(failure);
    this.end(outcome, { failure });
    if (outcome !== "failed" || !isOperatingError(failure)) return; // A bug is logged where it is answered.
    // Never the statement: its literals may be secrets.
    getLogger(["svc", "query"]).error("query failed: {error}", {
      error: placedMessageOf(failure),
      cause: messageOf(failure.cause ?? "none"),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.end("cancelled");
    try {
      // Ends whatever the engine still does for this call. Where it does nothing, that would only
      // take time.
      if (!this.#isDone) this.#stop.abort(OVER);
      await this.#held.disposeAsync();
    } finally {
      // Ends the deadline's timer.
      this.#stop.abort(OVER);
    }
  }

  #record(outcome: Outcome, { rowsReturned, truncated = false, failure }: CallEnd): void {
    if (this.#asked === undefined) return; // What could not be read as a request names no statement.
    const { observer, clock } = this.#service;
    const { query, format, priority } = this.#asked;
    const cost = this.#prepared?.cost;
    observer.completed({
      startedMs: this.#arrivedMs,
      durationMs: clock.monotonicMs() - this.#startedMs,
      caller: this.#caller,
      endpoint: this.#endpoint,
      query,
      format,
      priority,
      status: failure === undefined
        ? STATUS_OF_OUTCOME[outcome]
        : asOperatingError(failure).httpStatus,
      ...(cost === undefined ? {} : { cost }),
      ...(rowsReturned === undefined ? {} : { rowsReturned }),
      truncated: truncated || outcome === "truncated",
      ...(failure === undefined ? {} : { error: asOperatingError(failure).message }),
      ...(this.#application === undefined ? {} : { application: this.#application }),
    });
  }

  /** Waits for `turn`, and counts a refusal as a lack of `resource`. */
  async #inLine<T>(resource: "connections" | "dear_statements", turn: Promise<T>): Promise<T> {
    try {
      return await turn;
    } catch (error) {
      if (isAdmissionFull(error)) {
        this.#service.metrics.admissionRejected.at({ resource }).add(1);
      }
      throw error;
    }
  }

  async #reserveFor(estimatedBytes: number): Promise<void> {
    // A job has its share already.
    if (this.#isJob || this.#reservation !== undefined) return;
    const { admission, clock } = this.#service;
    const reservation = await admission.reserve({
      tenant: this.#caller.tenant,
      bytes: admission.bytesFor(estimatedBytes),
      signal: this.#stop.signal,
      deadlineMs: this.#deadlineMs - clock.monotonicMs(),
    });
    if (this.#held.disposed) reservation[Symbol.dispose]();
    else this.#reservation = reservation;
    this.throwIfStopped();
  }

  /**
   * Keeps what the engine handed out, or gives it back at once when the call was stopped meanwhile.
   */
  async #hold<T extends AsyncDisposable>(resource: T): Promise<T> {
    if (this.#held.disposed) await resource[Symbol.asyncDispose]();
    else this.#held.use(resource);
    this.throwIfStopped();
    return resource;
  }

  #watchDeadline(timeoutMs: number): void {
    const { clock } = this.#service;
    const expired = clock.sleep(timeoutMs + DEADLINE_GRACE_MS, { signal: this.#stop.signal });
    expired.then(
      () => {
        this.#late = true;
        const failure = new OperatingError("deadline_exceeded", "The wall clock ran out");
        this.#stop.abort(failure);
        // Nobody else ends the call when its reader takes nothing more.
        this.end("timeout", { failure });
        return this.#held.disposeAsync();
      },
      () => {}, // The call ended in time.
    ).catch((error) => getLogger(["svc", "query"]).error("late query kept: {error}", { error }));
  }
}

function isAdmissionFull(thrown: unknown): boolean {
  return isOperatingError(thrown, "rate_limited") && thrown.reason === ADMISSION_FULL;
}
