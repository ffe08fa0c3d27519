/**
 * Assertions for what can only be wrong because of a bug. Bad input and failing disks are operating
 * errors (`errors.ts`); an `AssertionError` means that this program must be mended.
 */

/** A bug in this program: something that was assumed does not hold. */
class AssertionError extends Error {
  override readonly name = "AssertionError";
}

/** Throws when `condition` is false; `message` says what was assumed. */
export function assert(
  condition: unknown,
  message = "assumption does not hold",
): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns `value`, or throws when it is null or undefined; `what` names it. */
export function present<T>(value: T | null | undefined, what = "value"): T {
  if (value === null || value === undefined) throw new AssertionError(`${what} is absent`);
  return value;
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${String(value)}`);
}
