/**
 * Runs the shards of a statement on its servers. Each counts once: of its attempts the first whole
 * one. What fails goes elsewhere, the coordinator last; what is slow is tried a second time.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { type CutShard, rankedNodes } from "./cut_shards.ts";
import type { ShardOutcome } from "./distributed_metrics.ts";

/** Shards that a server is asked for at the same time: one is fetched while one is computed. */
const AT_ONCE_PER_NODE = 2;
const HEDGE_FACTOR = 3;
const HEDGE_MS_MIN = 1_000;
/** After so long a shard is tried again where none of its sisters has ended. */
const HEDGE_MS_ALONE = 10_000;
const HEDGE_LOOK_MS = 100;

/** A shard that is done. */
export interface ShardDone<T> {
  readonly index: number;
  readonly node: string;
  readonly bytes: number;
  readonly wallMs: number;
  readonly attempts: number;
  readonly value: T;
}

/** Ends the whole fan-out: no other server would do better. */
export class FanOutEnds extends Error {
  override readonly name = "FanOutEnds";
  constructor(override readonly cause: unknown) {
    super("the fan-out ends", { cause });
  }
}

export interface FanOutOptions<T> {
  readonly shards: readonly CutShard[];
  /** All servers; `self` is among them. */
  readonly nodes: readonly string[];
  readonly self: string;
  /** Runs a shard on a server. Throws `FanOutEnds` where nothing is to be tried any more. */
  readonly run: (shard: number, node: string, signal: AbortSignal) => Promise<T>;
  /** Is told of each end of an attempt. */
  readonly told?: (outcome: ShardOutcome, wallMs: number) => void;
  /** Whether a server may be asked now; default: it may. */
  readonly isUp?: (node: string) => boolean;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
}

interface Task {
  readonly index: number;
  readonly shard: CutShard;
  /** Servers in the order in which they are tried. */
  readonly ranked: readonly string[];
  readonly tried: Set<string>;
  readonly running: Map<string, { readonly stop: AbortController; readonly sinceMs: number }>;
  isDone: boolean;
  /** What the coordinator's own attempt threw. */
  ownFailure?: { readonly error: unknown };
}

/**
 * Yields shards as they are done, in no order. Ending the iteration ends what runs. Errors: the
 * signal's reason, the cause of `FanOutEnds`, and what the coordinator's own attempt threw.
 */
export async function* fanOut<T>(options: FanOutOptions<T>): AsyncGenerator<ShardDone<T>> {
  const running = new FanOut(options);
  try {
    yield* running.done();
  } finally {
    running.stop();
  }
}

class FanOut<T> {
  readonly #options: FanOutOptions<T>;
  readonly #tasks: readonly Task[];
  readonly #busy = new Map<string, number>();
  readonly #walls: number[] = [];
  readonly #ready: ShardDone<T>[] = [];
  readonly #end = new AbortController();
  readonly #signal: AbortSignal;
  #failure: { readonly error: unknown } | undefined;
  #wake = Promise.withResolvers<void>();

