/**
 * Being asked to end, by Ctrl-C, SIGTERM or the end of the terminal. Unlike in
 * `shared/os/signals.ts`, a repeated signal does not end this process at once, because its children
 * would be left behind. One Ctrl-C may also arrive twice: from the terminal and from the task
 * runner. Calls `Deno.addSignalListener` itself.
 */

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
/** Signals closer than this are one and the same wish. */
const SAME_WISH_MS = 500;

export interface PatientEnd extends Disposable {
  /** Resolves with the first signal. */
  readonly asked: Promise<void>;
  /** Resolves with a later one: the user does not want to wait. */
  readonly insisted: Promise<void>;
}

/** Listens until disposed. */
export function listenPatiently(): PatientEnd {
  const asked = Promise.withResolvers<void>();
  const insisted = Promise.withResolvers<void>();
  let askedAt: number | undefined;
  const listener = () => {
    const now = performance.now();
    askedAt ??= now;
    if (now - askedAt > SAME_WISH_MS) insisted.resolve();
    else asked.resolve();
  };
  for (const signal of SIGNALS) Deno.addSignalListener(signal, listener);
  return {
    asked: asked.promise,
    insisted: insisted.promise,
    [Symbol.dispose]() {
      for (const signal of SIGNALS) Deno.removeSignalListener(signal, listener);
    },
  };
}
