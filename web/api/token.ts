/** The bearer token of this tab. It goes with the tab: nothing else keeps it. */

import { signal } from "@preact/signals";

const KEY = "svc.token";

/** Whether the server refused what was asked for want of a token. */
export const isTokenWanted = signal(false);

/** The header of a request; none where no token was given. */
export function tokenHeader(): Readonly<Record<string, string>> {
  const token = sessionStorage.getItem(KEY);
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** Keeps the token until the tab is closed. */
export function keepToken(token: string): void {
  sessionStorage.setItem(KEY, token.trim());
  isTokenWanted.value = false;
}
