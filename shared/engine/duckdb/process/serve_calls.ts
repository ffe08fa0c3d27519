/**
 * The side of `EngineProcess` that has the DuckDB. It takes calls from a socket and answers them.
 * Nothing here waits for DuckDB in a way that would keep other calls, and the beats, from being
 * answered.
 */

import type { Socket } from "node:net";
import process from "node:process";
import { assert, present } from "../../../base/assert.ts";
import { messageOf } from "../../../base/errors.ts";
import { DenoFileSystem } from "../../../os/deno_file_system.ts";
import {
  type DriverOptions,
  type EngineConnection,
  type EngineDatabase,
  EngineFault,
  type RunStatement,
} from "../driver.ts";
import { nativeDriver } from "../native_driver.ts";
import {
  BEAT_MS,
  type CallAnswer,
  CHUNKS_AHEAD,
  CHUNKS_ASKED,
  type EngineCalls,
  type EngineNotes,
  type Request,
  type RunEnd,
} from "./calls.ts";
import { FrameSocket } from "./frames.ts";

/** A statement whose rows are being sent. */
interface Stream {
  /** How many chunks may be sent now. */
  credit: number;
  isEnough: boolean;
  /** Wakes whoever waits for either. */
  wake: () => void;
}

/**
 * Answers calls until the other side is gone: then this process has nothing left to do.
 */
export function serveCalls(socket: Socket, onEnd: () => void): void {
  new CallServer(socket, onEnd);
}

class CallServer {
  readonly #frames: FrameSocket;
  readonly #connections: EngineConnection[] = [];
  readonly #streams = new Map<number, Stream>();
  #database: EngineDatabase | undefined;

  readonly #calls: { readonly [N in keyof EngineCalls]: unknown } = {
    open: (options: DriverOptions) => this.#open(options),
    serialize: (at: number, sql: string) => this.#at(at).serialize(sql),
    deserialize: (at: number, tree: string) => this.#at(at).deserialize(tree),
    texts: (at: number, sql: string) => this.#at(at).texts(sql),
    describe: (at: number, ...args: Parameters<EngineConnection["describe"]>) =>
      this.#at(at).describe(...args),
    parameterTypes: (at: number, ...args: Parameters<EngineConnection["parameterTypes"]>) =>
      this.#at(at).parameterTypes(...args),
    explain: (at: number, sql: string) => this.#at(at).explain(sql),
    progress: (at: number) => Promise.resolve(this.#at(at).progress()),
    release: (at: number) => this.#release(at),
    close: () => present(this.#database).close(),
    // It has several responses, which `#answer` sends.
    rows: undefined,
  };
  readonly #notes: EngineNotes = {
    more: (at) => this.#tell(at, (stream) => stream.credit += CHUNKS_ASKED),
    enough: (at) => this.#tell(at, (stream) => stream.isEnough = true),
    interrupt: (at) => this.#connections[at]?.interrupt(),
  };

  constructor(socket: Socket, onEnd: () => void) {
    this.#frames = new FrameSocket(socket, {
      onFrame: (header) => this.#take(header as Request),
      onEnd,
    });
    setInterval(() => this.#beat(), BEAT_MS);
  }

  #take({ id, name, args }: Request): void {
    const note = this.#notes[name as keyof EngineNotes] as ((...args: unknown[]) => void);
    if (note === undefined) void this.#answer(id, name as keyof EngineCalls, args);
    else note(...args);
  }

  async #answer(id: number, name: keyof EngineCalls, args: readonly unknown[]): Promise<void> {
    try {
      if (name === "rows") {
        const [at, statement] = args as [number, RunStatement];
        this.#send({ id, value: await this.#rows(id, at, statement) });
        return this.#frames.release();
      }
      const call = this.#calls[name] as (...args: readonly unknown[]) => Promise<unknown>;
      this.#send({ id, value: await call(...args) });
    } catch (error) {
      this.#frames.release();
      const kind = error instanceof EngineFault ? { kind: error.kind } : {};
      this.#send({ id, failure: { message: messageOf(error), ...kind } });
    }
  }

  async #open(options: DriverOptions): Promise<void> {
    const files = new DenoFileSystem();
    const driver = nativeDriver({ readFile: (path) => files.readFile(path) });
    const database = await driver.open(options);
    this.#database = database;
    for (let at = 0; at < options.connections; at += 1) {
      this.#connections.push(await database.connect(new AbortController().signal));
    }
  }

  async #rows(id: number, at: number, statement: RunStatement): Promise<RunEnd> {
    assert(!this.#streams.has(at), "one statement runs at a time");
    const connection = this.#at(at);
    const stream: Stream = { credit: CHUNKS_AHEAD, isEnough: false, wake: () => {} };
    this.#streams.set(at, stream);
    try {
      for await (const chunk of connection.rows(statement)) {
        // Its chunks and its end are sent at once.
        if (statement.isWhole === true) this.#frames.hold();
        while (stream.credit <= 0 && !stream.isEnough) {
          this.#frames.release();
          await new Promise<void>((resolve) => stream.wake = resolve);
        }
        if (stream.isEnough) break;
        stream.credit -= 1;
        const rows = { count: chunk.rowCount, progress: connection.progress() };
        this.#send({ id, rows }, bytesOf(chunk.ends()), ...chunk.pieces?.() ?? [chunk.bytes()]);
        chunk.free?.();
      }
      const progress = connection.progress();
      const profile = stream.isEnough ? undefined : await connection.profile();
      return profile === undefined ? { progress } : { progress, profile };
    } finally {
      this.#streams.delete(at);
    }
  }

  /** Makes the connection what it was at first: nothing runs on it, nothing is left of what did. */
  async #release(at: number): Promise<void> {
    this.#notes.enough(at);
    await this.#at(at).release();
    // All other connections are taken here, so this is the one that was given back.
    this.#connections[at] = await present(this.#database).connect(new AbortController().signal);
  }

  #tell(at: number, change: (stream: Stream) => void): void {
    const stream = this.#streams.get(at);
    if (stream === undefined) return;
    change(stream);
    stream.wake();
  }

  #at(at: number): EngineConnection {
    return present(this.#connections[at]);
  }

  #beat(): void {
    const { user, system } = process.cpuUsage();
    const beat = { residentBytes: process.memoryUsage.rss(), cpuMs: (user + system) / 1000 };
    this.#send({ id: 0, beat });
  }

  #send(answer: CallAnswer, ...body: readonly Uint8Array<ArrayBuffer>[]): void {
    this.#frames.send(answer, ...body);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint32Array<ArrayBuffer>) {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
