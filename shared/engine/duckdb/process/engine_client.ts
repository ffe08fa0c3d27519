/**
 * The server's side of one process with a DuckDB: calls and their responses, deadlines, and its
 * end. Once it has ended, whoever waits for a response gets an `EngineFault` of kind `lost`. There
 * are no more responses then; `process_driver.ts` starts another process.
 *
 * The process is ended when it has not obeyed an interrupt in time, takes too much memory, or tells
 * nothing any more.
 */

import { formatBytes } from "../../../base/bytes.ts";
import { OperatingError } from "../../../base/errors.ts";
import type { StartedChild } from "../../../os/child_process.ts";
import { withDeadline } from "../../../base/with_deadline.ts";
import { type DriverOptions, EngineFault, type RunStatement } from "../driver.ts";
import {
  ENGINE_CLOSE_MS_MAX,
  SILENT_MS_END,
  SILENT_MS_MAX,
  STUCK_CPU_MS_MIN,
  STUCK_MS_MAX,
  STUCK_MS_MIN,
} from "../../limits.ts";
import type {
  Beat,
  CallAnswer,
  CallName,
  EngineCalls,
  NoteName,
  Request,
  RunEnd,
} from "./calls.ts";
import { FrameSocket } from "./frames.ts";
import { ResidentWatch } from "./resident_watch.ts";
import { spawnEngine } from "./spawn_engine.ts";

/** Why a process ended without the server's wish. */
export const ENGINE_ENDS = ["deadline", "memory", "silent", "exited"] as const;
export type EngineFailure = typeof ENGINE_ENDS[number];
/** Why a process ended. `rested`: nobody needs it now. `closed`: there will be no other. */
export type EngineEnd = EngineFailure | "rested" | "closed";

/** How a process is started, and when it is ended. */
export interface ClientOptions {
  /** Niceness of the process, 0 to 19. */
  readonly niceness: number;
  /** Bytes that it may take beyond its memory pool and what it took at its start. */
  readonly headroomBytes: number;
  readonly openMsMax: number;
  /** Aborting it ends the process while it opens. */
  readonly signal: AbortSignal;
  /** Starts the process; default: `spawnEngine`. */
  readonly spawn?: typeof spawnEngine;
  readonly onLine: (line: string) => void;
  /** Called when its statements were interrupted because of the memory that it takes. */
  readonly onTooLarge: (residentBytes: number) => void;
}

/** What runs on a connection, as far as the process is judged by it. */
export interface Work {
  /** Calls whose responses have not come. */
  pending: number;
  /** Set when what it waits for was interrupted, or ended, because of the process's memory. */
  isTooLarge: boolean;
  /** Names the work in the log. */
  readonly label: () => string;
  interrupt(): void;
}

interface Waiting {
  resolve(value: never): void;
  reject(error: unknown): void;
  rows?(answer: Required<CallAnswer>["rows"], body: Uint8Array<ArrayBuffer>): void;
}

interface Stop {
  readonly sinceMs: number;
  readonly cpuMs: number;
}

const CHECK_MS = 250;
const LATE_MS = 500;
const NO_SOCKET = "it closed its socket";

/** One process. It is never started again. */
export class EngineClient {
  readonly #frames: FrameSocket;
  readonly #spawned: StartedChild;
  readonly #options: ClientOptions;
  readonly #waiting = new Map<number, Waiting>();
  readonly #working = new Set<Work>();
  /** Work that has been told to end, and since when. */
  readonly #stopping = new Map<Work, Stop>();
  readonly #ended = Promise.withResolvers<EngineEnd>();
  readonly #gone = Promise.withResolvers<void>();
  readonly #checks: ReturnType<typeof setInterval>;
  /** Set once its database is open. How long that may take is bounded by `openMsMax` alone. */
  #resident: ResidentWatch | undefined;
  /** What it had when its database was open, with its memory pool. */
  #fullBytes = Infinity;
  #late: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #end: EngineEnd | undefined;
  /** Why it ended, in words. */
  #why = "";
  #beat: Beat = { residentBytes: 0, cpuMs: 0 };
  #beatMs = performance.now();
  #checkedMs = performance.now();

