/**
 * A lane after a failed write or sync. It refuses rows, tries the disk again with growing pauses
 * and salvages the segments that were given up. It lets rows in again only when all of that
 * succeeded.
 */

import { OperatingError } from "../base/errors.ts";
import { type LaneId, laneName } from "../tenant/tenant.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { ActiveSegment } from "./active_segment.ts";
import { faultBelow } from "./fault_below.ts";
import { laneDirectory } from "./layout.ts";
import { probeDirectory } from "./probe_directory.ts";
import { makeLane } from "./recovery.ts";
import { salvageSegment } from "./salvage.ts";
import type { WalEventListener } from "./wal_event.ts";

const PAUSE_MS_MIN = 100;
const PAUSE_MS_MAX = 5_000;

interface HealerOptions {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly root: string;
  readonly onEvent: WalEventListener;
  /** Throws while the root is not there, or another process has it. */
  requireRoot(): void;
  /** Resolves when the sealing that was under way has ended, so that order is kept. */
  sealed(): Promise<void>;
  /**
   * Told of every segment that was given up, once it is sealed or gone, before the lane takes rows
   * again. It is told again where it fails.
   */
  healed(segment: string): Promise<void>;
}

export class LaneHealer {
  readonly #lane: LaneId;
  readonly #options: HealerOptions;
  readonly #closed = new AbortController();
  /** In the order of their names. */
  #givenUp: ActiveSegment[] = [];
  #failure: string | undefined;
  #pauseMs = PAUSE_MS_MIN;
  #healing: Promise<void> = Promise.resolve();

  constructor(lane: LaneId, options: HealerOptions) {
    this.#lane = lane;
    this.#options = options;
  }

  get failure(): string | undefined {
    return this.#failure;
  }

  /** The error that an append gets now, or undefined when it may go on. */
  refusal(): OperatingError | undefined {
    if (this.#failure === undefined) return undefined;
    return new OperatingError(
      "unavailable",
      `WAL lane ${laneName(this.#lane)} takes no rows until its disk works again: ${this.#failure}`,
      {
        reason: "wal_lane_failed",
        retryAfterSecs: Math.min(5, Math.max(1, Math.ceil(this.#pauseMs / 1000))),
      },
    );
  }

  /** Refuses from now on, and heals in the background. */
  start(error: unknown): void {
    if (this.#failure !== undefined) return;
    this.#failure = faultBelow(this.#options.root, error);
    this.#pauseMs = PAUSE_MS_MIN;
    this.#options.onEvent({ kind: "failed", lane: this.#lane, error });
    this.#healing = this.#heal();
  }

  /** Leaves segments that cannot be sealed in order to be salvaged. */
  giveUp(segments: readonly ActiveSegment[]): void {
    this.#givenUp.push(...segments);
  }

  /** Ends healing after a last attempt to salvage; what fails then is left to the next start. */
  async close(): Promise<void> {
    this.#closed.abort();
    await this.#healing;
    if (this.#failure === undefined) return;
    try {
      await this.#salvage();
    } catch (error) {
      for (const segment of this.#givenUp) await segment.quiesce();
      this.#options.onEvent({ kind: "failed", lane: this.#lane, error });
    }
  }

  async #heal(): Promise<void> {
    const { fs, clock, root, onEvent } = this.#options;
    while (!this.#closed.signal.aborted) {
      try {
        await clock.sleep(this.#pauseMs, { signal: this.#closed.signal });
      } catch {
        return; // Closed.
      }
      try {
        await this.#options.sealed();
        // First: where the process may open no more files, these are what it has to give.
        for (const segment of this.#givenUp) await segment.quiesce();
        await makeLane(fs, root, this.#lane); // Its directories may have gone.
        await probeDirectory(fs, laneDirectory(root, this.#lane));
        await this.#salvage();
        this.#failure = undefined;
        onEvent({ kind: "healed", lane: this.#lane });
        return;
      } catch (error) {
        this.#failure = faultBelow(root, error);
        this.#pauseMs = Math.min(PAUSE_MS_MAX, this.#pauseMs * 2);
      }
    }
  }

  async #salvage(): Promise<void> {
    const { fs, root, onEvent, requireRoot, healed } = this.#options;
    requireRoot();
    for (let segment = this.#givenUp[0]; segment !== undefined; segment = this.#givenUp[0]) {
      await segment.quiesce();
      if (await fs.exists(segment.path)) {
        const salvaged = await salvageSegment(fs, root, { lane: this.#lane, name: segment.name });
        onEvent({ kind: "salvaged", ...salvaged });
      }
      // An earlier attempt may have failed when all but this was done.
      await healed(segment.name);
      this.#givenUp.shift();
    }
  }
}
