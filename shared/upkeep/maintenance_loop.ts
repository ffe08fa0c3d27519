/**
 * Keeps all tables of a catalog in order, for ever: every sweep of `table_sweeps.ts` on every
 * table, when it is due.
 *
 * One turn follows another's, so what is read at a time is bounded. Tenants take turns, then the
 * sweeps and tables of each: the one that waited longest comes next. So no table starves, and no
 * tenant waits for all that another has to do. A turn that fails is tried again later
 * and later. A turn that exceeds its deadline is left behind, and its sweep of that table skipped
 * until it ends. The loop ends only when it is stopped. It does not stand in a drain's way: it runs
 * beside `shared/drain/drain_loop.ts`.
 */

import { getLogger } from "@logtape/logtape";
import type { CatalogReader } from "../catalog/catalog.ts";
import { TenantTurns, type TurnTaker } from "../tenant/tenant_turns.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { wordOfStall } from "../metrics/stall_gauge.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import type { TableSweep } from "./table_sweeps.ts";

export interface MaintenanceLoopDeps {
  readonly catalog: Pick<CatalogReader, "namespaces" | "tables">;
  readonly clock: Clock;
  readonly observer?: MaintenanceObserver;
  /** How long it leaves the processor to others that start with it; default: not at all. */
  readonly pauseMs?: number;
  /** How long a turn may take before it is told to end; default 600,000. */
  readonly turnMsMax?: number;
  /** How long it then may take to end before it is left behind; default 10,000. */
  readonly endingMsMax?: number;
}

/** Running sweeps of all tables. */
export interface MaintenanceLoop extends AsyncDisposable {
  /**
   * Tells the turn under way to end, which leaves its table as it is, and leaves it behind after a
   * while. Idempotent.
   */
  stop(): Promise<void>;
}

const POLL_MS = 1_000;
const TABLES_INTERVAL_MS = 5_000;
/** After so long, who is next is decided anew: other turns may be due by then. */
const ROUND_MS_MAX = 1_000;
/** A merge of the largest size takes about a minute on a slow machine. */
const TURN_MS_MAX = 600_000;
/** How long a turn may take to end. */
const ENDING_MS_MAX = 10_000;
const BACKOFF_MS_MIN = 5_000;
const BACKOFF_MS_MAX = 900_000;
/** What may fail beside sweeps, whose names are followed by a table's. */
const LISTING = "listing";

/** Starts the sweeps of all tables; it ends when it is stopped. */
export function startMaintenanceLoop(
  deps: MaintenanceLoopDeps,
  sweeps: readonly TableSweep[],
): MaintenanceLoop {
  return new RunningLoop(deps, sweeps);
}

/** Every table of the catalog. Errors: the catalog's. */
export async function allTables(
  catalog: Pick<CatalogReader, "namespaces" | "tables">,
): Promise<TableIdent[]> {
  const idents: TableIdent[] = [];
  for (const namespace of await catalog.namespaces()) {
    for (const name of await catalog.tables(namespace)) idents.push({ namespace, name });
  }
  return idents;
}

/** One sweep of one table. */
interface Turns extends TurnTaker {
  readonly sweep: TableSweep;
  readonly ident: TableIdent;
  notBeforeMs: number;
  failures: number;
  /** Unix milliseconds of the beginning of the first turn since which none has ended well. */
  stalledMs: number;
  /** A turn that was abandoned has not ended. */
  busy: boolean;
}

class RunningLoop implements MaintenanceLoop {
  readonly #deps: MaintenanceLoopDeps;
  readonly #sweeps: readonly TableSweep[];
  readonly #failureLog: FailureLog;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  #tablesAtMs = -Infinity;
  #turns = new Map<string, Turns>();
  /** A namespace is a tenant's. */
  readonly #tenants = new TenantTurns<Turns>(({ ident }) => ident.namespace);

