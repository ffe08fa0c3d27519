/**
 * `/readyz` from a cached probe: the answer takes no disk access, so that it is quick even when the
 * disk hangs. A probe that does not come back makes the server not ready as well.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../shared/base/errors.ts";
import { untilAborted } from "../shared/base/until_aborted.ts";
import { jsonResponse } from "../shared/http/error_response.ts";
import type { Clock } from "../shared/os/clock.ts";

/** Why rows cannot be accepted now, by check; empty when they can. */
export type Checks = Readonly<Record<string, string>>;

export interface ReadinessOptions {
  readonly clock: Clock;
  readonly intervalMs?: number;
  /** A cached result older than this means that the probe hangs. */
  readonly ageMsMax?: number;
}

const INTERVAL_MS = 1_000;
const AGE_MS_MAX = 10_000;

export class Readiness {
  readonly #probe: () => Promise<string | undefined>;
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #ageMsMax: number;
  readonly #stopping = new AbortController();
  #reason: string | undefined;
  #probedAtMs: number;
  #running: Promise<void> = Promise.resolve();

  /** `probe` tells why the WAL cannot take rows, or undefined. */
  constructor(probe: () => Promise<string | undefined>, options: ReadinessOptions) {
    this.#probe = probe;
    this.#clock = options.clock;
    this.#intervalMs = options.intervalMs ?? INTERVAL_MS;
    this.#ageMsMax = options.ageMsMax ?? AGE_MS_MAX;
    this.#probedAtMs = this.#clock.monotonicMs();
  }

  /** Probes once, then at intervals until `stop`. */
  async start(): Promise<void> {
    await this.#refresh();
    this.#running = this.#loop();
  }

  /** From now on not ready: load balancers stop sending while requests in flight finish. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  checks(): Checks {
    if (this.#stopping.signal.aborted) return { server: "it is stopping" };
    const ageMs = this.#clock.monotonicMs() - this.#probedAtMs;
    if (ageMs > this.#ageMsMax) {
      return { wal: `the probe of the WAL has not come back for ${Math.round(ageMs)} ms` };
    }
    return this.#reason === undefined ? {} : { wal: this.#reason };
  }

  response(): Response {
    const checks = this.checks();
    return Object.keys(checks).length === 0
      ? jsonResponse({ status: "ready" })
      : jsonResponse({ status: "not_ready", checks }, { status: 503 });
  }

  async #loop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(this.#intervalMs, { signal });
        await untilAborted(this.#refresh(), signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
    }
  }

  async #refresh(): Promise<void> {
    const before = this.#reason;
    try {
      this.#reason = await this.#probe();
    } catch (error) {
      this.#reason = `the probe of the WAL failed: ${messageOf(error)}`;
    }
    this.#probedAtMs = this.#clock.monotonicMs();
    tellChange(before, this.#reason);
  }
}

/** Told when it begins and when it ends, whatever the reason becomes meanwhile. */
function tellChange(before: string | undefined, now: string | undefined): void {
  if ((before === undefined) === (now === undefined)) return;
  const log = getLogger(["svc", "ingest"]);
  if (now === undefined) log.info("ready again");
  else log.warning("not ready: {reason}", { reason: now });
}
