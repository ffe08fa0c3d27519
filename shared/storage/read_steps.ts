/**
 * Work on the bytes of one file, as steps: a generator that yields the range it needs next, and is
 * given its bytes. So one piece of code serves reads that are waited for, and reads that block.
 */

/** Gives bytes of one file: fewer than `length` only where the file ends. */
export type ReadBytes = (offset: number, length: number) => Uint8Array | Promise<Uint8Array>;

/** A range that a step needs, in bytes. */
export interface WantedRange {
  readonly offset: number;
  readonly length: number;
}

export type ReadSteps<T> = Generator<WantedRange, T, Uint8Array>;

/**
 * Runs `steps`. Where `read` gives bytes and no promise, this makes none either: a promise for each
 * small read takes longer than the read. Errors: those of `steps` and `read`.
 */
export function readBySteps<T>(steps: ReadSteps<T>, read: ReadBytes): T | Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    const bytes = read(step.value.offset, step.value.length);
    if (bytes instanceof Promise) return goOn(steps, bytes, read);
    step = steps.next(bytes);
  }
  return step.value;
}

async function goOn<T>(
  steps: ReadSteps<T>,
  first: Promise<Uint8Array>,
  read: ReadBytes,
): Promise<T> {
  let step = steps.next(await first);
  while (step.done !== true) {
    step = steps.next(await read(step.value.offset, step.value.length));
  }
  return step.value;
}

/** Calls `next` with a value: at once where it is no promise. */
export function chained<T, U>(
  value: T | Promise<T>,
  next: (value: T) => U | Promise<U>,
): U | Promise<U> {
  return value instanceof Promise ? value.then(next) : next(value);
}
