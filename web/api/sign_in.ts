/**
 * Sign-in at the issuer, in a window of its own, so that what was typed stays. Where the browser
 * opens no window this tab goes there and comes back.
 */

import { beginSignIn, finishSignIn, type SignInAttempt } from "./oidc.ts";
import { keepSession } from "./session.ts";
import { type OidcConfig, signInConfig } from "./sign_in_config.ts";

/** The page that the issuer leads back to, below `/ui/`. */
const RETURN_PATH = "signed-in";

const KEY_PREFIX = "svc.sign_in.";
const CHANNEL = "svc.sign_in";
const WINDOW = "popup,width=520,height=720";

interface KeptAttempt extends SignInAttempt {
  readonly inWindow: boolean;
  /** The address to go back to. */
  readonly returnTo: string;
}

/** A sign-in that only needs a click: browsers open windows for nothing else. */
export interface ReadySignIn {
  readonly host: string;
  /** Resolves once there are tokens. Errors: `Error` with what the issuer says. */
  readonly start: (signal: AbortSignal) => Promise<void>;
}

/** Errors: `Error` when the issuer cannot be reached. */
export async function prepareSignIn(config: OidcConfig): Promise<ReadySignIn> {
  const redirectUri = new URL(`./${RETURN_PATH}`, location.href).href;
  const { url, attempt } = await beginSignIn(config, redirectUri);
  return {
    host: new URL(config.issuer).host,
    start: (signal) => signInThere(config, { url, attempt, signal }),
  };
}

async function signInThere(
  config: OidcConfig,
  { url, attempt, signal }: {
    readonly url: URL;
    readonly attempt: SignInAttempt;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const keep = (inWindow: boolean) => {
    const kept: KeptAttempt = { ...attempt, inWindow, returnTo: location.href };
    sessionStorage.setItem(KEY_PREFIX + attempt.state, JSON.stringify(kept));
  };
  // The window has a copy of this tab's storage, so it knows that it is one.
  keep(true);
  const answer = answerOf(attempt.state, signal);
  if (open(url, "svc-sign-in", WINDOW) === null) {
    keep(false);
    location.assign(url);
    return;
  }
  const found = await answer.finally(() => sessionStorage.removeItem(KEY_PREFIX + attempt.state));
  keepSession(await finishSignIn(config, attempt, found));
}

/** What the issuer's window came back with. */
async function answerOf(state: string, signal: AbortSignal): Promise<URLSearchParams> {
  const channel = new BroadcastChannel(CHANNEL);
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  channel.addEventListener("message", ({ data }) => {
    const answer = new URLSearchParams(String(data));
    if (answer.get("state") === state) resolve(answer);
  });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", abort);
    channel.close();
  }
}

/**
 * Takes what the issuer led back with, when this page is opened for that. `here`: this tab went
 * there, and the address is again what it was. `window`: another tab waits for this window.
 */
export async function takeSignInAnswer(): Promise<
  { readonly kind: "none" | "here" | "window"; readonly failure?: string }
> {
  if (!location.pathname.endsWith(`/${RETURN_PATH}`)) return { kind: "none" };
  const answer = new URLSearchParams(location.search);
  const key = KEY_PREFIX + (answer.get("state") ?? "");
  const kept: KeptAttempt | undefined = JSON.parse(sessionStorage.getItem(key) ?? "null") ??
    undefined;
  sessionStorage.removeItem(key);
  if (kept === undefined || kept.inWindow) {
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage(location.search);
    channel.close();
    close();
    return { kind: "window" };
  }
  history.replaceState(null, "", kept.returnTo);
  const { oidc } = await signInConfig();
  if (oidc === undefined) return { kind: "here" };
  try {
    keepSession(await finishSignIn(oidc, kept, answer));
    return { kind: "here" };
  } catch (error) {
    return { kind: "here", failure: error instanceof Error ? error.message : String(error) };
  }
}
