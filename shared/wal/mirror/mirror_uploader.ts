/**
 * Keeps a mirror behind the WAL of this process, by rounds of `mirrorSegments`. A round begins with
 * a seal and is about the lanes that sealed, now and then about all. Lanes that seal during a round
 * have turns in it. `mirrorActive` runs at its interval. Pauses grow while the store does not
 * answer. Nothing waits for it, and it holds no more than `parallel` segments in memory.
 */

import { getLogger } from "@logtape/logtape";
import { placedMessageOf } from "../../base/errors.ts";
import { firstOfEach } from "../../tenant/interleaved.ts";
import { type LaneId, laneName } from "../../tenant/tenant.ts";
import type { Clock } from "../../os/clock.ts";
import type { Random } from "../../os/random.ts";
import { msOfSegmentName } from "../layout.ts";
import { type ActiveCopies, mirrorActive } from "./mirror_active.ts";
import {
  type MirrorBacklog,
  mirrorBacklog,
  type MirrorDeps,
  type Mirrored,
  mirrorSegments,
} from "./mirror_segments.ts";

/**
 * All lanes are looked at so often: an earlier process may have sealed, or a file been moved here.
 */
const POLL_MS = 5_000;
/** Segments that may wait are gathered for this long and mirrored in one round. */
const GATHER_MS = 500;
const PAUSE_MS_MIN = 500;
const PAUSE_MS_MAX = 30_000;
/** How long `stop` waits for the last round; what is left is uploaded at the next start. */
const STOP_MS_MAX = 5_000;

export interface UploaderOptions extends Omit<MirrorDeps, "isUrgent" | "sealedMeanwhile"> {
  readonly clock: Clock;
  readonly random: Random;
  /** How often segments that are being written are copied; 0 never. */
  readonly activeIntervalMs: number;
  /**
   * A segment that was begun longer ago is mirrored at the cost of whatever else there is to do.
   */
  readonly patienceMs: number;
  /** Disposed of when it has stopped. */
  readonly threads?: readonly Disposable[];
  /** A round ended with `error`. */
  readonly onFailure: (error: unknown) => void;
}

export class MirrorUploader implements AsyncDisposable {
  readonly #options: UploaderOptions;
  readonly #deps: MirrorDeps;
  readonly #mirrored: Mirrored = new Map();
  readonly #copies: ActiveCopies = new Map();
  #copyAtMs = 0;
  #allAtMs = 0;
  /** That sealed since the last round, by name. */
  #sealed = new Map<string, LaneId>();
  readonly #over = new AbortController();
  readonly #log = getLogger(["svc", "wal", "mirror"]);
  readonly #running: Promise<void>;
  #alarm = new AbortController();
  #failures = 0;
  #looking: Promise<MirrorBacklog> | undefined;

  constructor(options: UploaderOptions) {
    this.#options = options;
    this.#deps = {
      ...options,
      isUrgent: (name) => this.#isUrgent(name),
      sealedMeanwhile: () => this.#takeNext(),
    };
    this.#running = this.#run();
  }

  /** A segment of `lane` was sealed. */
  wake(lane: LaneId): void {
    this.#sealed.set(laneName(lane), lane);
    if (this.#failures === 0) this.#alarm.abort();
  }

  /** Calls at the same time share one look at the directories. */
  backlog(): Promise<MirrorBacklog> {
    this.#looking ??= mirrorBacklog(this.#deps, this.#mirrored)
      .finally(() => this.#looking = undefined);
    return this.#looking;
  }

  /** Uploads what is sealed by now, unless the store fails or takes too long. */
  async stop(): Promise<void> {
    this.#over.abort();
    this.#alarm.abort();
    const last = new AbortController();
    const wait = new AbortController();
    const ended = this.#running
      .then(() => this.#failures === 0 ? this.#round(last.signal) : undefined)
      .finally(() => wait.abort());
    await this.#sleep(STOP_MS_MAX, wait.signal);
    last.abort();
    // Not waited for past this: a request that is under way ends with the process.
    ended.catch(() => {});
    for (const thread of this.#options.threads ?? []) thread[Symbol.dispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #run(): Promise<void> {
    while (!this.#over.signal.aborted) {
      this.#alarm = new AbortController();
      await this.#round(this.#over.signal);
      const gatherMs = Math.min(GATHER_MS, this.#patienceMs());
      if (this.#failures === 0 && gatherMs > 0) await this.#sleep(gatherMs, this.#over.signal);
      if (this.#over.signal.aborted) return;
      await this.#sleep(this.#pauseMs(), this.#alarm.signal);
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    try {
      await mirrorSegments(this.#deps, this.#mirrored, signal, this.#takeLanes());
      await this.#copyActive(signal);
      if (this.#failures > 0) this.#log.info("the WAL is mirrored again");
      this.#failures = 0;
    } catch (error) {
      this.#options.onFailure(error);
      this.#failures += 1;
      this.#allAtMs = 0;
      if (this.#failures === 1) {
        this.#log.warn("cannot mirror the WAL, rows are kept here until it can: {error}", {
          error: placedMessageOf(error),
        });
      }
    }
  }

  /**
   * The lanes of the next round; undefined is all. A round that fails is followed by one about all.
   */
  #takeLanes(): readonly LaneId[] | undefined {
    const { clock } = this.#options;
    const lanes = [...this.#sealed.values()];
    this.#sealed = new Map();
    if (!this.#over.signal.aborted && clock.monotonicMs() < this.#allAtMs) return lanes;
    this.#allAtMs = clock.monotonicMs() + POLL_MS;
    return undefined;
  }

  /** One lane of each tenant, of those that sealed since the round began. */
  #takeNext(): readonly LaneId[] {
    const lanes = firstOfEach([...this.#sealed.values()], ({ tenant }) => tenant);
    for (const lane of lanes) this.#sealed.delete(laneName(lane));
    return lanes;
  }

  async #copyActive(signal: AbortSignal): Promise<void> {
    const { activeIntervalMs, clock } = this.#options;
    if (activeIntervalMs === 0 || clock.monotonicMs() < this.#copyAtMs) return;
    this.#copyAtMs = clock.monotonicMs() + activeIntervalMs;
    const seen = { copies: this.#copies, mirrored: this.#mirrored };
    await mirrorActive(this.#deps, seen, signal);
  }

  /** The end of the process must not take longer for it. */
  #isUrgent(name: string): boolean {
    // A name may be later than now, where the clock went back.
    const ageMs = Math.abs(this.#options.clock.nowMs() - msOfSegmentName(name));
    return this.#over.signal.aborted || ageMs > this.#patienceMs();
  }

  /** With copies at an interval it is no longer than that. */
  #patienceMs(): number {
    const { activeIntervalMs, patienceMs } = this.#options;
    return Math.min(patienceMs, activeIntervalMs || Infinity);
  }

  #pauseMs(): number {
    const { activeIntervalMs, clock } = this.#options;
    if (this.#failures === 0) {
      if (activeIntervalMs === 0) return POLL_MS;
      return Math.max(0, Math.min(POLL_MS, this.#copyAtMs - clock.monotonicMs()));
    }
    const bound = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(this.#failures, 10));
    return bound * (0.5 + this.#options.random.float() / 2);
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(ms, { signal }).catch((error) => {
      if (!signal.aborted) throw error;
    });
  }
}
