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
