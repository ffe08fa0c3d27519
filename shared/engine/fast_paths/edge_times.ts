/**
 * When the rows of data files are, around the ends of ranges that were asked for. An end that cuts
 * through a minute is then counted in memory, without a scan. Instants are kept by windows of a
 * file's time, so that a range that moves on with the clock finds them, too.
 *
 * Invariants: data files never change, and neither does what is kept of them. What is kept is
 * bounded in bytes; what was asked least recently goes first. What a statement misses is read in
 * the background, and only when another statement had missed it before: an end that is asked for
 * once costs nothing.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import { floorDiv } from "../../base/floor_div.ts";
import { lowerBound } from "../../base/lower_bound.ts";
import type { Column } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";

const log = getLogger(["svc", "engine"]);

const US_PER_MINUTE = 60_000_000n;
/** Offsets in a window take 32 bits. */
export const WINDOW_US = 10n * US_PER_MINUTE;
/** Windows in line to be read. A window that is wanted beyond them has to be wanted again. */
const LINE_MAX = 64;
/** Windows that were missed once and are remembered. */
const MISSED_MAX = 1_024;
/** Bytes that an entry takes besides its instants. */
const ENTRY_BYTES = 256;
/** After a failure no window is read for so long. */
const FAILURE_PAUSE_MS = 60_000;

/** Rows of a file from `firstUs` on, up to `WINDOW_US` after it. */
export interface TimeWindow {
  readonly file: DataFile;
  /** The column `timestamp`. */
  readonly column: Column;
  readonly firstUs: bigint;
}

/** An end of a range of time, in a file. */
export interface FileEdge {
  readonly file: DataFile;
  readonly range: TimeRange;
}

/** Rows of one minute. */
export interface MinuteRows {
  /** Minutes since 1970. */
  readonly minute: number;
  readonly rows: number;
}

/**
 * Microseconds from a window's beginning, ascending. Undefined: there are more rows than are worth
 * keeping.
 */
export type WindowTimes = Uint32Array | undefined;

/** Bytes that may be kept, and how a window is read. */
export interface EdgeTimesOptions {
  readonly bytesMax: number;
  /** Reads a window. Errors: the file's and DuckDB's. */
  readonly read: (window: TimeWindow, signal: AbortSignal) => Promise<WindowTimes>;
  readonly nowMs: () => number;
}

/** Instants of windows that statements asked for. Disposing it ends what is being read. */
export class EdgeTimes implements AsyncDisposable {
  /** Windows by key, least recently asked first. */
  readonly #kept = new Map<string, { readonly times: WindowTimes }>();
  /** Windows that one statement has missed, the oldest first. */
  readonly #missed = new Set<string>();
  readonly #line = new Set<string>();
  readonly #stop = new AbortController();
  readonly #options: EdgeTimesOptions;
  #bytes = 0;
  #pausedUntilMs = -Infinity;
  #reading: Promise<void> = Promise.resolve();

  constructor(options: EdgeTimesOptions) {
    this.#options = options;
  }

  /** Estimated bytes of what is kept. */
  get bytes(): number {
    return this.#bytes;
  }

  giveWay(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }

  /** Resolves when all that is in line has been read, or was given up. */
  get settled(): Promise<void> {
    return this.#reading;
  }

  /**
   * Rows of an edge, a few minutes at most, by minute. Undefined: what they are counted by is not
   * here.
   */
  rowsOf({ file, range }: FileEdge): readonly MinuteRows[] | undefined {
    const micros = microsOf(range);
    if (micros === undefined) return undefined;
    const { end } = micros;
    const counted: MinuteRows[] = [];
    let next: bigint;
    for (let first = micros.first; first < end; first = next) {
      const minute = floorDiv(first, US_PER_MINUTE);
      next = (minute + 1n) * US_PER_MINUTE;
      if (next > end) next = end;
      const firstUs = floorDiv(first, WINDOW_US) * WINDOW_US;
      const times = this.#timesOf(nameOf(file, firstUs));
      if (times === undefined) return undefined;
      const rows = lowerBound(times, Number(next - firstUs)) -
        lowerBound(times, Number(first - firstUs));
      counted.push({ minute: Number(minute), rows });
    }
    return counted;
  }

  /** Has the windows of `missed` read that were missed before. Nobody waits for it. */
  want(missed: readonly FileEdge[], column: Column): void {
    for (const { file, range } of missed) {
      const micros = microsOf(range);
      if (micros === undefined) continue;
      const { first, end } = micros;
      let firstUs = floorDiv(first, WINDOW_US) * WINDOW_US;
      for (; firstUs < end; firstUs += WINDOW_US) this.#want({ file, column, firstUs });
    }
  }

  /** Ends what is being read. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error("the engine is closed"));
    await this.#reading;
  }

  #timesOf(name: string): WindowTimes {
    const entry = this.#kept.get(name);
    if (entry === undefined) return undefined;
    this.#kept.delete(name);
    this.#kept.set(name, entry);
    return entry.times;
  }

  #want(window: TimeWindow): void {
    const name = nameOf(window.file, window.firstUs);
    if (this.#kept.has(name) || this.#line.has(name)) return;
    if (!this.#missed.delete(name)) return this.#remember(name);
    if (this.#line.size >= LINE_MAX || this.#stop.signal.aborted) return;
    this.#line.add(name);
    this.#reading = this.#reading.then(async () => {
      await this.#read(name, window);
      this.#line.delete(name);
    });
  }

  #remember(name: string): void {
    this.#missed.add(name);
    const [oldest] = this.#missed;
    if (this.#missed.size > MISSED_MAX && oldest !== undefined) this.#missed.delete(oldest);
  }

  async #read(name: string, window: TimeWindow): Promise<void> {
    const { read, nowMs } = this.#options;
    const { signal } = this.#stop;
    if (signal.aborted || nowMs() < this.#pausedUntilMs) return;
    try {
      this.#keep(name, await read(window, signal));
    } catch (error) {
      if (signal.aborted) return;
      this.#pausedUntilMs = nowMs() + FAILURE_PAUSE_MS;
      log.warn("cannot keep the instants of {key}: {error}", {
        key: window.file.key,
        error: messageOf(error),
      });
    }
  }

  #keep(name: string, times: WindowTimes): void {
    this.#kept.set(name, { times });
    this.#bytes += bytesOf(times);
    for (const [oldest, entry] of this.#kept) {
      if (this.#bytes <= this.#options.bytesMax) break;
      this.#kept.delete(oldest);
      this.#bytes -= bytesOf(entry.times);
    }
  }
}

function nameOf({ key }: DataFile, firstUs: bigint): string {
  return `${firstUs} ${key}`;
}

function bytesOf(times: WindowTimes): number {
  return ENTRY_BYTES + (times?.byteLength ?? 0);
}

/** Rows are told apart by `timestamp`, so nothing finer than its microseconds can be counted. */
function microsOf(
  { minNs, maxNs }: TimeRange,
): { readonly first: bigint; readonly end: bigint } | undefined {
  if (minNs === undefined || maxNs === undefined) return undefined;
  const endNs = maxNs + 1n;
  const isWhole = minNs % 1_000n === 0n && endNs % 1_000n === 0n;
  return isWhole ? { first: minNs / 1_000n, end: endNs / 1_000n } : undefined;
}
