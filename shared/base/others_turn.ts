/**
 * A pause in long work, in which whoever waits on a socket is served.
 *
 * A timer, and not `setImmediate`: while one of those is due the runtime has work of its own and
 * looks at its sockets in one of 61 turns only, so that others waited for half a second beside a
 * bulk request that paused each 20 ms. Takes a millisecond.
 */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
