/** Being asked to end. The first SIGINT or SIGTERM asks for an orderly end, a second one ends at once. */

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
type EndSignal = typeof SIGNALS[number];

/** What a shell reports for a process that this signal ended: 128 + its number. */
const EXIT_CODES: Readonly<Record<EndSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface EndRequest extends Disposable {
  /** Resolves with the first signal. */
  readonly requested: Promise<EndSignal>;
}

/** Listens until disposed. */
export function listenForEnd(): EndRequest {
  const { promise, resolve } = Promise.withResolvers<EndSignal>();
  let asked = false;
  const listeners = SIGNALS.map((signal) => {
    const listener = () => {
      if (asked) Deno.exit(EXIT_CODES[signal]);
      asked = true;
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
