/**
 * Work beside the caller, on a thread of its own, so that a server in the same process keeps
 * answering. The thread works on one request at a time, in order, unless it waits for others
 * itself.
 *
 * The thread starts with its first request and loads its module from the source tree, which needs
 * read permission there (a compiled program has it inside). Where that is not granted, which is
 * logged once, `ThreadUnavailable` is what each request gets, and the caller does the work itself.
 * After any other failure the next request gets a new thread. So does one that comes after a pause:
 * a thread that has nothing to do for `IDLE_MS_MAX` ends, because its heap is tens of MiB.
 *
 * A request may have a deadline. Its loops heed it (`task_deadline.ts`); a thread that does not is
 * left behind. It takes a core until the process ends, as the runtime cannot end a busy thread.
 */

import { getLogger } from "@logtape/logtape";
import { statSync } from "node:fs";
import { collectGarbage } from "./garbage.ts";
import type { Reply, Task } from "./serve_tasks.ts";

/** It takes some 0.1 s of processor time to start one again. */
const IDLE_MS_MAX = 60_000;
/** So much longer than it may takes a request that does not heed it. */
const UNHEEDED_MS = 5_000;

/** The module could not be loaded, and so it will be with the next request. */
export class ThreadUnavailable extends Error {
  override readonly name = "ThreadUnavailable";
}

/** For threads that make arrays of tens of MiB. */
export interface ThreadMemory {
  /** With more resident bytes of the process a thread collects garbage behind each request. */
  readonly collectAboveBytes: number;
  /** Each thread's own heap and arrays, in bytes, as it told them last. */
  readonly heldBytes: Map<object, number>;
}

export interface TaskThreadOptions {
  /** What it does, for the log: `writes Parquet`. */
  readonly what: string;
  /** The category under which the thread's failures are logged. */
  readonly category: readonly string[];
  /** Whether it gets a request while others are under way; the caller bounds how many. */
  readonly isConcurrent?: boolean;
  /** Default: it never collects by itself, and tells nothing. */
  readonly memory?: ThreadMemory | undefined;
  /**
   * After how long without a request it ends; default: a minute. `Infinity`: it does not, for one
   * that keeps anything from one request to the next.
   */
  readonly idleMsMax?: number;
  /** A request that takes longer fails; default: none does. */
  readonly requestMsMax?: number | undefined;
  /** Called when it ended for that reason: what the caller keeps for the next request can go. */
  readonly onIdle?: () => void;
}

/** What a user of a thread needs of it, who may share it with others. */
export interface RunsTasks<Q, V> extends Disposable {
  /** False once it is known that there can be no thread. */
  readonly isAvailable: boolean;
  /** Errors: `ThreadUnavailable`; an `Error` with the message of what was thrown over there. */
  run(request: Q): Promise<V>;
}

type Outcome<V> = Reply<V> | { readonly stopped: string };

interface Asked<V> {
  readonly resolve: (outcome: Outcome<V>) => void;
  readonly deadline: ReturnType<typeof setTimeout> | undefined;
}

/** A thread that does not end its work, and takes a core until the process ends. */
export interface LostThread {
  /** `TaskThreadOptions.what`. */
  readonly what: string;
  /** Unix milliseconds at which it was left behind. */
  readonly sinceMs: number;
}

/** The threads that this process has left behind, in their order. */
export function lostThreads(): readonly LostThread[] {
  return LOST;
}

const LOST: LostThread[] = [];

export class TaskThread<Q, V> implements RunsTasks<Q, V> {
  readonly #module: URL;
  readonly #options: TaskThreadOptions;
  #worker: Worker | undefined;
  /** Why there is no thread. */
  #unavailable: string | undefined;
  /** Whether a thread has ever answered. */
  #works = false;
  #last: Promise<unknown> = Promise.resolve();
  #asked = 0;
  #askedMs = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Map<number, Asked<V>>();

  /** `module` calls `serveTasks`. */
  constructor(module: URL, options: TaskThreadOptions) {
    this.#module = module;
    this.#options = options;
    if (!isReadable(module)) this.#giveUp(`no read permission on ${module.pathname}`);
  }

  get isAvailable(): boolean {
    return this.#unavailable === undefined;
  }

  /** Whether there is a thread now. */
  get isRunning(): boolean {
    return this.#worker !== undefined;
  }

