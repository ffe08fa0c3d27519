/**
 * Being asked to end. The first SIGINT or SIGTERM asks for an orderly end, a later one ends at once. One Ctrl-C may
 * arrive twice, from the terminal and from a task runner: signals that close together are one wish.
 */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
type EndSignal = typeof SIGNALS[number];

/** Signals closer than this are one wish. */
const SAME_WISH_MS = 500;

/** What a shell reports for a process that this signal ended: 128 + its number. */
const EXIT_CODES: Readonly<Record<EndSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface EndRequest extends Disposable {
  /** Resolves with the first signal. */
  readonly requested: Promise<EndSignal>;
}

/** Listens until disposed. */
export function listenForEnd(): EndRequest {
  const { promise, resolve } = Promise.withResolvers<EndSignal>();
  let askedMs: number | undefined;
  const listeners = SIGNALS.map((signal) => {
    const listener = () => {
      const nowMs = performance.now();
      askedMs ??= nowMs;
      if (nowMs - askedMs > SAME_WISH_MS) Deno.exit(EXIT_CODES[signal]);
      resolve(signal);
    };
    Deno.addSignalListener(signal, listener);
    return { signal, listener };
  });
  return {
    requested: promise,
    [Symbol.dispose]() {
      for (const { signal, listener } of listeners) Deno.removeSignalListener(signal, listener);
    },
  };
}

/** Calls `action` at each Ctrl-C until disposed; meanwhile it does not end the process. */
export function onInterrupt(action: () => void): Disposable {
  let calledMs = -Infinity;
  const listener = () => {
    const nowMs = performance.now();
    if (nowMs - calledMs < SAME_WISH_MS) return;
    calledMs = nowMs;
    action();
  };
  Deno.addSignalListener("SIGINT", listener);
  return { [Symbol.dispose]: () => Deno.removeSignalListener("SIGINT", listener) };
}
