/**
 * Work that waits only where it must. It is written as a generator that yields the promises it has
 * to wait for. Where all is at hand it runs to its end at once, without a promise and a turn of the
 * loop for each call. A lookup in hundreds of files is made of thousands of such calls.
 */

/** A value, or the promise of one. */
export type Soon<T> = T | Promise<T>;

/** Yields what is waited for, and returns what the work makes. */
export type SoonSteps<T> = Generator<Promise<unknown>, T, unknown>;

/** The value itself, waited for where it is a promise. */
export function* soon<T>(value: Soon<T>): SoonSteps<T> {
  return value instanceof Promise ? (yield value) as T : value;
}

/** Runs the work. It throws at once where it fails before it has waited. */
export function runSteps<T>(steps: SoonSteps<T>): Soon<T> {
  const { done, value } = steps.next();
  return done === true ? value : rest(steps, value);
}

async function rest<T>(steps: SoonSteps<T>, first: Promise<unknown>): Promise<T> {
  for (let waited = first;;) {
    const { done, value } = await waited.then(
      (result) => steps.next(result),
      (error) => steps.throw(error),
    );
    if (done === true) return value;
    waited = value;
  }
}
