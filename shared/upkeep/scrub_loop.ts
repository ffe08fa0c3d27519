/**
 * Verifies all stored files again and again, so slowly that nobody notices: each at least once in
 * `periodMs`. One table after the other, the one first whose pass was begun, then the one whose
 * last pass is oldest. It stands back while rows wait for a drain, and one compactor at a time
 * does it.
 */

import { getLogger } from "@logtape/logtape";
import { MS_PER_DAY } from "../base/time.ts";
import type { ScrubPass } from "../catalog/scrubs.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { wordOfStall } from "../metrics/stall_gauge.ts";
import type { Clock } from "../os/clock.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { type LeaseDeps, underLease } from "./held_lease.ts";
import { allTables } from "./maintenance_loop.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { BACKLOG_BYTES_MAX } from "./merge_sweep.ts";
import { folderOfTable, type ScrubbedTable, type ScrubDeps, scrubTable } from "./scrub_table.ts";

export interface ScrubLoopDeps extends ScrubDeps, LeaseDeps {
  readonly isBacklogOver: (bytes: number) => Promise<boolean>;
  readonly observer?: MaintenanceObserver;
}

export interface ScrubRate {
  /** Each file is verified in this time, where `bytesPerSecMax` allows it. */
  readonly periodMs: number;
  readonly bytesPerSecMax: number;
}

const SCRUB_RATE_DEFAULT: ScrubRate = {
  periodMs: 7 * MS_PER_DAY,
  bytesPerSecMax: 20_000_000,
};

/** A small warehouse is through in hours. */
const BYTES_PER_SEC_MIN = 256 * 1024;
/** The part of the period that a round takes; the rest is for what comes meanwhile. */
const ROUND_SHARE = 6 / 7;
const LOOK_MS = 60_000;
/** How often all stored files are listed for the rate. For each table it would be n² listings. */
const TOTAL_MS = 3_600_000;
const BACKLOG_LOOK_MS = 10_000;
/** Names the lease, and the sweep that does not get on. */
const SCRUB = "scrub";
/** Before a table whose pass failed is tried again. */
const FAILED_MS = 15 * LOOK_MS;

/** Starts the scrub of all tables; it ends when it is disposed of. */
export function startScrubLoop(
  deps: ScrubLoopDeps,
  rate: ScrubRate = SCRUB_RATE_DEFAULT,
): AsyncDisposable {
  const stop = new AbortController();
  const ended = new ScrubLoop(deps, rate).run(stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("stopped"));
      await ended;
    },
  };
}

/** A table, and its last pass. */
export interface ScrubbedBefore {
  readonly ident: TableIdent;
  readonly folder: string;
  readonly pass: ScrubPass | undefined;
}

interface ScrubTimes {
  readonly nowMs: number;
  readonly periodMs: number;
}

/** Which table is next; undefined: none is due before a part of the period has passed. Pure. */
export function nextScrub(
  tables: readonly ScrubbedBefore[],
  times: ScrubTimes,
): ScrubbedBefore | undefined {
  const [next] = tables.filter((table) => isDue(table, times))
    .toSorted((a, b) => urgency(a) - urgency(b));
  return next;
}

function isDue({ pass }: ScrubbedBefore, { nowMs, periodMs }: ScrubTimes): boolean {
  return pass === undefined || pass.cursor !== undefined ||
    nowMs - pass.beganMs >= periodMs * ROUND_SHARE;
}

function urgency({ pass }: ScrubbedBefore): number {
  if (pass === undefined) return -1;
  return pass.cursor === undefined ? pass.beganMs : -2;
}

class ScrubLoop {
  readonly #deps: ScrubLoopDeps;
  readonly #rate: ScrubRate;
  readonly #failures: FailureLog;
  /** By folder: tables whose pass failed, since when, and when they are tried again. */
  readonly #failed = new Map<string, { readonly sinceMs: number; readonly notBeforeMs: number }>();

