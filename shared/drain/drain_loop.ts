/**
 * Keeps all lanes of a WAL drained. It looks at each lane every interval, and at once when a commit
 * was asked for. It goes on with a lane while more than one commit waits.
 *
 * One lane's turn follows another's, one commit each, so no lane starves. Tenants take turns, then
 * each tenant's lanes, those first that waited longest: 1,000 lanes of one tenant delay another's
 * by a turn each. A lane of which somebody waits for a commit comes next, one of each tenant
 * between two turns, as 1,000 turns take longer than senders wait. A lane that fails, or in which
 * another drain is always faster, is tried again later and later. A turn that exceeds its deadline
 * is left behind and its lane skipped until it ends. The loop itself ends only when it is stopped.
 */

import { getLogger } from "@logtape/logtape";
import { untilAborted } from "../base/until_aborted.ts";
import { type LaneId, laneName } from "../tenant/tenant.ts";
import { TenantTurns, type TurnTaker } from "../tenant/tenant_turns.ts";
import { FailureLog } from "../logging/failure_log.ts";
import { applyDrain, type DrainDeps, lookAtLag, lookAtLane } from "./drain.ts";
import { wordOfStall } from "../metrics/stall_gauge.ts";
import type { DrainStep } from "./drain_observer.ts";
import type { DrainGate } from "./plan_drain.ts";
import { sweepLane, sweepMirror } from "./sweep_lane.ts";
import { sweepDropped } from "./sweep_dropped.ts";

export interface DrainLoopOptions {
  readonly gate: DrainGate;
  /** Whether sealed segments are drained. */
  readonly drains: boolean;
  /**
   * Whether committed segments that nobody needs any more are removed, and the files of dropped
   * tables.
   */
  readonly sweeps: boolean;
  readonly intervalMs: number;
  /**
   * How often drain requests are looked for, asked each time; default 100. A caller of `wake` for
   * each request may have it look less often, for requests that it misses.
   */
  readonly pollMs?: () => number;
  /** How long a turn may take before its lane is skipped until it ends; default 120,000. */
  readonly turnMsMax?: number;
  /** How long `stop` waits for what is under way; default 10,000. */
  readonly stopMsMax?: number;
}

/** A running drain of all lanes. */
export interface DrainLoop extends AsyncDisposable {
  /** Looks at once, without waiting for the next poll. */
  wake(): void;
  /** Lets the turn under way end, abandons it after a while. Idempotent. */
  stop(): Promise<void>;
}

/**
 * How often drain requests are looked for, and the largest share of time that this may take. A look
 * at 1,000 lanes takes 0.1 to 0.5 s, and whoever asked waits for the next one.
 */
const POLL_MS = 100;
const POLL_SHARE_MAX = 0.25;
/** After so long, who is next is decided anew: other lanes may be due by then. */
const ROUND_MS_MAX = 1_000;
const SWEEP_INTERVAL_MS = 10_000;
const DROPPED_INTERVAL_MS = 60_000;
const MIRROR_INTERVAL_MS = 600_000;
/** A turn that takes longer is left behind. A commit of the largest size takes a few seconds. */
const TURN_MS_MAX = 120_000;
const STOP_MS_MAX = 10_000;
/** A lane without a look for so long gets one for its lag alone: a turn lasts, its own or not. */
const LAG_MS_MAX = 10_000;
const BACKOFF_MS_MIN = 500;
const BACKOFF_MS_MAX = 60_000;
/** What may fail beside lanes, whose names hold a slash. */
const LISTING = "listing";
const DROPPED = "dropped tables";
const MIRROR = "mirror";

/** Starts draining all lanes; it ends when it is stopped. */
export function startDrainLoop(deps: DrainDeps, options: DrainLoopOptions): DrainLoop {
  return new RunningLoop(deps, options);
}

/** What a turn does. */
interface Tasks {
  readonly drains: boolean;
  readonly sweeps: boolean;
}

interface LaneTurns extends TurnTaker {
  readonly lane: LaneId;
  /** A commit was asked for and has not been made. */
  requested: boolean;
  /** The last look found more than it took. */
  more: boolean;
  /** A turn that exceeded its deadline has not ended. */
  busy: boolean;
  /** What the turn under way does, or the last one did last. */
  step: DrainStep;
  failures: number;
  /** Unix milliseconds of the beginning of the first turn since which none has ended well. */
  stalledMs: number;
  /** Turns one after another in which others were faster. */
  overtaken: number;
  /** When it failed last, or was overtaken more than once. */
  failedMs: number;
  notBeforeMs: number;
  /** When its lag was told last. */
  laggedMs: number;
  /** When it is looked at and is swept again. */
  lookAtMs: number;
  sweepAtMs: number;
}

