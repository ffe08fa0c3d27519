/**
 * A thread that tells when each of a series of moments has come. It sleeps in the kernel, which is
 * on time to a tenth of a millisecond. The timers of an event loop count in whole ones and are two
 * late as often as not.
 *
 * Takes one message, `{ beginMs, periodMs, count }` with `beginMs` in milliseconds since 1970, and
 * answers with `count` numbers, from 0, each when it is due.
 */

/**
 * Milliseconds since 1970, with a fraction, that only go forward; the same for all threads of a
 * process.
 */
export const nowMs = (): number => performance.timeOrigin + performance.now();

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the calling thread until `dueMs`. */
export function sleepUntil(dueMs: number): void {
  for (let waitMs = dueMs - nowMs(); waitMs > 0; waitMs = dueMs - nowMs()) {
    Atomics.wait(sleeper, 0, 0, waitMs);
  }
}

interface Beats {
  readonly beginMs: number;
  readonly periodMs: number;
  readonly count: number;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<Beats>) => void) | null;
  postMessage?(beat: number): void;
};

if (scope.postMessage !== undefined) {
  scope.onmessage = ({ data: { beginMs, periodMs, count } }) => {
    for (let beat = 0; beat < count; beat += 1) {
      sleepUntil(beginMs + beat * periodMs);
      scope.postMessage?.(beat);
    }
  };
}
