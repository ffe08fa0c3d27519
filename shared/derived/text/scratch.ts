/**
 * Memory of a thread that is used again for its next file. What is collected of a file takes arrays
 * as long as its rows and words are many. In fresh pages, which the system hands out one by one and
 * zeroed, that was a sixth of the time of an index.
 *
 * Arrays have any content. `releaseScratch` takes back all of a thread's together: when what was
 * made of them is written.
 */

/** Smaller ones are not worth keeping, larger ones take too much. */
const KEPT_BYTES_MIN = 32 * 1024;
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** By the logarithm of their size, which is a power of two. */
const idle: ArrayBuffer[][] = Array.from({ length: 32 }, () => []);
const taken = new Set<ArrayBuffer>();

/** An array of `length` bytes with anything in it. */
export function scratchBytes(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(take(length), 0, length);
}

/** An array of `length` 16-bit integers with anything in it. */
export function scratchShorts(length: number): Uint16Array<ArrayBuffer> {
  return new Uint16Array(take(2 * length), 0, length);
}

/** An array of `length` 32-bit integers with anything in it. */
export function scratchInts(length: number): Uint32Array<ArrayBuffer> {
  return new Uint32Array(take(4 * length), 0, length);
}

/**
 * A longer array that begins as `array` does, which is not to be used any more, and goes on with
 * `rest`, if given.
 */
export function grownInts(
  array: Uint32Array<ArrayBuffer>,
  length: number,
  rest?: number,
): Uint32Array<ArrayBuffer> {
  const larger = scratchInts(length);
  larger.set(array);
  if (rest !== undefined) larger.fill(rest, array.length);
  giveBack(array.buffer);
  return larger;
}

/** A longer array that begins as `array` does, which is not to be used any more. */
export function grownBytes(
  array: Uint8Array<ArrayBuffer>,
  length: number,
): Uint8Array<ArrayBuffer> {
  const larger = scratchBytes(length);
  larger.set(array);
  giveBack(array.buffer);
  return larger;
}

/** Takes back an array before the others; nobody may use it any more. */
export function giveBackInts({ buffer }: Uint32Array<ArrayBuffer>): void {
  giveBack(buffer);
}

/** Takes back all arrays of this thread: nobody may use them any more. */
export function releaseScratch(): void {
  for (const buffer of taken) giveBack(buffer);
}

function take(byteLength: number): ArrayBuffer {
  if (byteLength < KEPT_BYTES_MIN) return new ArrayBuffer(8 * Math.ceil(byteLength / 8));
  const log = Math.ceil(Math.log2(byteLength));
  const buffer = idle[log]?.pop() ?? new ArrayBuffer(2 ** log);
  taken.add(buffer);
  return buffer;
}

function giveBack(buffer: ArrayBuffer): void {
  if (!taken.delete(buffer) || buffer.byteLength > KEPT_BYTES_MAX) return;
  idle[Math.log2(buffer.byteLength)]?.push(buffer);
}
