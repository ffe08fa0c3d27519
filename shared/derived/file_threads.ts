/**
 * Makes data files and their sidecars on one thread, for processes that make many. What encoding
 * and deriving have in common is compiled once, and there is one heap less. Where there are
 * processors for it, a second thread encodes once the first has been busy for a while.
 */

import {
  type RunsTasks,
  TaskThread,
  type TaskThreadOptions,
  type ThreadMemory,
} from "../os/task_thread.ts";
import type { EncodeRequest } from "../parquet/encode_parquet.ts";
import { openParquetEncoder, type ParquetEncoder } from "../parquet/parquet_encoder.ts";
import type { DeriveRequest } from "./derive.ts";
import { type Deriver, openDeriver } from "./deriver.ts";
import type { SummaryLimits } from "./summary/build_summary.ts";
import type { Derived } from "./types.ts";

/** What a thread may be asked. */
export type FileRequest = EncodeRequest | DeriveRequest;

export interface FileThreadsOptions {
  readonly memory?: ThreadMemory;
  /** Default: those that the process may use. */
  readonly processors?: number;
  /** How long the first thread is busy before a second helps; default 5,000. */
  readonly helpAfterMs?: number;
  /** How long a thread works on a part of one file at most; default 60,000. */
  readonly requestMsMax?: number;
}

export interface FileThreads extends Disposable {
  readonly encoder: ParquetEncoder;
  readonly deriver: Deriver;
}

/** What one thread does in less is not worth what a second one compiles. */
const HELP_AFTER_MS = 5_000;
/** Two processors are busy already: with this thread, and with whoever sends it rows. */
const PROCESSORS_MIN = 3;
/**
 * How long a thread works on a part of one file at most. It takes some seconds on a slow machine,
 * and others wait for the thread. Less than a drain's turn: a file whose words take too long is
 * committed without its sidecar in the same turn.
 */
const REQUEST_MS_MAX = 60_000;
/** Between the files of two commits. */
const PAUSE_MS_MAX = 1_000;

/** The threads start with the first file, and end when they are disposed of. */
export function openFileThreads(
  limits: SummaryLimits,
  options: FileThreadsOptions = {},
): FileThreads {
  const onIdle: (() => void)[] = [];
  const threads = new RunningThreads(options, () => onIdle.forEach((drop) => drop()));
  const encoder = openParquetEncoder((drop) => {
    onIdle.push(drop);
    return sharing(threads, async (request) => await threads.encode(request) as ArrayBuffer);
  });
  const deriver = openDeriver(limits, {
    thread: sharing(threads, async (request) => await threads.derive(request) as Derived),
  });
  return { encoder, deriver, [Symbol.dispose]: () => encoder[Symbol.dispose]() };
}

function sharing<Q, V>(
  threads: RunningThreads,
  run: (request: Q) => Promise<V>,
): RunsTasks<Q, V> {
  return {
    get isAvailable() {
      return threads.isAvailable;
    },
    run,
    [Symbol.dispose]: () => threads[Symbol.dispose](),
  };
}

type Made = ArrayBuffer | Derived;

class RunningThreads implements Disposable {
  readonly #first: TaskThread<FileRequest, Made>;
  readonly #helper: TaskThread<FileRequest, Made>;
  readonly #mayHelp: boolean;
  readonly #helpAfterMs: number;
  #underWay = 0;
  /** When the first became busy, and when it ended what it was asked last. */
  #sinceMs = 0;
  #endedMs = -Infinity;

  constructor(options: FileThreadsOptions, onIdle: () => void) {
    const { memory, helpAfterMs = HELP_AFTER_MS, requestMsMax = REQUEST_MS_MAX } = options;
    const { processors = navigator.hardwareConcurrency } = options;
    this.#first = fileThread("makes data files", { memory, requestMsMax, onIdle });
    this.#helper = fileThread("writes Parquet", { memory, requestMsMax });
    this.#mayHelp = processors >= PROCESSORS_MIN;
    this.#helpAfterMs = helpAfterMs;
  }

  get isAvailable(): boolean {
    return this.#first.isAvailable;
  }

  encode(request: EncodeRequest): Promise<Made> {
    const isHelped = this.#mayHelp && this.#isBusy && this.#busyMs >= this.#helpAfterMs;
    return isHelped ? this.#helper.run(request) : this.#onFirst(request);
  }

  derive(request: DeriveRequest): Promise<Made> {
    return this.#onFirst(request);
  }

  async #onFirst(request: FileRequest): Promise<Made> {
    if (!this.#isBusy) this.#sinceMs = performance.now();
    this.#underWay += 1;
    try {
      return await this.#first.run(request);
    } finally {
      this.#underWay -= 1;
      this.#endedMs = performance.now();
    }
  }

  get #isBusy(): boolean {
    return this.#underWay > 0 || performance.now() - this.#endedMs <= PAUSE_MS_MAX;
  }

  get #busyMs(): number {
    return performance.now() - this.#sinceMs;
  }

  [Symbol.dispose](): void {
    this.#first[Symbol.dispose]();
    this.#helper[Symbol.dispose]();
  }
}

function fileThread(
  what: string,
  options: Partial<Pick<TaskThreadOptions, "memory" | "requestMsMax" | "onIdle">>,
): TaskThread<FileRequest, Made> {
  const module = new URL("./file_worker.ts", import.meta.url);
  return new TaskThread(module, { what, category: ["svc", "derived"], ...options });
}
