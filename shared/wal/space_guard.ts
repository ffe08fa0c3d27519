/**
 * Refuses rows before the disk is full. Free space is asked for at most once a second, and in
 * between the bytes appended since are taken off, so the answer costs nothing on the hot path.
 */

import { formatBytes } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import type { Clock } from "../os/clock.ts";
import type { ReadableFiles } from "../os/file_system.ts";

const REFRESH_MS = 1_000;
const RETRY_AFTER_SECS = 5;

export class SpaceGuard {
  readonly #fs: ReadableFiles;
  readonly #clock: Clock;
  readonly #path: string;
  readonly #freeBytesMin: number;
  #freeBytes = Infinity;
  #askedMs = -Infinity;
  #asking: Promise<void> | undefined;

  /** With `freeBytesMin` 0 it refuses nothing and asks nothing. */
  constructor(
    fs: ReadableFiles,
    clock: Clock,
    options: { path: string; freeBytesMin: number },
  ) {
    this.#fs = fs;
    this.#clock = clock;
    this.#path = options.path;
    this.#freeBytesMin = options.freeBytesMin;
  }

  /** Why rows are refused, or undefined; also starts to ask again when the last answer is old. */
  refusal(): OperatingError | undefined {
    if (this.#freeBytesMin === 0) return undefined;
    if (this.#clock.monotonicMs() - this.#askedMs >= REFRESH_MS) {
      this.refresh().catch(() => this.#freeBytes = 0);
    }
    if (this.#freeBytes >= this.#freeBytesMin) return undefined;
    return new OperatingError(
      "unavailable",
      `cannot append to the WAL: ${formatBytes(this.#freeBytes)} are free on its disk, ` +
        `${formatBytes(this.#freeBytesMin)} must stay free; free disk space or run the compactor`,
      { reason: "wal_disk_full", retryAfterSecs: RETRY_AFTER_SECS },
    );
  }

  /** Counts bytes that are about to be written. */
  spend(bytes: number): void {
    this.#freeBytes -= bytes;
  }

  /** Asks now; throws what the file system throws. */
  refresh(): Promise<void> {
    if (this.#freeBytesMin === 0) return Promise.resolve();
    this.#askedMs = this.#clock.monotonicMs();
    this.#asking ??= this.#ask();
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      this.#freeBytes = await this.#fs.freeBytes(this.#path);
    } finally {
      this.#asking = undefined;
    }
  }
}