class RunningLoop implements DrainLoop {
  readonly #deps: DrainDeps;
  readonly #options: DrainLoopOptions;
  readonly #failureLog: FailureLog;
  readonly #turns = new Map<string, LaneTurns>();
  readonly #abandon = new AbortController();
  readonly #ended: Promise<void>;
  readonly #lagEnd = new AbortController();
  #stopping: Promise<void> | undefined;
  #pause = new AbortController();
  #lanes: readonly LaneTurns[] = [];
  readonly #tenants = new TenantTurns<LaneTurns>(({ lane }) => lane.tenant);
  /** When it is asked again whether anybody asked, and when the lanes are listed all the same. */
  #pollAtMs = 0;
  #listAtMs = 0;
  /** `WalConsumerAdmin.requestedMs` when requests were taken last. */
  #requestedMs: number | undefined;
  #droppedAtMs = 0;
  #mirrorAtMs = 0;
  #failures = 0;

  constructor(deps: DrainDeps, options: DrainLoopOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#failureLog = new FailureLog({
      clock: deps.clock,
      log: getLogger(["svc", "drain"]),
      over: options.drains ? "lanes are drained again" : "lanes are swept again",
    });
    this.#ended = this.#run();
    if (options.drains) this.#watchLag();
  }

  wake(): void {
    this.#pause.abort();
  }

  stop(): Promise<void> {
    return this.#stopping ??= this.#stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    this.wake();
    this.#lagEnd.abort();
    const { stopMsMax = STOP_MS_MAX } = this.#options;
    const timer = setTimeout(() => this.#abandon.abort(new Error("stopped")), stopMsMax);
    // A look at the lanes knows no signal, and takes as long as their store, which may be silent.
    const { signal } = this.#abandon;
    await untilAborted(this.#ended, signal).catch((error) => {
      if (!signal.aborted) throw error;
    });
    clearTimeout(timer);
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps;
    while (this.#stopping === undefined) {
      let pauseMs;
      try {
        await this.#listen();
        await this.#sweepShared();
        await this.#round();
        this.#failures = 0;
        this.#failureLog.worked(LISTING);
        const nowMs = clock.monotonicMs();
        if (this.#lanes.some((turns) => this.#due(turns, nowMs) !== undefined)) continue;
        pauseMs = Math.max(0, this.#pollAtMs - nowMs);
      } catch (error) {
        this.#failures += 1;
        pauseMs = backoffMs(this.#failures);
        this.#failureLog.failed(LISTING, "list the WAL's lanes", error);
      }
      await clock.sleep(pauseMs, { signal: this.#pause.signal }).catch(() => {});
      this.#pollAtMs = 0;
    }
  }

  /**
   * Tells the lag of lanes whose look is late, beside the turn under way. Ends with the loop; a
   * look that fails is told by the lane's next turn.
   */
  async #watchLag(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#lagEnd;
    while (!signal.aborted) {
      await clock.sleep(LAG_MS_MAX, { signal }).catch(() => {});
      for (const turns of this.#lanes) {
        if (signal.aborted) return;
        if (clock.monotonicMs() - turns.laggedMs < LAG_MS_MAX) continue;
        turns.laggedMs = clock.monotonicMs();
        await untilAborted(lookAtLag(this.#deps, turns.lane), signal).catch(() => {});
      }
    }
  }

  #pollMs(): number {
    return this.#options.pollMs?.() ?? POLL_MS;
  }

  /** What a turn of this lane would do now; undefined: nothing. */
  #due(turns: LaneTurns, nowMs: number): Tasks | undefined {
    if (turns.busy || nowMs < turns.notBeforeMs) return undefined;
    const { requested, more, lookAtMs, sweepAtMs } = turns;
    const drains = this.#options.drains && (requested || more || nowMs >= lookAtMs);
    const sweeps = this.#options.sweeps && nowMs >= sweepAtMs;
    return drains || sweeps ? { drains, sweeps } : undefined;
  }

  /** Whether a commit may have been asked for since requests were taken last. */
  async #isRequested(): Promise<boolean> {
    if (!this.#options.drains) return false;
    if (this.#pause.signal.aborted) return true;
    const { admin } = this.#deps;
    return admin.requestedMs === undefined || await admin.requestedMs() !== this.#requestedMs;
  }

  /** Looks for requests and new lanes, if it is time. */
  async #listen(): Promise<void> {
    const { clock } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#pollAtMs) return;
    const isRequested = await this.#isRequested();
    if (isRequested || nowMs >= this.#listAtMs) await this.#poll(isRequested);
    else this.#pollAtMs = nowMs + this.#pollMs();
  }

  /** Reads which lanes there are, and takes their requests where there may be some. */
  async #poll(isRequested: boolean): Promise<void> {
    const { clock, wal, admin } = this.#deps;
    const startMs = clock.monotonicMs();
    if (isRequested) {
      this.#pause = new AbortController();
      this.#requestedMs = await admin.requestedMs?.();
    }
    this.#lanes = (await wal.lanes()).map((lane) => this.#turnsOf(lane));
    this.#listAtMs = startMs + this.#options.intervalMs;
    if (isRequested) {
      for (const turns of this.#lanes) {
        if (await admin.takeDrainRequest(turns.lane)) request(turns);
      }
    }
    const names = new Set(this.#lanes.map(({ lane }) => laneName(lane)));
    this.#deps.observer?.lanes?.(names);
    this.#failureLog.keep(new Set([LISTING, DROPPED, MIRROR, ...names]));
    const nowMs = clock.monotonicMs();
    this.#pollAtMs = Math.max(startMs + this.#pollMs(), nowMs + (nowMs - startMs) / POLL_SHARE_MAX);
  }

  #turnsOf(lane: LaneId): LaneTurns {
    const name = laneName(lane);
    let turns = this.#turns.get(name);
    if (turns === undefined) {
      const flags = { requested: false, more: false, busy: false };
      const counts = { failures: 0, overtaken: 0, stalledMs: 0 };
      const times = { failedMs: 0, notBeforeMs: 0, turnMs: 0, lookAtMs: 0, sweepAtMs: 0 };
      turns = { lane, step: "look", ...flags, ...counts, ...times, laggedMs: -Infinity };
      this.#turns.set(name, turns);
    }
    return turns;
  }

  /** The turns that are due now, or as many of them as a round has time for. */
  async #round(): Promise<void> {
    const { clock } = this.#deps;
    const startMs = clock.monotonicMs();
    const due = this.#lanes.filter((turns) => this.#due(turns, startMs) !== undefined);
    for (const turns of this.#tenants.inOrder(due)) {
      await this.#requestsFirst();
      const nowMs = clock.monotonicMs();
      if (this.#stopping !== undefined || nowMs - startMs >= ROUND_MS_MAX) return;
      const tasks = this.#due(turns, nowMs);
      if (tasks !== undefined) await this.#turn(turns, tasks);
    }
  }

  /** A turn for each tenant of whose lanes somebody asked for a commit. */
  async #requestsFirst(): Promise<void> {
    await this.#listen();
    const { clock } = this.#deps;
    const isDue = (turns: LaneTurns) =>
      turns.requested && !turns.busy && clock.monotonicMs() >= turns.notBeforeMs;
    for (const turns of this.#tenants.firstOfEach(this.#lanes.filter(isDue))) {
      if (this.#stopping !== undefined) return;
      await this.#turn(turns, { drains: true, sweeps: false });
    }
  }

  /** What belongs to no lane, now and then. */
  async #sweepShared(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    if (this.#options.sweeps && nowMs >= this.#droppedAtMs) {
      this.#droppedAtMs = nowMs + DROPPED_INTERVAL_MS;
      await this.#sweepDropped();
    }
    if (this.#options.sweeps && nowMs >= this.#mirrorAtMs) {
      this.#mirrorAtMs = nowMs + MIRROR_INTERVAL_MS;
      await this.#sweepMirror();
    }
  }

  /** Files of dropped tables; its errors end here, the next round tries again. */
  async #sweepDropped(): Promise<void> {
    const { store, indexes, removals, clock } = this.#deps;
    if (indexes === undefined || removals === undefined) return;
    try {
      await sweepDropped({ store, indexes, removals }, { nowMs: clock.nowMs() });
      this.#failureLog.worked(DROPPED);
    } catch (error) {
      this.#failureLog.failed(DROPPED, "remove files of dropped tables", error);
    }
  }

  /**
   * Removes a mirror's objects that are nobody's any more. Its errors end here, the next round
   * tries again.
   */
  async #sweepMirror(): Promise<void> {
    try {
      await sweepMirror(this.#deps, this.#abandon.signal);
      this.#failureLog.worked(MIRROR);
    } catch (error) {
      this.#failureLog.failed(MIRROR, "look for objects of the WAL's mirror to remove", error);
    }
  }

  /** One turn of a lane, with a deadline; its errors end here. */
  async #turn(
    turns: LaneTurns,
    what: Tasks,
  ): Promise<void> {
    const timeout = new AbortController();
    const { turnMsMax = TURN_MS_MAX } = this.#options;
    const timer = setTimeout(() => timeout.abort(lateTurn(turnMsMax, turns.step)), turnMsMax);
    const startMs = this.#deps.clock.nowMs();
    const signal = AbortSignal.any([timeout.signal, this.#abandon.signal]);
    this.#tenants.begin(turns, this.#deps.clock.monotonicMs());
    if (what.drains) turns.lookAtMs = turns.turnMs + this.#options.intervalMs;
    if (what.sweeps) turns.sweepAtMs = turns.turnMs + SWEEP_INTERVAL_MS;
    turns.busy = true;
    const work = this.#work(turns, { ...what, signal }).finally(() => turns.busy = false);
    try {
      await untilAborted(work, signal);
      if (turns.failures > 0) this.#deps.observer?.stalled?.(turns.lane, undefined);
      turns.failures = 0;
      this.#pauseOvertaken(turns);
      this.#failureLog.worked(laneName(turns.lane));
    } catch (error) {
      turns.more = false;
      if (turns.failures === 0) turns.stalledMs = startMs;
      turns.failures += 1;
      turns.failedMs = this.#deps.clock.monotonicMs();
      turns.notBeforeMs = turns.failedMs + backoffMs(turns.failures);
      this.#deps.observer?.failed?.(turns.lane, error);
      const { stalledMs: sinceMs, step } = turns;
      const why = wordOfStall(error, { hangs: timeout.signal.aborted });
      this.#deps.observer?.stalled?.(turns.lane, { sinceMs, step, why });
      const name = laneName(turns.lane);
      this.#failureLog.failed(name, `${what.drains ? "drain" : "sweep"} lane ${name}`, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The first look after another drain was faster comes at once, later ones later and later. */
  #pauseOvertaken(turns: LaneTurns): void {
    turns.notBeforeMs = 0;
    if (turns.overtaken < 2) return;
    turns.failedMs = this.#deps.clock.monotonicMs();
    turns.notBeforeMs = turns.failedMs + backoffMs(turns.overtaken - 1);
  }

  async #work(
    turns: LaneTurns,
    what: Tasks & { readonly signal: AbortSignal },
  ): Promise<void> {
    const { lane, requested } = turns;
    const onStep = (step: DrainStep) => void (turns.step = step);
    if (what.drains) {
      onStep("look");
      const plan = await lookAtLane(this.#deps, lane, { gate: this.#options.gate, requested });
      turns.laggedMs = this.#deps.clock.monotonicMs();
      const outcome = await applyDrain(this.#deps, lane, plan, { signal: what.signal, onStep });
      const wasOvertaken = outcome === "overtaken" || outcome === "claim_lost";
      turns.overtaken = wasOvertaken ? turns.overtaken + 1 : 0;
      turns.more = plan.more || wasOvertaken || outcome === "poisoned" || outcome === "discarded";
      // The request is kept while there is more: it may be about the segment that is committed
      // last.
      turns.requested = requested && turns.more;
    }
    if (!what.sweeps) return;
    onStep("sweep");
    await sweepLane(this.#deps, lane, { isLookedAt: what.drains });
  }
}

function lateTurn(turnMsMax: number, step: DrainStep): Error {
  return new Error(
    `the turn took longer than ${turnMsMax / 1_000} s and hangs in step ${step}, ` +
      "the lane is skipped until it ends",
  );
}

/** Someone waits: a lane that failed does not, though never without a pause, as anybody may ask. */
function request(turns: LaneTurns): void {
  turns.requested = true;
  turns.notBeforeMs = Math.min(turns.notBeforeMs, turns.failedMs + BACKOFF_MS_MIN);
  turns.failures = Math.min(turns.failures, 1);
}

function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (failures - 1));
}
