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

/** Collects while the process has more than so many resident bytes. */
export function collectGarbageAbove(bytes: number): void {
  if (residentBytes() > bytes) collectGarbage();
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
