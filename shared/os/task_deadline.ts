/**
 * Until when the thread works on its request. The runtime cannot end a thread that is busy: its
 * `terminate` is heard between two turns of the thread's event loop. So long loops ask here.
 */

/** Calls of `throwIfLate` between two looks at the clock. */
const STEPS = 512;

let endsMs = Infinity;
let steps = 0;

/** Runs `work`, in which `throwIfLate` throws after `ms`. */
export function untilLate<T>(ms: number | undefined, work: () => T): T {
  endsMs = ms === undefined ? Infinity : performance.now() + ms;
  try {
    return work();
  } finally {
    endsMs = Infinity;
  }
}

/** For loops of a request, at each step of some microseconds: throws once its time is over. */
export function throwIfLate(): void {
  steps += 1;
  if (steps < STEPS) return;
  steps = 0;
  if (performance.now() > endsMs) throw new Error("it took longer than it may");
}
