/**
 * Who this tab asks as. Tokens go with the tab: `sessionStorage` keeps them over a reload, and
 * nothing else does.
 */

import { signal } from "@preact/signals";
import { GrantRefused, type IssuedTokens, renewTokens } from "./oidc.ts";
import { settledOrAborted } from "./settled_or_aborted.ts";
import { signInConfig } from "./sign_in_config.ts";

const KEY = "svc.session";
/** A token that ends so soon may end on its way. */
const RENEW_BEFORE_MS = 20_000;

/** What requests carry; undefined: nothing. */
export const session = signal<IssuedTokens | undefined>(stored());
/** Grows with each sign-in of the user; a renewal is none. */
export const signIns = signal(0);
/** Requests wait for the user to sign in; `reason` is why what they had does not do. */
export const signInWish = signal<{ readonly reason: string | undefined } | undefined>(undefined);

/** The user was asked and did not sign in, or signed out: nothing that repeats itself asks. */
export const isSignedOut = signal(false);

let waiting: PromiseWithResolvers<void> | undefined;
let renewing: Promise<boolean> | undefined;

/** The token of a request, renewed where it is about to end. */
export async function bearerToken(): Promise<string | undefined> {
  const { expiresAtMs, refreshToken } = session.peek() ?? {};
  const endsSoon = expiresAtMs !== undefined && expiresAtMs - Date.now() < RENEW_BEFORE_MS;
  if (endsSoon && refreshToken !== undefined) await renew();
  return session.peek()?.bearer;
}

/**
 * The server refused a request that carried `refused`. Returns when there is another token: renewed
 * without the user where that can be, else the user's. Errors: the signal's reason; an error when
 * the user closes the dialog.
 */
export async function wantToken(
  { refused, reason }: {
    readonly refused: string | undefined;
    readonly reason: string | undefined;
  },
  signal: AbortSignal,
): Promise<void> {
  // Another request was faster.
  if (session.peek()?.bearer !== refused) return;
  if (session.peek()?.refreshToken !== undefined && await renew()) return;
  if (session.peek()?.bearer !== refused) return;
  waiting ??= Promise.withResolvers();
  signInWish.value ??= { reason: refused === undefined ? undefined : reason };
  await settledOrAborted(waiting.promise, signal);
}

/** Asks the user to sign in, of whom no request waits for it. */
export function wishSignIn(): void {
  signInWish.value ??= { reason: undefined };
}

/** Keeps tokens until the tab is closed, and lets the requests that wait go on. */
export function keepSession(tokens: IssuedTokens): void {
  signIns.value += 1;
  takeTokens(tokens);
}

function takeTokens(tokens: IssuedTokens): void {
  store(tokens);
  signInWish.value = undefined;
  isSignedOut.value = false;
  waiting?.resolve();
  waiting = undefined;
}

function store(tokens: IssuedTokens): void {
  sessionStorage.setItem(KEY, JSON.stringify(tokens));
  session.value = tokens;
}

/** The user did not sign in: what waits for it fails. */
export function refuseSignIn(): void {
  signInWish.value = undefined;
  isSignedOut.value = true;
  // Nobody may wait any longer.
  waiting?.promise.catch(() => {});
  waiting?.reject(new Error("The server wants to know who asks. Ask again to sign in."));
  waiting = undefined;
}

/** Forgets who asked. */
export function signOut(): void {
  sessionStorage.removeItem(KEY);
  session.value = undefined;
  isSignedOut.value = true;
}

function renew(): Promise<boolean> {
  return renewing ??= renewNow().finally(() => renewing = undefined);
}

async function renewNow(): Promise<boolean> {
  const before = session.peek();
  const refreshToken = before?.refreshToken;
  try {
    const { oidc } = await signInConfig();
    if (oidc === undefined || refreshToken === undefined) return false;
    takeTokens(await renewTokens(oidc, refreshToken));
    return true;
  } catch (error) {
    // A reload may have lost the answer that had the next one. It is of no use any more, and the
    // user is asked when the server refuses the old token.
    if (error instanceof GrantRefused && before !== undefined && session.peek() === before) {
      store({ ...before, refreshToken: undefined });
    }
    return false;
  }
}

function stored(): IssuedTokens | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}