  constructor(options: FanOutOptions<T>) {
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#end.signal]);
    this.#tasks = options.shards.map((shard, index) => ({
      index,
      shard,
      ranked: ranked(shard, options),
      tried: new Set<string>(),
      running: new Map(),
      isDone: false,
    }));
  }

  async *done(): AsyncGenerator<ShardDone<T>> {
    const look = setInterval(() => this.#again(), HEDGE_LOOK_MS);
    const onAbort = () => this.#fail(this.#options.signal.reason);
    this.#options.signal.addEventListener("abort", onAbort, { once: true });
    if (this.#options.signal.aborted) onAbort();
    try {
      for (let left = this.#tasks.length; left > 0;) {
        this.#start();
        const ready = this.#ready.shift();
        if (this.#failure !== undefined) throw this.#failure.error;
        if (ready !== undefined) {
          left -= 1;
          yield ready;
          continue;
        }
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    } finally {
      clearInterval(look);
      this.#options.signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends what runs. */
  stop(): void {
    this.#end.abort(new OperatingError("cancelled", "The fan-out is over"));
  }

  #again(): void {
    this.#wake.resolve();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#again();
  }

  /** Gives servers that have room what waits, then second attempts. */
  #start(): void {
    if (this.#failure !== undefined) return;
    for (const node of this.#options.nodes) {
      while (this.#hasRoom(node)) {
        const task = this.#nextFor(node) ?? this.#slowFor(node);
        if (task === undefined) break;
        void this.#attempt(task, node);
      }
    }
    this.#lastResort();
  }

  #hasRoom(node: string): boolean {
    const { isUp = () => true, self } = this.#options;
    return (this.#busy.get(node) ?? 0) < AT_ONCE_PER_NODE && (node === self || isUp(node));
  }

  /** A shard of its own, else one whose servers failed, else one that waits behind another's. */
  #nextFor(node: string): Task | undefined {
    const waiting = this.#tasks.filter((task) =>
      !task.isDone && task.running.size === 0 && !task.tried.has(node) &&
      task.ranked.includes(node)
    );
    const { self } = this.#options;
    const wanted = (task: Task) =>
      task.ranked.find((one) => !task.tried.has(one) && (one === self || this.#isUp(one)));
    const own = waiting.find((task) => wanted(task) === node);
    if (own !== undefined) return own;
    // The coordinator is the last one for shards that failed, but takes what only waits.
    if ((this.#busy.get(node) ?? 0) > 0) return undefined;
    return waiting.find((task) => {
      const home = wanted(task);
      return (task.tried.size === 0 || node !== self) && home !== undefined && !this.#hasRoom(home);
    });
  }

  #isUp(node: string): boolean {
    return this.#options.isUp?.(node) ?? true;
  }

  /** A shard whose one attempt takes much longer than its sisters did, for an idle server. */
  #slowFor(node: string): Task | undefined {
    if ((this.#busy.get(node) ?? 0) > 0) return undefined;
    const { nowMs } = this.#options;
    const sorted = this.#walls.toSorted((a, b) => a - b);
    const usual = sorted[Math.min(sorted.length - 1, Math.floor(0.95 * sorted.length))];
    const afterMs = usual === undefined
      ? HEDGE_MS_ALONE
      : Math.max(HEDGE_MS_MIN, HEDGE_FACTOR * usual);
    return this.#tasks.find(({ isDone, running, tried, ranked }) => {
      const [only, ...more] = running.values();
      return !isDone && only !== undefined && more.length === 0 && !tried.has(node) &&
        ranked.includes(node) && nowMs() - only.sinceMs > afterMs;
    });
  }

  /** A shard that every server has failed is tried by the coordinator, whatever it has to do. */
  #lastResort(): void {
    const { self } = this.#options;
    for (const task of this.#tasks) {
      if (task.isDone || task.running.size > 0 || task.tried.has(self)) continue;
      const left = task.ranked.some((node) =>
        node !== self && !task.tried.has(node) && this.#isUp(node)
      );
      if (!left && this.#hasRoom(self)) void this.#attempt(task, self);
    }
  }

  async #attempt(task: Task, node: string): Promise<void> {
    const { run, nowMs, told = () => {} } = this.#options;
    const sinceMs = nowMs();
    const stop = new AbortController();
    task.tried.add(node);
    task.running.set(node, { stop, sinceMs });
    this.#busy.set(node, (this.#busy.get(node) ?? 0) + 1);
    const wallMs = () => nowMs() - sinceMs;
    try {
      const signal = AbortSignal.any([this.#signal, stop.signal]);
      const value = await run(task.index, node, signal);
      if (task.isDone) return told("late", wallMs());
      task.isDone = true;
      this.#walls.push(wallMs());
      told("ok", wallMs());
      const { index, shard: { bytes }, tried } = task;
      this.#ready.push({ index, node, bytes, wallMs: wallMs(), attempts: tried.size, value });
      for (const [other, { stop: ends }] of task.running) {
        if (other !== node) {
          ends.abort(new OperatingError("cancelled", "Another server was quicker"));
        }
      }
    } catch (error) {
      if (task.isDone || this.#signal.aborted) return told("late", wallMs());
      this.#failed(task, node, error);
      told(this.#failure === undefined ? "retried" : "failed", wallMs());
    } finally {
      task.running.delete(node);
      this.#busy.set(node, (this.#busy.get(node) ?? 1) - 1);
      this.#again();
    }
  }

  #failed(task: Task, node: string, error: unknown): void {
    if (error instanceof FanOutEnds) return this.#fail(error.cause);
    if (node === this.#options.self) task.ownFailure = { error };
    const isRunning = [...task.running.keys()].some((one) => one !== node);
    const isLeft = task.ranked.some((one) =>
      !task.tried.has(one) && (one === this.#options.self || this.#isUp(one))
    );
    // The caller is told what this server found, and not what another one answered it.
    if (!isRunning && !isLeft) this.#fail((task.ownFailure ?? { error }).error);
  }
}

/** The server that it was cut for, then as its first file ranks them, the coordinator last. */
function ranked<T>(
  { node, files, isOwn = false }: CutShard,
  { nodes, self }: FanOutOptions<T>,
): string[] {
  if (isOwn) return [self];
  const others = rankedNodes(files[0]?.key ?? "", nodes)
    .filter((one) => one !== node && one !== self);
  return [node, ...others, ...(node === self ? [] : [self])];
}
