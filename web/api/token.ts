/** The bearer token of this tab. It goes with the tab: nothing else keeps it. */

import { signal } from "@preact/signals";

const KEY = "svc.token";

/** Whether a request waits for a token. */
export const isTokenWanted = signal(false);

let waiting: PromiseWithResolvers<void> | undefined;

/** The header of a request; none where no token was given. */
export function tokenHeader(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/**
 * Asks the user for a token and waits until there is one. Errors: the signal's reason; an error
 * when the user closes the dialog.
 */
export async function wantToken(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  waiting ??= Promise.withResolvers();
  isTokenWanted.value = true;
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await Promise.race([waiting.promise, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Keeps the token until the tab is closed, and lets the requests that wait go on. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token.trim());
  isTokenWanted.value = false;
  waiting?.resolve();
  waiting = undefined;
}

/** The user gave no token: what waits for one fails. */
export function refuseToken(): void {
  isTokenWanted.value = false;
  waiting?.reject(new Error("The server wants a token. Search again to give one."));
  waiting = undefined;
}