  constructor(deps: ScrubLoopDeps, rate: ScrubRate) {
    this.#deps = deps;
    this.#rate = rate;
    this.#failures = new FailureLog({
      clock: deps.clock,
      log: getLogger(["svc", "maintenance"]),
      over: "stored files are verified again",
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hasMore = await this.#look(signal);
      if (!hasMore) await this.#deps.clock.sleep(LOOK_MS, { signal }).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#deps;
    let next: ScrubbedBefore | undefined;
    try {
      const tables = await this.#tables();
      const damaged = await this.#deps.scrubs.damagedCounts();
      const times = { nowMs: clock.nowMs(), periodMs: this.#rate.periodMs };
      for (const table of tables) {
        const { ident, pass, folder } = table;
        this.#tell(ident, { damaged: damaged.get(folder) ?? 0, wholeMs: pass?.wholeMs });
        // Another compactor may have been through it.
        if (!isDue(table, times)) this.#worked(table);
      }
      const free = tables.filter(({ folder }) =>
        clock.monotonicMs() >= (this.#failed.get(folder)?.notBeforeMs ?? -Infinity)
      );
      next = nextScrub(free, times);
      if (next === undefined) return false;
      const done = await this.#scrub(next, tables, signal);
      if (done !== "taken") this.#worked(next);
      this.#failures.worked(SCRUB);
      return done !== "taken";
    } catch (error) {
      if (signal.aborted) return false;
      if (next !== undefined) this.#fail(next, error);
      this.#failures.failed(SCRUB, "verify stored files", error);
      return false;
    }
  }

  #worked({ ident, folder }: ScrubbedBefore): void {
    if (this.#failed.delete(folder)) this.#deps.observer?.stalled?.(ident, SCRUB, undefined);
  }

  #fail({ ident, folder }: ScrubbedBefore, error: unknown): void {
    const { clock, observer } = this.#deps;
    const sinceMs = this.#failed.get(folder)?.sinceMs ?? clock.nowMs();
    this.#failed.set(folder, { sinceMs, notBeforeMs: clock.monotonicMs() + FAILED_MS });
    observer?.failed?.(ident, SCRUB, error);
    observer?.stalled?.(ident, SCRUB, { sinceMs, why: wordOfStall(error, { hangs: false }) });
  }

  #tell(
    ident: TableIdent,
    { damaged, wholeMs }: { readonly damaged: number; readonly wholeMs: number | undefined },
  ): void {
    const { clock, observer } = this.#deps;
    const ageSecs = wholeMs === undefined ? undefined : (clock.nowMs() - wholeMs) / 1_000;
    observer?.scrubbed?.(ident, { damaged, ageSecs });
  }

  async #tables(): Promise<ScrubbedBefore[]> {
    const passes = await this.#deps.scrubs.passes();
    const tables: ScrubbedBefore[] = [];
    for (const ident of await allTables(this.#deps.catalog)) {
      const folder = await folderOfTable(this.#deps, ident);
      if (folder !== undefined) tables.push({ ident, folder, pass: passes.get(folder) });
    }
    const there = new Set(tables.map(({ folder }) => folder));
    await this.#deps.scrubs.forgetTables([...passes.keys()].filter((one) => !there.has(one)));
    return tables;
  }

  async #scrub(
    { ident }: ScrubbedBefore,
    tables: readonly ScrubbedBefore[],
    signal: AbortSignal,
  ): Promise<ScrubbedTable | undefined | "taken"> {
    const { clock, observer } = this.#deps;
    return await underLease(this.#deps, SCRUB, {
      signal,
      work: async (held) => {
        const bytesPerSec = await this.#bytesPerSec(tables);
        const pace = paced(clock, { bytesPerSec, signal: held });
        const table = await scrubTable(this.#deps, ident, {
          signal: held,
          pace: async (bytes) => {
            await pace(bytes);
            await this.#standBack(held);
          },
          onFile: (file) => observer?.verified?.(ident, file),
        });
        if (table !== undefined) {
          this.#tell(ident, { damaged: table.damaged.length, wholeMs: table.wholeMs });
        }
        return table;
      },
    });
  }

  #total = { bytes: 0, untilMs: -Infinity };

  /** So that all bytes that are stored are read in a round. */
  async #bytesPerSec(tables: readonly ScrubbedBefore[]): Promise<number> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs >= this.#total.untilMs) {
      let bytes = 0;
      for (const { folder } of tables) {
        for await (const { size } of this.#deps.store.list(`${folder}/`)) bytes += size;
      }
      this.#total = { bytes, untilMs: nowMs + TOTAL_MS };
    }
    const wanted = this.#total.bytes / (this.#rate.periodMs * ROUND_SHARE / 1_000);
    return Math.min(this.#rate.bytesPerSecMax, Math.max(BYTES_PER_SEC_MIN, wanted));
  }

  #backlogAtMs = -Infinity;

  /** Waits while rows wait for a drain. */
  async #standBack(signal: AbortSignal): Promise<void> {
    const { clock, isBacklogOver } = this.#deps;
    if (clock.monotonicMs() - this.#backlogAtMs < BACKLOG_LOOK_MS) return;
    while (await isBacklogOver(BACKLOG_BYTES_MAX)) {
      await clock.sleep(BACKLOG_LOOK_MS, { signal });
    }
    this.#backlogAtMs = clock.monotonicMs();
  }
}

/** Waits so that no more than so many bytes pass in a second. */
export function paced(
  clock: Clock,
  { bytesPerSec, signal }: { readonly bytesPerSec: number; readonly signal: AbortSignal },
): (bytes: number) => Promise<void> {
  let freeMs = clock.monotonicMs();
  return async (bytes) => {
    const nowMs = clock.monotonicMs();
    const waitMs = freeMs - nowMs;
    freeMs = Math.max(freeMs, nowMs) + bytes / bytesPerSec * 1_000;
    if (waitMs > 0) await clock.sleep(waitMs, { signal });
    else signal.throwIfAborted();
  };
}
