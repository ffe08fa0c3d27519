/**
 * Work beside the caller, on a thread of its own: one request at a time, in order, so that a server in the same
 * process keeps answering.
 *
 * The thread starts with its first request and loads its module from the source tree, which needs read permission there
 * (a compiled program has it inside). Where that is not granted, which is logged once, `ThreadUnavailable` is what each
 * request gets, and the caller does the work itself. After any other failure the next request gets a new thread.
 */

import { getLogger } from "@logtape/logtape";
import { statSync } from "node:fs";
import type { Reply } from "./serve_tasks.ts";

/** The module could not be loaded, and so it will be with the next request. */
export class ThreadUnavailable extends Error {
  override readonly name = "ThreadUnavailable";
}

export interface TaskThreadOptions {
  /** What it does, for the log: `writes Parquet`. */
  readonly what: string;
  /** Of the log. */
  readonly category: readonly string[];
}

export class TaskThread<Q, V> implements Disposable {
  readonly #module: URL;
  readonly #options: TaskThreadOptions;
  #worker: Worker | undefined;
  /** Why there is no thread. */
  #unavailable: string | undefined;
  /** Whether a thread has ever answered. */
  #works = false;
  #last: Promise<unknown> = Promise.resolve();

  /** `module` calls `serveTasks`. */
  constructor(module: URL, options: TaskThreadOptions) {
    this.#module = module;
    this.#options = options;
    if (!isReadable(module)) this.#giveUp(`no read permission on ${module.pathname}`);
  }

  /** False once it is known that there can be no thread. */
  get isAvailable(): boolean {
    return this.#unavailable === undefined;
  }

  /** Errors: `ThreadUnavailable`; an `Error` with the message of what was thrown over there. */
  run(request: Q, transfer: readonly ArrayBuffer[] = []): Promise<V> {
    const reply = this.#last.then(() => this.#run(request, transfer));
    this.#last = reply.catch(() => {});
    return reply;
  }

  [Symbol.dispose](): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  async #run(request: Q, transfer: readonly ArrayBuffer[]): Promise<V> {
    if (this.#unavailable !== undefined) throw new ThreadUnavailable(this.#unavailable);
    this.#worker ??= new Worker(this.#module, { type: "module" });
    const reply = await replyOf<V>(this.#worker, request, transfer);
    if ("value" in reply) {
      this.#works = true;
      return reply.value;
    }
    // What failed may have left its memory in disorder.
    this[Symbol.dispose]();
    if ("failure" in reply) throw new Error(reply.failure);
    if (this.#works) throw new Error(reply.stopped);
    this.#giveUp(reply.stopped);
    throw new ThreadUnavailable(reply.stopped);
  }

  #giveUp(reason: string): void {
    this.#unavailable = reason;
    const { what, category } = this.#options;
    getLogger([...category]).info("{what}: there is no thread for that, {reason}", {
      what,
      reason,
    });
  }
}

/** One request is under way at a time, so the next message is its reply. */
function replyOf<V>(
  worker: Worker,
  request: unknown,
  transfer: readonly ArrayBuffer[],
): Promise<Reply<V> | { readonly stopped: string }> {
  return new Promise((resolve) => {
    worker.onmessage = ({ data }: MessageEvent<Reply<V>>) => resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve({ stopped: event.message });
    };
    worker.postMessage(request, [...transfer]);
  });
}

function isReadable(url: URL): boolean {
  try {
    statSync(url);
    return true;
  } catch {
    return false;
  }
}
