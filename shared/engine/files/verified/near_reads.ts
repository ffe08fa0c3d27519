/**
 * Small reads of a folder's files, by calls that block the thread. The kernel has most files at
 * hand, and a hop to another thread takes five times as long as what it is for. When calls take
 * longer than `BLOCKING_MS_MAX`, the disk is slow or busy. Then all calls are made on other threads
 * for some time, which is longer after a longer call. A single such call is none of the disk's:
 * where all processors are busy, each thread waits for its turn now and then.
 */

import { othersTurn } from "../../../base/others_turn.ts";
import type { FileStat, ReadableFile, ReadableFiles } from "../../../os/file_system.ts";

export interface NearReadsDeps {
  readonly files: Pick<ReadableFiles, "openRead" | "stat" | "blocking">;
  readonly nowMs: () => number;
}

/** A file that is open. */
export interface NearFile extends Disposable {
  /** Fills `into` from `offset`; returns what the file has of it. */
  read<T extends ArrayBufferLike>(
    into: Uint8Array<T>,
    offset: number,
  ): Uint8Array<T> | Promise<Uint8Array<T>>;
}

/** Larger reads are made on other threads, several at a time. */
const BLOCKING_BYTES_MAX = 256 * 1024;
const BLOCKING_MS_MAX = 2;
/** A call that takes longer than this did not wait for a processor. */
const TURN_MS_MAX = 20;
/** Two longer calls of so many are the disk's. */
const LONG_CALLS_APART = 16;
/** So a disk that stays slow blocks the thread for a 25th of the time at most. */
const ASIDE_TIMES = 50;
const ASIDE_MS_MAX = 10_000;
/** After so long in calls that block, others have a turn. */
const BLOCKED_MS_MAX = 2;

export class NearReads {
  #asideUntilMs = -Infinity;
  #blockedMs = 0;
  /** Calls since one that took long. */
  #shortCalls = Infinity;

  constructor(private readonly deps: NearReadsDeps) {}

  /** Errors: the file system's, as of all methods. */
  stat(path: string): FileStat | Promise<FileStat> {
    const blocking = this.#blocking();
    return blocking === undefined
      ? this.deps.files.stat(path)
      : this.#timed(() => blocking.statNow(path));
  }

  open(path: string): NearFile | Promise<NearFile> {
    const blocking = this.#blocking();
    if (blocking === undefined) return this.#openAside(path);
    const file = this.#timed(() => blocking.openNow(path));
    return {
      read: (into, offset) =>
        into.byteLength > BLOCKING_BYTES_MAX || this.#blocking() === undefined
          ? readAside(file, into, offset)
          : into.subarray(0, this.#timed(() => file.readNow(into, offset))),
      [Symbol.dispose]: () => file.close(),
    };
  }

  /**
   * Reads of a file at once. Undefined: it is to be opened, since the disk is slow or others have
   * their turn first.
   */
  readNow(path: string, into: Uint8Array, offset: number): Uint8Array | undefined {
    const blocking = this.#blocking();
    if (blocking === undefined || this.#blockedMs >= BLOCKED_MS_MAX) return undefined;
    return this.#timed(() => {
      const file = blocking.openNow(path);
      try {
        return into.subarray(0, file.readNow(into, offset));
      } finally {
        file.close();
      }
    });
  }

  /** To be awaited between two files, where it is something. */
  turn(): Promise<void> | undefined {
    if (this.#blockedMs < BLOCKED_MS_MAX) return undefined;
    this.#blockedMs = 0;
    return othersTurn();
  }

  async #openAside(path: string): Promise<NearFile> {
    const file = await this.deps.files.openRead(path);
    return {
      read: (into, offset) => readAside(file, into, offset),
      [Symbol.dispose]: () => file.close(),
    };
  }

  #blocking() {
    return this.deps.nowMs() < this.#asideUntilMs ? undefined : this.deps.files.blocking;
  }

  #timed<T>(call: () => T): T {
    const beganMs = this.deps.nowMs();
    try {
      return call();
    } finally {
      const endedMs = this.deps.nowMs();
      const tookMs = endedMs - beganMs;
      this.#blockedMs += tookMs;
      this.#shortCalls += 1;
      if (tookMs > BLOCKING_MS_MAX) {
        if (tookMs > TURN_MS_MAX || this.#shortCalls <= LONG_CALLS_APART) {
          this.#asideUntilMs = endedMs + Math.min(ASIDE_MS_MAX, ASIDE_TIMES * tookMs);
        }
        this.#shortCalls = 0;
      }
    }
  }
}

async function readAside<T extends ArrayBufferLike>(
  file: ReadableFile,
  into: Uint8Array<T>,
  offset: number,
): Promise<Uint8Array<T>> {
  return into.subarray(0, await file.readAt(into, offset));
}
