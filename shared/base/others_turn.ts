/**
 * A pause in long work, in which others that wait on a socket are served.
 *
 * This is a timer and not `setImmediate`. While an immediate is due, the runtime looks at its
 * sockets in one of 61 turns only. Others waited for half a second beside a bulk request that
 * paused each 20 ms. The timer takes a millisecond.
 */
export function othersTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