  constructor(deps: MaintenanceLoopDeps, sweeps: readonly TableSweep[]) {
    this.#deps = deps;
    this.#sweeps = sweeps;
    this.#failureLog = new FailureLog({
      clock: deps.clock,
      log: getLogger(["svc", "maintenance"]),
      over: "tables are maintained again",
    });
    this.#ended = this.#run();
  }

  stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    return this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const { clock, pauseMs = 0 } = this.#deps;
    const rest = (ms: number) => clock.sleep(ms, { signal }).catch(() => {});
    if (pauseMs > 0) await rest(pauseMs);
    while (!signal.aborted) {
      await this.#listTables();
      if (!await this.#round()) await rest(POLL_MS);
    }
  }

  /** The turns that are due, or as many as a round has time for; true: others are due at once. */
  async #round(): Promise<boolean> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const due = [...this.#turns.values()].filter(({ busy, notBeforeMs }) =>
      !busy && notBeforeMs <= startMs
    );
    let hasMore = false;
    for (const turns of this.#tenants.inOrder(due)) {
      if (this.#stop.signal.aborted) return false;
      if (clock.monotonicMs() - startMs >= ROUND_MS_MAX) return true;
      if (await this.#turn(turns)) hasMore = true;
    }
    return hasMore;
  }

  async #listTables(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (nowMs - this.#tablesAtMs < TABLES_INTERVAL_MS) return;
    this.#tablesAtMs = nowMs;
    try {
      const tables = await allTables(this.#deps.catalog);
      this.#deps.observer?.listed?.(tables);
      const all = this.#sweeps.flatMap((sweep) => tables.map((ident) => ({ sweep, ident })));
      this.#turns = new Map(all.map((turns) => [turnsName(turns), this.#turnsOf(turns)]));
      this.#failureLog.worked(LISTING);
    } catch (error) {
      this.#failureLog.failed(LISTING, "list the tables", error);
    }
    this.#failureLog.keep(new Set([LISTING, ...this.#turns.keys()]));
  }

  async #turn(turns: Turns): Promise<boolean> {
    const { clock, observer, turnMsMax = TURN_MS_MAX } = this.#deps;
    const { sweep, ident } = turns;
    const startMs = clock.nowMs();
    this.#tenants.begin(turns, clock.monotonicMs());
    const over = new AbortController();
    const timeout = new AbortController();
    const timer = setTimeout(
      () =>
        timeout.abort(
          new Error(
            `the turn took longer than ${turnMsMax / 1_000} s, the next one waits until it ends`,
          ),
        ),
      turnMsMax,
    );
    try {
      const signal = AbortSignal.any([timeout.signal, this.#stop.signal]);
      const work = sweep.run(ident, signal);
      turns.busy = true;
      const ended = work.finally(() => turns.busy = false);
      ended.catch(() => {});
      const { endingMsMax = ENDING_MS_MAX } = this.#deps;
      const left = longAfter(signal, { ms: endingMsMax, over: over.signal });
      const more = await Promise.race([ended, left]);
      if (turns.failures > 0) observer?.stalled?.(ident, sweep.name, undefined);
      turns.failures = 0;
      turns.notBeforeMs = more ? 0 : clock.monotonicMs() + sweep.intervalMs;
      this.#failureLog.worked(turnsName(turns));
      return more;
    } catch (error) {
      if (this.#stop.signal.aborted) return false;
      if (turns.failures === 0) turns.stalledMs = startMs;
      turns.failures += 1;
      const pauseMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (turns.failures - 1));
      turns.notBeforeMs = clock.monotonicMs() + pauseMs;
      observer?.failed?.(ident, sweep.name, error);
      const why = wordOfStall(error, { hangs: timeout.signal.aborted });
      observer?.stalled?.(ident, sweep.name, { sinceMs: turns.stalledMs, why });
      const what = `carry out ${sweep.name} of table ${ident.namespace}.${ident.name}`;
      this.#failureLog.failed(turnsName(turns), what, error);
      return false;
    } finally {
      over.abort();
      clearTimeout(timer);
    }
  }

  #turnsOf(what: Pick<Turns, "sweep" | "ident">): Turns {
    const fresh = { turnMs: 0, notBeforeMs: 0, failures: 0, stalledMs: 0, busy: false };
    return this.#turns.get(turnsName(what)) ?? { ...what, ...fresh };
  }
}

/**
 * Rejects when `signal` has been aborted for `ms`: work that heeds it has ended by then. Not any
 * more after `over`.
 */
function longAfter(
  signal: AbortSignal,
  { ms, over }: { readonly ms: number; readonly over: AbortSignal },
): Promise<never> {
  return new Promise((_, reject) => {
    const onAbort = () => {
      const timer = setTimeout(() => reject(signal.reason), ms);
      over.addEventListener("abort", () => clearTimeout(timer), { once: true });
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true, signal: over });
  });
}

function turnsName({ sweep, ident }: Pick<Turns, "sweep" | "ident">): string {
  return `${sweep.name} ${ident.namespace} ${ident.name}`;
}
