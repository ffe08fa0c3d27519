/**
 * Work beside the caller, on a thread of its own: one request at a time, in order, so that a server in the same
 * process keeps answering.
 *
 * The thread starts with its first request and loads its module from the source tree, which needs read permission there
 * (a compiled program has it inside). Where that is not granted, `ThreadUnavailable` is what each request gets, and the
 * caller does the work itself. After any other failure the next request gets a new thread.
 */

import { statSync } from "node:fs";

/** The module could not be loaded, and so it will be with the next request. */
export class ThreadUnavailable extends Error {
  override readonly name = "ThreadUnavailable";
}

type Reply<V> =
  | { readonly value: V }
  | { readonly failure: string };

export class TaskThread<Q, V> implements Disposable {
  readonly #module: URL;
  #worker: Worker | undefined;
  /** Why there is no thread. */
  #unavailable: string | undefined;
  /** Whether a thread has ever answered. */
  #works = false;
  #last: Promise<unknown> = Promise.resolve();

  /** `module` calls `serveTasks`. */
  constructor(module: URL) {
    this.#module = module;
    if (!isReadable(module)) this.#unavailable = `no read permission on ${module.pathname}`;
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
    this.#unavailable = reply.stopped;
    throw new ThreadUnavailable(reply.stopped);
  }
}

/** The other side: `work` gives a value, and those of its buffers that can be handed over instead of copied. */
export function serveTasks<Q, V>(
  work: (request: Q) => { readonly value: V; readonly transfer?: readonly ArrayBuffer[] },
): void {
  const scope = globalThis as unknown as {
    onmessage: ((event: MessageEvent<Q>) => void) | null;
    postMessage(reply: Reply<V>, transfer: readonly ArrayBuffer[]): void;
  };
  scope.onmessage = ({ data }) => {
    try {
      const { value, transfer = [] } = work(data);
      scope.postMessage({ value }, transfer);
    } catch (error) {
      scope.postMessage({ failure: String(error) }, []);
    }
  };
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
