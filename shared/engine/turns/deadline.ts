/**
 * The wall clock of one request. Past its time, when a guard trips, or when the caller goes away,
 * the running statement is interrupted and every later step refuses. An interrupted stream can end
 * without an error, so its reader calls `check` after each chunk.
 */

import { OperatingError } from "../../base/errors.ts";
import type { EngineConnection } from "../duckdb/driver.ts";

/** What a statement waits for beside DuckDB. */
export interface Blamed {
  /** For how long nothing has come of it, in milliseconds; 0 while nothing is waited for. */
  silentMs(): number;
  /** What to tell when time is over; undefined: it is not to blame. */
  error(): OperatingError | undefined;
}

/** One request's clock. Disposing it ends its timer. */
export class Deadline implements Disposable {
  readonly #trip = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #ms: number;
  readonly #startMs = performance.now();
  readonly #caller: AbortSignal | undefined;
  readonly #onCallerAbort = () => this.#trip.abort(cancelled());
  #trippedMs: number | undefined;
  #pulse: ReturnType<typeof setInterval> | undefined;
  #guard: ReturnType<typeof setInterval> | undefined;
  #connection: EngineConnection | undefined;
  #blamed: Blamed | undefined;

  constructor(ms: number, caller?: AbortSignal) {
    this.#ms = ms;
    this.#caller = caller;
    this.#timer = setTimeout(
      () => this.#trip.abort(this.#blamed?.error() ?? exceeded(ms)),
      Math.max(0, ms),
    );
    if (caller?.aborted) this.#trip.abort(cancelled());
    else caller?.addEventListener("abort", this.#onCallerAbort, { once: true });
    const onTrip = () => {
      this.#trippedMs = performance.now();
      this.#interrupt();
    };
    if (this.#trip.signal.aborted) this.#trippedMs = performance.now();
    else this.#trip.signal.addEventListener("abort", onTrip, { once: true });
  }

  /** Milliseconds since the deadline passed, a guard tripped or the caller went away; 0 before. */
  get overdueMs(): number {
    return this.#trippedMs === undefined ? 0 : performance.now() - this.#trippedMs;
  }

  /** Aborts with an `OperatingError` as its reason. */
  get signal(): AbortSignal {
    return this.#trip.signal;
  }

  get ms(): number {
    return this.#ms;
  }

  /** Milliseconds until it passes; 0 behind that. */
  get leftMs(): number {
    return Math.max(0, this.#startMs + this.#ms - performance.now());
  }

  /** From now on a trip interrupts `connection`. Undefined: it interrupts nothing. */
  watch(connection: EngineConnection | undefined): void {
    this.#connection = connection;
    if (connection !== undefined && this.#trip.signal.aborted) this.#interrupt();
  }

  /** When time is over, `blamed` is asked whether it is to blame. */
  blame(blamed: Blamed): void {
    this.#blamed = blamed;
  }

  /** For how long nothing has come of what else is waited for, in milliseconds. */
  get silentMs(): number {
    return this.#blamed?.silentMs() ?? 0;
  }

  /**
   * Asks `broken` every `GUARD_REPEAT_MS` from now on. An error that it returns ends the statement,
   * like the clock.
   */
  guard(broken: () => OperatingError | undefined): void {
    this.#guard ??= setInterval(() => {
      const error = broken();
      if (error !== undefined) this.#trip.abort(error);
    }, GUARD_REPEAT_MS);
  }

  /** Throws the reason when the deadline has passed, a guard tripped or the caller is gone. */
  check(): void {
    this.#trip.signal.throwIfAborted();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    clearInterval(this.#pulse);
    clearInterval(this.#guard);
    this.#connection = undefined;
    this.#caller?.removeEventListener("abort", this.#onCallerAbort);
  }

  /**
   * Interrupts again and again until disposed, because DuckDB forgets an interrupt between two
   * statements.
   */
  #interrupt(): void {
    this.#connection?.interrupt();
    this.#pulse ??= setInterval(() => this.#connection?.interrupt(), INTERRUPT_REPEAT_MS);
  }
}

const INTERRUPT_REPEAT_MS = 20;
const GUARD_REPEAT_MS = 50;

function exceeded(ms: number): OperatingError {
  return new OperatingError(
    "deadline_exceeded",
    `The statement did not finish within ${ms / 1000} s; narrow its time range or raise the limit`,
    { reason: "timeout" },
  );
}

function cancelled(): OperatingError {
  return new OperatingError("cancelled", "The caller went away", { reason: "cancelled" });
}
