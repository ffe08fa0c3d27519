/**
 * A SQL engine on a thread of its own, behind others in the scheduler's eyes: what runs in it takes all processors while they
 * are idle, and steps back as soon as somebody else wants one. Linux gives a new thread the priority of the one that
 * creates it, and without privileges no thread can raise its own again. So one thread lowers its priority and starts another
 * (`yielding_worker.ts`), which creates the whole engine (`driver_worker.ts`), whose pool and locks are its own: no other
 * statement waits for a thread that does not get its turn.
 *
 * Needs `ffi` as the driver in the same thread does, read permission on the source tree, and `sys=setPriority`.
 */

import { OperatingError } from "../base/errors.ts";
import { withDeadline } from "../http/deadline.ts";
import {
  type DescribedColumn,
  type DriverOptions,
  type EngineConnection,
  type EngineDatabase,
  type EngineDriver,
  EngineFault,
  type Relation,
  type RunProfile,
  type RunStatement,
  type TextChunk,
} from "./driver.ts";
import type { CallName, CallReply, CallRequest, DriverCalls } from "./driver_messages.ts";
import type { RunProgress } from "./types.ts";
import { type PlaceInLine, Waiters } from "./waiters.ts";
import type { YieldingStart } from "./yielding_worker.ts";

/** Two threads and an engine take half a second, and longer where others want the processors. */
const OPEN_MS_MAX = 10_000;

export interface ThreadDriverOptions {
  /** 1 (a little behind) to 19. */
  readonly niceness: number;
  /** How long `open` may take. */
  readonly openMsMax?: number;
}

/** Errors of `open`: `internal` where there can be no such thread (`yieldingRefusal`), `deadline_exceeded`. */
export function threadDriver(
  { niceness, openMsMax = OPEN_MS_MAX }: ThreadDriverOptions,
): EngineDriver {
  return { name: "native", open: (options) => openOnThread(options, { niceness, openMsMax }) };
}

async function openOnThread(
  options: DriverOptions,
  { niceness, openMsMax }: Required<ThreadDriverOptions>,
): Promise<EngineDatabase> {
  const thread = new DriverThread(niceness);
  try {
    const deadline = { msMax: openMsMax, what: "the thread of low priority opened no engine" };
    await withDeadline(deadline, () => thread.call("open", options));
    return new ThreadDatabase(thread, options.connections);
  } catch (error) {
    thread.terminate();
    throw error;
  }
}

type Result<N extends CallName> = Awaited<ReturnType<DriverCalls[N]>>;

interface Pending {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/** The calls that are under way over there. */
class DriverThread {
  readonly #worker = new Worker(new URL("./yielding_worker.ts", import.meta.url), {
    type: "module",
  });
  readonly #port: MessagePort;
  readonly #pending = new Map<number, Pending>();
  #last = 0;
  /** Why it takes no more calls. */
  #ended: Error | undefined;

  constructor(niceness: number) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#port.onmessage = ({ data }: MessageEvent<CallReply>) => this.#settle(data);
    this.#worker.postMessage({ niceness, port: port2 } satisfies YieldingStart, [port2]);
    this.#worker.onmessage = ({ data }: MessageEvent<string>) => this.#fail(data);
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#fail(event.message);
    };
  }

  call<N extends CallName>(name: N, ...args: Parameters<DriverCalls[N]>): Promise<Result<N>> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      const id = this.#last += 1;
      this.#pending.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#port.postMessage({ id, name, args } satisfies CallRequest);
    });
  }

  /** `call` for what gives back: a thread that has ended has given all of it. */
  async callIfThere(name: "end" | "release", connection: number): Promise<void> {
    try {
      await this.call(name, connection);
    } catch (error) {
      if (this.#ended === undefined) throw error;
    }
  }

  terminate(): void {
    this.#port.close();
    this.#worker.terminate();
    this.#end(new EngineFault("interrupted", "the SQL engine is closed"));
  }

  #settle({ id, value, failure }: CallReply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (failure === undefined) return pending?.resolve(value);
    const { kind = "internal", message } = failure;
    pending?.reject(new EngineFault(kind, message));
  }

  #fail(why: string): void {
    this.#end(new EngineFault("internal", `the SQL engine's thread ended: ${why}`));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }
}

class ThreadDatabase implements EngineDatabase {
  /** As many as may be lent: who waits does so here, where tenants take turns. */
  readonly #free = new Waiters<symbol>();
  #closed: Promise<void> | undefined;

  constructor(private readonly thread: DriverThread, connections: number) {
    for (let at = 0; at < connections; at += 1) this.#free.give(Symbol());
  }

  async connect(signal: AbortSignal, line?: PlaceInLine): Promise<EngineConnection> {
    const place = await this.#free.take(signal, line);
    try {
      const number = await this.thread.call("connect");
      return new ThreadConnection(this.thread, number, () => this.#free.give(place));
    } catch (error) {
      this.#free.give(place);
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#free.close(new OperatingError("unavailable", "The SQL engine is closed"));
    try {
      await this.thread.call("close");
    } finally {
      this.thread.terminate();
    }
  }
}

const NOTHING_DONE: RunProgress = { rows: 0, percent: undefined };

class ThreadConnection implements EngineConnection {
  /** As it was last told. */
  #progress = NOTHING_DONE;
  #isAsking = false;

  constructor(
    private readonly thread: DriverThread,
    private readonly number: number,
    private readonly giveBack: () => void,
  ) {}

  serialize(sql: string): Promise<string> {
    return this.thread.call("serialize", this.number, sql);
  }

  deserialize(tree: string): Promise<string> {
    return this.thread.call("deserialize", this.number, tree);
  }

  texts(sql: string): Promise<(string | null)[][]> {
    return this.thread.call("texts", this.number, sql);
  }

  describe(sql: string, relations: readonly Relation[]): Promise<readonly DescribedColumn[]> {
    return this.thread.call("describe", this.number, sql, relations);
  }

  explain(sql: string): Promise<string> {
    return this.thread.call("explain", this.number, sql);
  }

  async *rows(statement: RunStatement): AsyncGenerator<TextChunk> {
    this.#progress = NOTHING_DONE;
    // Calls arrive in order: what fails here fails the first `next`.
    this.thread.call("begin", this.number, statement).catch(() => {});
    let isOver = false;
    try {
      for (;;) {
        const { texts, progress } = await this.thread.call("next", this.number);
        this.#progress = progress;
        isOver = texts === undefined;
        if (texts === undefined) return;
        const { bytes, ends } = texts;
        yield {
          rowCount: ends.length,
          bytes: (rows = ends.length) => bytes.subarray(0, rows === 0 ? 0 : ends[rows - 1]),
          ends: () => ends,
        };
      }
    } finally {
      if (!isOver) await this.thread.callIfThere("end", this.number);
    }
  }

  /** What was told last; whoever asks again and again is at most one question behind. */
  progress(): RunProgress {
    if (!this.#isAsking) void this.#askProgress();
    return this.#progress;
  }

  interrupt(): void {
    this.thread.call("interrupt", this.number).catch(() => {});
  }

  profile(): Promise<RunProfile | undefined> {
    return this.thread.call("profile", this.number);
  }

  async release(): Promise<void> {
    try {
      await this.thread.callIfThere("release", this.number);
    } finally {
      this.giveBack();
    }
  }

  async #askProgress(): Promise<void> {
    this.#isAsking = true;
    try {
      this.#progress = await this.thread.call("progress", this.number);
    } catch {
      // It was given back meanwhile, or its thread ended: whoever waits for its rows hears of it.
    } finally {
      this.#isAsking = false;
    }
  }
}
