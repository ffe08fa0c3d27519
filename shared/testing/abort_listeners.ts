/** Counts what waits for signals to abort. A loop that never stops waiting keeps every round. */

/** How many listeners for `abort` were added while `work` ran, and are still there behind it. */
export async function abortListenersLeft(work: () => Promise<void>): Promise<number> {
  const left = new Map<unknown, AbortSignal | undefined>();
  const { addEventListener, removeEventListener } = AbortSignal.prototype;
  const add: typeof addEventListener = function (this: AbortSignal, ...args: unknown[]) {
    const [type, listener, options] = args as Parameters<typeof addEventListener>;
    const until = typeof options === "object" ? options.signal : undefined;
    if (type === "abort") left.set(listener, until);
    return addEventListener.apply(this, [type, listener, options]);
  };
  const remove: typeof removeEventListener = function (this: AbortSignal, ...args: unknown[]) {
    const [type, listener, options] = args as Parameters<typeof removeEventListener>;
    left.delete(listener);
    return removeEventListener.apply(this, [type, listener, options]);
  };
  Object.assign(AbortSignal.prototype, { addEventListener: add, removeEventListener: remove });
  try {
    await work();
    return [...left.values()].filter((until) => until?.aborted !== true).length;
  } finally {
    Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener });
  }
}
