/** Signals of requests of which a newer one ends the older. */

const running = new Map<string, AbortController>();

/** Ends the last request of this name, and returns the signal of the next one. */
export function refreshed(name: string): AbortSignal {
  running.get(name)?.abort();
  const next = new AbortController();
  running.set(name, next);
  return next.signal;
}
