/**
 * Admission to the memory pool. A statement reserves a part of the pool before it runs, by its
 * price, and waits a little when there is none. What is reserved is a promise, not a measurement:
 * DuckDB's own limit is the hard bound behind it. `admission_ledger.ts` decides who comes next.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { TurnWaits } from "../../shared/engine/types.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { AdmissionLedger, type Ticket } from "./admission_ledger.ts";
import {
  ADMISSION_BYTES_MIN,
  ADMISSION_WAITERS_MAX,
  ADMISSION_WAITERS_PER_TENANT_MAX,
} from "../limits.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";

/** Bounds of admission. Bytes and milliseconds. */
export interface AdmissionOptions {
  /** Size of the memory pool. */
  readonly budgetBytes: number;
  /** No statement reserves more than the budget divided by this. */
  readonly shareDivisor: number;
  /** Whether there is no room for more, whatever is reserved; default: never. */
  readonly isFull?: () => boolean;
  /** How long a statement waits for its reservation, and for a scheduler slot to be planned in. */
  readonly waitMs: number;
  /** How long an expensive statement waits for its scheduler slot to run in. */
  readonly dearWaitMs: number;
  readonly clock: Clock;
  readonly metrics: QueryMetrics;
}

/** Who wants how many bytes of the memory pool, and for how long the request waits. */
export interface ReserveRequest {
  readonly tenant: string;
  readonly bytes: number;
  /** Aborts when the caller is gone: the wait ends with the signal's reason. */
  readonly signal: AbortSignal;
  /** What is left of the statement's wall clock; the wait ends with it. */
  readonly deadlineMs: number;
}

/** What is reserved and waits now, with the members of docs/api/query.md#memory-pool. */
export interface AdmissionState {
  readonly budget_bytes: number;
  readonly reserved_bytes: number;
  readonly waiting: number;
}

export const ADMISSION_FULL = "admission_full";
const RETRY_AFTER_SECS = 1;
/** A scan holds compressed bytes, their decoded form and what an operator makes of them. */
const BYTES_PER_ESTIMATED = 4;

/** Admission to one memory pool. All statements of a server share one. */
export class Admission {
  /** What one batch job, or the most expensive statement, reserves. */
  readonly shareBytes: number;
  readonly #options: AdmissionOptions;
  readonly #ledger: AdmissionLedger;
  readonly #waiting = new Map<Ticket, () => void>();

  constructor(options: AdmissionOptions) {
    const { budgetBytes, shareDivisor, metrics } = options;
    this.#options = options;
    this.shareBytes = Math.floor(budgetBytes / shareDivisor);
    this.#ledger = new AdmissionLedger({
      budgetBytes,
      waitersMax: ADMISSION_WAITERS_MAX,
      waitersPerTenantMax: ADMISSION_WAITERS_PER_TENANT_MAX,
    });
    metrics.admissionBudgetBytes.set(budgetBytes, {});
    metrics.admissionReservedBytes.readAtScrape(() => this.#ledger.reservedBytes, {});
    metrics.admissionWaiting.readAtScrape(() => this.#ledger.waiting, {});
  }

  /** How long a statement waits for its scheduler slots. */
  get turnWaits(): TurnWaits {
    return { light: this.#options.waitMs, dear: this.#options.dearWaitMs };
  }

  /**
   * What a statement of this price reserves: at least the minimum, and never more than the share.
   */
  bytesFor(estimatedBytes: number): number {
    const wanted = Math.max(BYTES_PER_ESTIMATED * estimatedBytes, ADMISSION_BYTES_MIN);
    return Math.min(wanted, this.shareBytes);
  }

  state(tenant?: string): AdmissionState {
    const ledger = this.#ledger;
    const { reservedBytes, waiting } = tenant === undefined ? ledger : ledger.of(tenant);
    return { budget_bytes: this.#options.budgetBytes, reserved_bytes: reservedBytes, waiting };
  }

  /**
   * Holds `bytes` until the result is disposed. Errors: `rate_limited` when there were none in time
   * or the line is full; `deadline_exceeded`; the signal's reason.
   */
  async reserve({ tenant, bytes, signal, deadlineMs }: ReserveRequest): Promise<Disposable> {
    signal.throwIfAborted();
    // One statement at a time goes on: so memory comes free again.
    if (this.#options.isFull?.() === true && this.#ledger.reservedBytes > 0) throw this.#full();
    const ticket: Ticket = { tenant, bytes };
    const { clock, metrics } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      const verdict = this.#ledger.ask(ticket);
      if (verdict === "full") throw this.#full();
      if (verdict === "waiting") await this.#turnOf(ticket, { signal, deadlineMs });
    } finally {
      metrics.admissionWaitSecs.observe((clock.monotonicMs() - startedMs) / 1000);
    }
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#wake(this.#ledger.give(ticket));
        held = false;
      },
    };
  }

  async #turnOf(
    ticket: Ticket,
    { signal, deadlineMs }: Pick<ReserveRequest, "signal" | "deadlineMs">,
  ): Promise<void> {
    const { clock, waitMs } = this.#options;
    const granted = Promise.withResolvers<void>();
    this.#waiting.set(ticket, granted.resolve);
    const over = new AbortController();
    const expired = clock.sleep(Math.max(0, Math.min(waitMs, deadlineMs)), {
      signal: AbortSignal.any([signal, over.signal]),
    });
    const refused = expired.then(() => {
      throw deadlineMs < waitMs ? deadlineExceeded() : this.#full();
    });
    try {
      await Promise.race([granted.promise, refused]);
    } catch (error) {
      // The request may have been granted in the instant in which it gave up. Then nobody else
      // would give its bytes back.
      const waits = this.#waiting.delete(ticket);
      this.#wake(waits ? this.#ledger.leave(ticket) : this.#ledger.give(ticket));
      throw error;
    } finally {
      over.abort();
    }
  }

  #wake(granted: readonly Ticket[]): void {
    for (const ticket of granted) {
      const resolve = this.#waiting.get(ticket);
      this.#waiting.delete(ticket);
      resolve?.();
    }
  }

  #full(): OperatingError {
    this.#options.metrics.admissionRejected.at({ resource: "memory" }).add(1);
    const { reservedBytes, waiting } = this.#ledger;
    return new OperatingError(
      "rate_limited",
      `Cannot admit the query: other queries reserve ${reservedBytes} of ` +
        `${this.#options.budgetBytes} bytes of memory and ${waiting} wait; ` +
        "retry later, or narrow the time range or the columns",
      { reason: ADMISSION_FULL, retryAfterSecs: RETRY_AFTER_SECS },
    );
  }
}

function deadlineExceeded(): OperatingError {
  return new OperatingError("deadline_exceeded", "The wall clock ran out while in line", {
    reason: "timeout",
  });
}
