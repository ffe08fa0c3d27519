/**
 * Keeps one table after another merged: looks when a table has changed, and performs one task at a
 * time while no backlog of ingested rows waits.
 */

import { damagedKey, isDamagedFile } from "../base/damaged_file.ts";
import { isOperatingError } from "../base/errors.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { currentSnapshot } from "../iceberg/table_metadata.ts";
import { type LeaseDeps, underLease } from "./held_lease.ts";
import type { MaintenanceObserver } from "./maintenance_observer.ts";
import { applyMerge, lookForMerges, type MergeDeps, type MergePlan } from "./merge.ts";
import { MERGE_POLICY_DEFAULT, type MergePolicy, type MergeTask } from "./plan_merge.ts";
import { tableHealth } from "./table_health.ts";

export interface MergeSweepDeps extends MergeDeps, LeaseDeps {
  /** Whether more than `bytes` of rows in the WAL wait for a drain. */
  readonly isBacklogOver: (bytes: number) => Promise<boolean>;
  readonly observer?: MaintenanceObserver;
}

export interface MergeSweepOptions {
  readonly policy?: MergePolicy;
  /** Bytes of rows that make a full file; default `MERGED_INPUT_BYTES`. */
  readonly inputBytesMax?: number;
  /** With more than that no merge begins; default `BACKLOG_BYTES_MAX`. */
  readonly backlogBytesMax?: number;
}

/** Four commits of a drain. */
export const BACKLOG_BYTES_MAX = 128 * 1024 * 1024;
/** A table that has not changed is looked at again, because what is settled depends on the time. */
const UNCHANGED_MS = 60_000;
/** Files that cannot be read are left alone for so long. */
const ASIDE_MS = 3_600_000;

interface LastLook {
  readonly location: string;
  readonly atMs: number;
}

export class MergeSweep {
  readonly #deps: MergeSweepDeps;
  readonly #options: MergeSweepOptions;
  readonly #idle = new Map<string, LastLook>();
  /** Keys of files that a merge failed on, and until when. */
  readonly #aside = new Map<string, number>();

  constructor(deps: MergeSweepDeps, options: MergeSweepOptions = {}) {
    this.#deps = deps;
    this.#options = options;
  }

  /**
   * One task at most; true: look again at once. Errors: those of `lookForMerges` and `applyMerge`.
   */
  async run(ident: TableIdent, signal: AbortSignal): Promise<boolean> {
    if (await this.#isIdle(ident)) return false;
    const plan = await this.#look(ident);
    if (plan === undefined) return false;
    for (const task of plan.tasks) {
      if (await this.#isThrottled()) return false;
      const { namespace, name } = ident;
      const lease = `merge/${namespace}.${name}/${task.day}`;
      const work = (held: AbortSignal) => this.#merge(plan, task, held);
      if (await underLease(this.#deps, lease, { signal, work }) !== "taken") return true;
    }
    return false;
  }

  async #isIdle(ident: TableIdent): Promise<boolean> {
    const last = this.#idle.get(nameOf(ident));
    if (last === undefined) return false;
    if (this.#deps.clock.monotonicMs() - last.atMs >= UNCHANGED_MS) return false;
    return await this.#deps.catalog.metadataLocation(ident) === last.location;
  }

  async #look(ident: TableIdent): Promise<MergePlan | undefined> {
    const { clock, observer } = this.#deps;
    const plan = await lookForMerges(this.#deps, ident, {
      policy: this.#options.policy ?? MERGE_POLICY_DEFAULT,
      isLeftAlone: (key) => (this.#aside.get(key) ?? -Infinity) > clock.monotonicMs(),
    });
    if (plan === undefined) return undefined;
    const { table, tasks, files } = plan;
    observer?.looked?.(ident, {
      health: tableHealth(files),
      snapshots: currentSnapshot(table.metadata) === undefined
        ? 0
        : table.metadata.snapshots.length,
      tasks: tasks.length,
    });
    if (tasks.length === 0) {
      this.#idle.set(nameOf(ident), {
        location: table.metadataLocation,
        atMs: clock.monotonicMs(),
      });
    }
    return plan;
  }

  async #isThrottled(): Promise<boolean> {
    const { backlogBytesMax = BACKLOG_BYTES_MAX } = this.#options;
    if (!await this.#deps.isBacklogOver(backlogBytesMax)) return false;
    this.#deps.observer?.throttled?.();
    return true;
  }

  async #merge({ table }: MergePlan, task: MergeTask, signal: AbortSignal): Promise<void> {
    const { inputBytesMax } = this.#options;
    try {
      const report = await applyMerge(this.#deps, table, task, {
        signal,
        ...(inputBytesMax === undefined ? {} : { inputBytesMax }),
      });
      this.#deps.observer?.merged?.(table.ident, report);
    } catch (error) {
      // It would fail again and again, and keep the table's other files from being merged.
      if (isDamagedFile(error)) this.#setAside([damagedKey(error)]);
      else if (isOperatingError(error, "corrupt") || isOperatingError(error, "unprocessable")) {
        this.#setAside(task.files.map(({ key }) => key));
      }
      throw error;
    }
  }

  #setAside(keys: readonly string[]): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [key, untilMs] of this.#aside) if (untilMs <= nowMs) this.#aside.delete(key);
    for (const key of keys) this.#aside.set(key, nowMs + ASIDE_MS);
  }
}

function nameOf({ namespace, name }: TableIdent): string {
  return `${namespace}.${name}`;
}
