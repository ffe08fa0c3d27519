/**
 * Being asked to end. The first SIGINT or SIGTERM asks for an orderly end, a later one ends at
 * once. One Ctrl-C may arrive twice, from the terminal and from a task runner: signals that close
 * together count as one. A parent that holds the other end of standard input asks by ending it,
 * which it does even when SIGKILL ends it.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../base/errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
type EndSignal = typeof SIGNALS[number];

/** Signals closer than this are one wish. */
const SAME_WISH_MS = 500;

/** What a shell reports for a process that this signal ended: 128 + its number. */
const EXIT_CODES: Readonly<Record<EndSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

export interface EndRequest extends Disposable {
  /**
   * Resolves with the first signal, or when the end of standard input was to be one and has come.
   */
  readonly requested: Promise<EndSignal | "end of stdin">;
}

/** Listens until disposed. */
export function listenForEnd({ endWithStdin = false } = {}): EndRequest {
  const { promise, resolve } = Promise.withResolvers<EndSignal | "end of stdin">();
  if (endWithStdin) stdinEnded().then(() => resolve("end of stdin"));
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

/**
 * Reads standard input, for nothing, until its end; one that fails has none to wait for, and is the
 * end.
 */
async function stdinEnded(): Promise<void> {
  const bytes = new Uint8Array(1_024);
  try {
    while (await Deno.stdin.read(bytes) !== null);
  } catch (error) {
    getLogger(["svc", "process"]).warn("standard input cannot be read: {reason}", {
      reason: messageOf(error),
    });
  }
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
