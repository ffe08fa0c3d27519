/**
 * DuckDB in a process of its own. The process is replaced when it ends, whatever ends it: a
 * statement that does not obey its deadline, memory, a crash. Connections that are lent meanwhile
 * fail with an `EngineFault` of kind `lost`, or of kind `memory` where that ended them. A request
 * for a connection waits for the next process meanwhile. What lay in the database is gone.
 *
 * A process that takes much more than its pool while no connection is lent is renewed, before its
 * statements would be interrupted for it. DuckDB keeps the metadata of every Parquet file that it
 * read, also of those that are gone, and counts a third of the bytes.
 *
 * With `idleMsMax` the database rests while nobody needs it: it has no process, and so no memory.
 * The first connection starts one. It ends once none was lent for so long, but to a probe.
 */

import { createHash } from "node:crypto";
import { getLogger } from "@logtape/logtape";
import { messageOf, OperatingError } from "../../../base/errors.ts";
import type { FileSystem } from "../../../os/file_system.ts";
import type {
  ConnectionWanted,
  DriverOptions,
  EngineConnection,
  EngineDatabase,
  EngineDriver,
} from "../driver.ts";
import {
  ENGINE_OPEN_MS_MAX,
  ENGINE_PAUSE_MS_MAX,
  ENGINE_PAUSE_MS_MIN,
  ENGINE_REOPEN_MS_MAX,
  ENGINE_STEADY_MS,
  REPLACED_WAIT_MS_MAX,
} from "../../limits.ts";
import { ENGINE_REPLACED } from "../fault_error.ts";
import { Waiters } from "../../turns/waiters.ts";
import { EngineClient, type EngineFailure } from "./engine_client.ts";
import { ProcessConnection } from "./process_connection.ts";

const log = getLogger(["svc", "engine"]);

/** Is told of processes. */
export interface ProcessMeter {
  /** Tells that a process has ended, and is replaced. */
  ended(engine: string, reason: EngineFailure): void;
  /**
   * Tells that the statements of a process were interrupted because of the memory that it takes.
   */
  tooLarge(engine: string): void;
}

/** How processes are started, watched and told of. Bytes and milliseconds. */
export interface ProcessDriverOptions {
  /** Names the process in the log and to `meter`. */
  readonly engine: string;
  /** Niceness from 1 (it steps back a little) to 19; default 0, like others. */
  readonly niceness?: number;
  /**
   * Bytes that it may take beyond its memory pool: functions make texts that the pool does not
   * count.
   */
  readonly headroomBytes: number;
  /**
   * With more bytes beyond its pool it is renewed when no connection is lent; default: half of
   * `headroomBytes`.
   */
  readonly idleBytesMax?: number;
  /** How long `open` may take. */
  readonly openMsMax?: number;
  /** After how long without a connection it rests, as it does first; default: it never rests. */
  readonly idleMsMax?: number;
  /** After how long it wakes unless somebody needs it before; default: it waits for that. */
  readonly firstMs?: number;
  /** Makes and removes the folders of processes below `scratchDir`. */
  readonly files: Pick<FileSystem, "exists" | "mkdir" | "removeTree">;
  readonly meter?: ProcessMeter;
}

/** Errors of `open`: those of `EngineClient.open`. */
export function processDriver(options: ProcessDriverOptions): EngineDriver {
  return {
    open: async (database) => {
      const processes = new ProcessDatabase(database, options);
      await processes.open();
      return processes;
    },
  };
}

class ProcessDatabase implements EngineDatabase {
  /**
   * Numbers of connections, which mean the same in each process. Requests wait here, where tenants
   * go one after the other.
   */
  readonly #free = new Waiters<number>();
  readonly #closing = new AbortController();
  #client: EngineClient | undefined;
  /** Whether no process is wanted now. */
  #rests = false;
  /** Whether the process that is being started was not there because nobody needed it. */
  #wakes = false;
  /** Connections that are lent, but to a probe. */
  #lent = 0;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #first: ReturnType<typeof setTimeout> | undefined;
  /** Resolves when the process that was sent to rest is gone. */
  #gone: Promise<void> = Promise.resolve();
  /** Resolves when the next process is there. */
  #next: Promise<void> = Promise.resolve();
  #generation = 0;
  #pauseMs = ENGINE_PAUSE_MS_MIN;
  #closed: Promise<void> | undefined;

