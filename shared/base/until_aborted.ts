/** Waits for work that knows no signal, and leaves it to itself once a signal aborts. */

/**
 * Returns what `work` gives, or throws the signal's reason when the signal aborts first. What
 * `work` gives after that goes to `late`. The signal keeps nothing of it, since loops wait with one
 * signal for days.
 */
export async function untilAborted<T>(
  work: Promise<T>,
  signal: AbortSignal,
  late: (value: T) => void = () => {},
): Promise<T> {
  const { promise: left, reject } = Promise.withResolvers<never>();
  const leave = () => {
    work.then(late, () => {});
    reject(signal.reason);
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  try {
    return await Promise.race([left, work]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