  run(request: Q, transfer: readonly ArrayBuffer[] = []): Promise<V> {
    if (this.#options.isConcurrent === true) return this.#run(request, transfer);
    const reply = this.#last.then(() => this.#run(request, transfer));
    this.#last = reply.catch(() => {});
    return reply;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    for (const { deadline } of this.#waiting.values()) clearTimeout(deadline);
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#options.memory?.heldBytes.delete(this);
  }

  async #run(request: Q, transfer: readonly ArrayBuffer[]): Promise<V> {
    if (this.#unavailable !== undefined) throw new ThreadUnavailable(this.#unavailable);
    const reply = await this.#ask(request, transfer);
    if ("value" in reply) {
      this.#works = true;
      return reply.value;
    }
    if ("failure" in reply) {
      // What failed may have left its memory in disorder.
      this.#stop(reply.failure);
      throw new Error(reply.failure);
    }
    if (this.#works) throw new Error(reply.stopped);
    this.#giveUp(reply.stopped);
    throw new ThreadUnavailable(reply.stopped);
  }

  #ask(request: Q, transfer: readonly ArrayBuffer[]): Promise<Outcome<V>> {
    this.#worker ??= this.#start();
    this.#askedMs = performance.now();
    if (this.#idleMsMax < Infinity) this.#idle ??= this.#endAfter(this.#idleMsMax);
    const { requestMsMax, memory } = this.#options;
    const collectAboveBytes = memory?.collectAboveBytes;
    const task: Task<Q> = {
      id: this.#asked++,
      request,
      ...(collectAboveBytes === undefined ? {} : { collectAboveBytes }),
      ...(requestMsMax === undefined ? {} : { msMax: requestMsMax }),
    };
    this.#worker.postMessage(task, [...transfer]);
    return new Promise((resolve) =>
      this.#waiting.set(task.id, { resolve, deadline: this.#deadlineOf(task.id) })
    );
  }

  #deadlineOf(id: number): ReturnType<typeof setTimeout> | undefined {
    const { requestMsMax, what, category } = this.#options;
    if (requestMsMax === undefined) return undefined;
    const ms = requestMsMax + UNHEEDED_MS;
    return setTimeout(() => {
      getLogger([...category]).error(
        "{what}: a thread does not end its work after {secs} s. It is replaced, and takes a core " +
          "until this process is restarted",
        { what, secs: ms / 1_000 },
      );
      LOST.push({ what, sinceMs: Date.now() });
      this.#settle({ id, failure: `it took longer than ${ms / 1_000} s` });
    }, ms);
  }

  #settle(reply: Reply<V>): void {
    const asked = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    clearTimeout(asked?.deadline);
    asked?.resolve(reply);
  }

  get #idleMsMax(): number {
    return this.#options.idleMsMax ?? IDLE_MS_MAX;
  }

  /** Looks once in a while: a timer for each request would cost more than the others of it. */
  #endAfter(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      const leftMs = this.#askedMs + this.#idleMsMax - performance.now();
      if (this.#waiting.size > 0) this.#idle = this.#endAfter(this.#idleMsMax);
      else if (leftMs > 0) this.#idle = this.#endAfter(leftMs);
      else this.#endIdle();
    }, ms);
  }

  #endIdle(): void {
    const { memory, onIdle } = this.#options;
    this[Symbol.dispose]();
    onIdle?.();
    // What the thread was sent is garbage of this one, which has no reason to collect it.
    if (memory !== undefined) collectGarbage();
  }

  #start(): Worker {
    const worker = new Worker(this.#module, { type: "module" });
    worker.onmessage = ({ data }: MessageEvent<Reply<V>>) => {
      if (data.heldBytes !== undefined) this.#options.memory?.heldBytes.set(this, data.heldBytes);
      this.#settle(data);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.#stop(event.message);
    };
    return worker;
  }

  /** Ends the thread, and with it what it was asked. */
  #stop(reason: string): void {
    this[Symbol.dispose]();
    for (const { resolve } of this.#waiting.values()) resolve({ stopped: reason });
    this.#waiting.clear();
  }

  #giveUp(reason: string): void {
    if (this.#unavailable !== undefined) return;
    this.#unavailable = reason;
    const { what, category } = this.#options;
    getLogger([...category]).info("{what}: there is no thread for that, {reason}", {
      what,
      reason,
    });
  }
}

function isReadable(url: URL): boolean {
  try {
    statSync(url);
    return true;
  } catch {
    return false;
  }
}