  constructor(
    private readonly database: DriverOptions,
    private readonly options: ProcessDriverOptions,
  ) {}

  async open(): Promise<void> {
    if (this.options.idleMsMax === undefined) await this.#start();
    else this.#restAtFirst();
    for (let at = 0; at < this.database.connections; at += 1) this.#free.give(at);
  }

  get isResting(): boolean {
    return this.#rests || this.#wakes;
  }

  get problem(): string | undefined {
    if (this.isResting) return undefined;
    const name = `DuckDB for ${this.options.engine} statements`;
    if (this.#client === undefined || this.#client.isOver) return `${name} is being replaced`;
    const { silentMs } = this.#client;
    if (silentMs === undefined) return undefined;
    return `${name} has not answered for ${Math.round(silentMs / 1000)} s`;
  }

  get residentBytes(): number {
    return this.#client?.isOver === false ? this.#client.residentBytes : 0;
  }

  async connect(signal: AbortSignal, wanted?: ConnectionWanted): Promise<EngineConnection> {
    const at = await this.#free.take(signal, wanted);
    const isProbe = wanted?.isProbe === true;
    if (!isProbe) this.#lend();
    const giveBack = () => {
      if (!isProbe) this.#takeBack();
      this.#free.give(at);
    };
    try {
      const client = await this.#current(signal);
      return new ProcessConnection(client, {
        at,
        label: () => labelOf(wanted),
        giveBack,
      });
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    const closed = new OperatingError("unavailable", "DuckDB is closed");
    this.#closing.abort(closed);
    clearTimeout(this.#idle);
    clearTimeout(this.#first);
    this.#free.close(closed);
    await this.#next.catch(() => {});
    await Promise.all([this.#client?.close(), this.#gone]);
  }

  /**
   * The process that is there, or the next one. Errors: `unavailable` when none comes in time; the
   * signal's reason.
   */
  async #current(signal: AbortSignal): Promise<EngineClient> {
    const startMs = performance.now();
    for (;;) {
      signal.throwIfAborted();
      this.#closing.signal.throwIfAborted();
      const client = this.#client;
      if (client !== undefined && !client.isOver) return client;
      if (this.#rests) this.#wake();
      // One that wakes has the priority that its statements would have: they wait either way.
      const waitMs = this.#wakes ? ENGINE_REOPEN_MS_MAX : REPLACED_WAIT_MS_MAX;
      const leftMs = waitMs - (performance.now() - startMs);
      if (leftMs <= 0) throw beingReplaced();
      await settledWithin(this.#next, leftMs, signal);
    }
  }

  #restAtFirst(): void {
    this.#rests = true;
    const { firstMs } = this.options;
    if (firstMs === undefined) return;
    this.#first = setTimeout(() => {
      if (this.#rests) this.#wake();
    }, firstMs);
  }

  #lend(): void {
    this.#lent += 1;
    clearTimeout(this.#idle);
  }

  #takeBack(): void {
    this.#lent -= 1;
    if (this.#lent === 0) this.#renewLarge();
    this.#restLater();
  }

  #renewLarge(): void {
    const { engine, headroomBytes, idleBytesMax = headroomBytes / 2 } = this.options;
    const client = this.#client;
    if (client === undefined || client.isOver || this.#closing.signal.aborted) return;
    if (client.unexplainedBytes <= idleBytesMax) return;
    log.info("DuckDB for {engine} statements is renewed: it takes {bytes} bytes of memory", {
      engine,
      bytes: client.residentBytes,
    });
    this.#rest();
    this.#wake();
  }

  #restLater(): void {
    const { idleMsMax } = this.options;
    if (this.#lent > 0 || idleMsMax === undefined || this.#closing.signal.aborted) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#rest(), idleMsMax);
  }

  #wake(): void {
    clearTimeout(this.#first);
    this.#rests = false;
    this.#wakes = true;
    this.#next = this.#startAgain(false).finally(() => {
      this.#wakes = false;
      // Who woke it may have left meanwhile.
      this.#restLater();
    });
  }

  /** Its process ends in order, beside whatever is asked next. */
  #rest(): void {
    const client = this.#client;
    // The next process may rest once it is there.
    if (client === undefined || client.isOver) return this.#restLater();
    this.#client = undefined;
    this.#rests = true;
    const scratchDir = this.#scratchDir;
    this.#gone = client.close("rested")
      .then(() => this.options.files.removeTree(scratchDir))
      .catch(() => {});
  }

  get #scratchDir(): string {
    return `${this.database.scratchDir}/p${this.#generation}`;
  }

  async #start(): Promise<void> {
    const { engine, headroomBytes, niceness = 0, files, meter } = this.options;
    const isFirst = this.#generation === 0 && !this.#wakes;
    const openMsMax = isFirst ? this.options.openMsMax ?? ENGINE_OPEN_MS_MAX : ENGINE_REOPEN_MS_MAX;
    this.#generation += 1;
    const scratchDir = this.#scratchDir;
    await files.mkdir(scratchDir);
    const startMs = performance.now();
    const client = await EngineClient.open({ ...this.database, scratchDir }, {
      niceness,
      headroomBytes,
      signal: this.#closing.signal,
      openMsMax,
      onLine: (line) => log.warn("DuckDB for {engine} statements says: {line}", { engine, line }),
      onTooLarge: (bytes) => {
        log.warn(
          "DuckDB for {engine} statements takes {bytes} bytes of memory: its statements are interrupted",
          { engine, bytes },
        );
        meter?.tooLarge(engine);
      },
    });
    this.#client = client;
    if (this.#closing.signal.aborted) return client.kill("closed", "DuckDB is closed");
    void client.ended.then((end) => {
      if (performance.now() - startMs > ENGINE_STEADY_MS) this.#pauseMs = ENGINE_PAUSE_MS_MIN;
      if (end === "closed" || end === "rested") return;
      this.#next = this.#replace(client, end, scratchDir);
    });
  }

  async #replace(
    client: EngineClient,
    end: EngineFailure,
    scratchDir: string,
  ): Promise<void> {
    const { engine, files, meter } = this.options;
    log.warn("DuckDB for {engine} statements is replaced ({end}): {why}", {
      engine,
      end,
      why: client.why,
    });
    meter?.ended(engine, end);
    client.kill("exited", "");
    await settledWithin(client.gone, GONE_MS_MAX, this.#closing.signal);
    await files.removeTree(scratchDir).catch(() => {});
    // A process that crashes at once is not begun again and again without a pause.
    const isPaused = end === "exited" && this.#pauseMs > ENGINE_PAUSE_MS_MIN;
    if (end === "exited" && !isPaused) this.#lengthenPause();
    await this.#startAgain(isPaused);
  }

  /** Starts the next process, as often as it takes; at first after a pause where one is due. */
  async #startAgain(isPaused: boolean): Promise<void> {
    for (let waits = isPaused; !this.#closing.signal.aborted; waits = true) {
      if (waits) await pause(this.#pauseMs, this.#closing.signal);
      if (waits) this.#lengthenPause();
      try {
        return await this.#start();
      } catch (error) {
        this.#wakes = false;
        if (this.#closing.signal.aborted) return;
        const { engine } = this.options;
        log.error("cannot replace DuckDB for {engine} statements: {error}", {
          engine,
          error: messageOf(error),
        });
      }
    }
  }

  #lengthenPause(): void {
    this.#pauseMs = Math.min(2 * this.#pauseMs, ENGINE_PAUSE_MS_MAX);
  }
}

/** A process that was killed frees what it took within this time. */
const GONE_MS_MAX = 5_000;

function beingReplaced(): OperatingError {
  return new OperatingError(
    "unavailable",
    "Cannot run the statement: DuckDB's process is being replaced; retry",
    { reason: ENGINE_REPLACED, retryAfterSecs: 1 },
  );
}

/**
 * Names a statement, never by its text: its literals may be secrets. The audit has the text, by its
 * tenant and time.
 */
function labelOf({ key, sql }: ConnectionWanted = {}): string {
  if (sql === undefined) return `work for ${JSON.stringify(key ?? "nobody")}`;
  const hash = createHash("sha256").update(sql).digest("hex").slice(0, 16);
  return `statement ${hash} of tenant ${JSON.stringify(key ?? "")}`;
}

async function settledWithin(work: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const patience = pause(ms, AbortSignal.any([signal, over.signal]));
  await Promise.race([work.catch(() => {}), patience]);
  over.abort();
  // The process may have been gone at once. The next one is then not begun in the same turn of the
  // event loop.
  await new Promise((resolve) => setTimeout(resolve, 0));
}

/** Waits `ms`. Ends early when `signal` aborts. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", done, { once: true });
  });
}
