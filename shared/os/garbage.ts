/**
 * What the runtime's collector is told. It sees the small objects that arrays of bytes have in its
 * heap, not their bytes, and so keeps hundreds of MiB that nobody uses any more. Needs no
 * permission.
 */

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { residentBytes } from "./resident_memory.ts";

let collect: (() => void) | undefined;

/**
 * Frees what nobody uses any more, at once: some milliseconds in a thread with few objects. For
 * threads that work through large arrays, between two of them.
 */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    const found: unknown = runInNewContext("typeof gc === 'function' ? gc : undefined");
    collect = typeof found === "function" ? () => found() : () => {};
  }
  collect();
}

/** A process that grew by less since it last had least is left alone: it may hold no garbage. */
export const GROWN_BYTES = 24 * 1024 * 1024;

/** Collects while the process has more than so many resident bytes, and has grown. */
export const collectGarbageAbove = garbageLimit({ residentBytes, collect: collectGarbage });

/**
 * What collects while a process has more than so many bytes, and has grown since it had least.
 * `leastBytes`: before the first look; `Infinity`: what that finds is no growth.
 */
export function garbageLimit({ residentBytes, collect, leastBytes: firstBytes = 0 }: {
  readonly residentBytes: () => number;
  readonly collect: () => void;
  readonly leastBytes?: number;
}): (bytes: number) => void {
  /** The least since the last collection. */
  let leastBytes = firstBytes;
  return (bytes) => {
    const resident = residentBytes();
    leastBytes = Math.min(leastBytes, resident);
    if (resident <= bytes || resident - leastBytes < GROWN_BYTES) return;
    collect();
    // What is in use now is no garbage the next time, either.
    leastBytes = residentBytes();
  };
}

/**
 * Threads that start from now on have young generations of 4 MiB at most, in place of 16, three
 * times each. For threads whose bytes are in large arrays, which are no part of it.
 */
export function startSmallThreads(): void {
  setFlagsFromString("--max-semi-space-size=4");
}

/**
 * From now on collections leave compiled code where it is, in all threads. By default V8 drops the
 * code of functions that seem unused for six of them. Where each file is followed by a collection
 * that was much of the code in use. For processes that do the same all the time.
 */
export function keepCompiledCode(): void {
  setFlagsFromString("--no-flush-bytecode");
}