  private constructor(spawned: StartedChild, options: ClientOptions) {
    this.#spawned = spawned;
    this.#options = options;
    this.#frames = new FrameSocket(spawned.socket, {
      onFrame: (answer, body) => this.#take(answer as CallAnswer, body),
      // How the process ended tells more, and comes soon.
      onEnd: () => this.#late = setTimeout(() => this.#finish("exited", NO_SOCKET), LATE_MS),
    });
    void spawned.ended.then((how) => {
      this.#finish("exited", how);
      this.#gone.resolve();
    });
    this.#checks = setInterval(() => this.#check(), CHECK_MS);
  }

  /**
   * Starts a process. Errors: `unavailable` when there can be no such process; `deadline_exceeded`;
   * DuckDB's own.
   */
  static async open(options: DriverOptions, client: ClientOptions): Promise<EngineClient> {
    const { scratchDir } = options;
    const { spawn = spawnEngine } = client;
    let lastLine = "";
    const spawned = await spawn({
      niceness: client.niceness,
      scratchDir,
      onLine: (line) => client.onLine(lastLine = line),
    });
    const engine = new EngineClient(spawned, client);
    const onAbort = () => engine.kill("closed", "it is not wanted any more");
    client.signal.addEventListener("abort", onAbort, { once: true });
    try {
      const msMax = client.openMsMax;
      const opening = engine.call("open", options);
      await withDeadline({ msMax, what: "DuckDB's process did not open" }, () => opening);
    } catch (error) {
      engine.kill("closed", "it did not open");
      if (!(error instanceof EngineFault) || error.kind !== "lost") throw error;
      await engine.gone; // Its last words have come then.
      throw new OperatingError(
        "unavailable",
        `Cannot open DuckDB in a process of its own: ${error.message}; ${lastLine}`,
        { reason: "engine_not_loaded", cause: error },
      );
    } finally {
      client.signal.removeEventListener("abort", onAbort);
    }
    engine.#beatMs = performance.now();
    const roomBytes = options.memoryBytesMax + client.headroomBytes;
    const atStart = engine.#beat.residentBytes;
    engine.#fullBytes = atStart + options.memoryBytesMax;
    engine.#resident = new ResidentWatch({
      bytesMax: atStart + roomBytes,
      bytesEnd: atStart + roomBytes + client.headroomBytes,
    });
    return engine;
  }

  get pid(): number {
    return this.#spawned.pid;
  }

  /** Bytes of its resident memory, as it told last. */
  get residentBytes(): number {
    return this.#beat.residentBytes;
  }

  /** Bytes that it takes and that neither its start nor a full memory pool explains. */
  get unexplainedBytes(): number {
    return Math.max(0, this.#beat.residentBytes - this.#fullBytes);
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  /** Why it ended, once it has. */
  get why(): string {
    return this.#why;
  }

  /** Resolves once no more responses come. */
  get ended(): Promise<EngineEnd> {
    return this.#ended.promise;
  }

  /** Resolves when the process is no more, and the memory that it took is free again. */
  get gone(): Promise<void> {
    return this.#gone.promise;
  }

  /** How long it has told nothing, where that is too long; undefined otherwise. */
  get silentMs(): number | undefined {
    const ms = performance.now() - this.#beatMs;
    return ms > SILENT_MS_MAX ? ms : undefined;
  }

  call<N extends CallName>(
    name: N,
    ...args: Parameters<EngineCalls[N]>
  ): Promise<Awaited<ReturnType<EngineCalls[N]>>> {
    return this.#request(name, args);
  }

  /** Calls `rows` with each chunk. Resolves after the last one. */
  stream(
    connection: number,
    statement: RunStatement,
    rows: NonNullable<Waiting["rows"]>,
  ): Promise<RunEnd> {
    return this.#request("rows", [connection, statement], rows);
  }

  note(name: NoteName, connection: number): void {
    this.#send({ id: 0, name, args: [connection] });
  }

  /** From now on the process is judged by what `work` does, until `left`. */
  entered(work: Work): void {
    this.#working.add(work);
  }

  left(work: Work): void {
    this.#working.delete(work);
    this.#stopping.delete(work);
  }

  /** Says that `work` was told to end: what it waits for is to come soon. */
  stopping(work: Work): void {
    if (work.pending === 0 || this.#stopping.has(work)) return;
    this.#stopping.set(work, { sinceMs: performance.now(), cpuMs: this.#beat.cpuMs });
  }

  /** Says that the last response of `work` came: it did end. */
  rested(work: Work): void {
    this.#stopping.delete(work);
  }

  kill(end: EngineEnd, why: string): void {
    this.#finish(end, why);
    this.#spawned.kill();
  }

  /** Lets what runs end, within a bound. */
  async close(end: Exclude<EngineEnd, EngineFailure> = "closed"): Promise<void> {
    const closing = this.call("close");
    this.#end ??= end;
    try {
      const what = "DuckDB did not close";
      await withDeadline({ msMax: ENGINE_CLOSE_MS_MAX, what }, () => closing);
    } catch {
      // It is ended in any case.
    }
    this.kill(end, "DuckDB is closed");
    await this.#gone.promise;
  }

  #request<T>(
    name: CallName,
    args: readonly unknown[],
    rows?: Waiting["rows"],
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#lost());
      const id = this.#last += 1;
      this.#waiting.set(id, { resolve, reject, ...(rows === undefined ? {} : { rows }) });
      this.#send({ id, name, args });
    });
  }

  #send(request: Request): void {
    if (this.#end === undefined) this.#frames.send(request);
  }

  #take({ id, value, failure, rows, beat }: CallAnswer, body: Uint8Array<ArrayBuffer>): void {
    if (beat !== undefined) return this.#judge(beat);
    const waiting = this.#waiting.get(id);
    if (rows !== undefined) return waiting?.rows?.(rows, body);
    this.#waiting.delete(id);
    if (failure === undefined) return waiting?.resolve(value as never);
    const { kind = "internal", message } = failure;
    waiting?.reject(new EngineFault(kind, message));
  }

  #judge(beat: Beat): void {
    this.#beat = beat;
    this.#beatMs = performance.now();
    const verdict = this.#resident?.judge(beat.residentBytes, this.#beatMs) ?? "fine";
    if (verdict === "end") {
      // Some of these statements made it so, and would end the next process too. So none is asked
      // again.
      for (const work of this.#working) work.isTooLarge = work.pending > 0;
      this.kill("memory", `it takes ${formatBytes(beat.residentBytes)} of memory`);
    } else if (verdict === "interrupt") {
      for (const work of this.#working) {
        if (work.pending === 0) continue;
        work.isTooLarge = true;
        work.interrupt();
      }
      this.#options.onTooLarge(beat.residentBytes);
    }
  }

  #check(): void {
    const nowMs = performance.now();
    // This process may have been paused itself. Then nobody's silence tells anything.
    if (nowMs - this.#checkedMs > SILENT_MS_MAX) this.#beatMs = nowMs;
    this.#checkedMs = nowMs;
    const silentMs = nowMs - this.#beatMs;
    if (this.#resident !== undefined && silentMs > SILENT_MS_END) {
      return this.kill("silent", `it has told nothing for ${Math.round(silentMs / 1000)} s`);
    }
    for (const [work, { sinceMs, cpuMs }] of this.#stopping) {
      const ms = nowMs - sinceMs;
      const isAtWork = this.#beat.cpuMs - cpuMs >= STUCK_CPU_MS_MIN;
      if (ms < STUCK_MS_MIN || (ms < STUCK_MS_MAX && !isAtWork)) continue;
      const how = `${work.label()} went on for ${Math.round(ms)} ms after it was interrupted`;
      return this.kill("deadline", how);
    }
  }

  #finish(end: EngineEnd, why: string): void {
    if (this.#why !== "") return;
    this.#end ??= end;
    this.#why = why;
    clearInterval(this.#checks);
    clearTimeout(this.#late);
    this.#frames.destroy();
    for (const { reject } of this.#waiting.values()) reject(this.#lost());
    this.#waiting.clear();
    this.#stopping.clear();
    this.#ended.resolve(this.#end);
  }

  #lost(): EngineFault {
    return this.#end === "closed"
      ? new EngineFault("interrupted", "DuckDB is closed")
      : new EngineFault("lost", `DuckDB's process has ended: ${this.#why}`);
  }
}
