/**
 * Asks who the user is when the server wants to know: for a token, or for a sign-in at the issuer.
 * What was typed elsewhere stays.
 */

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { keepSession, refuseSignIn, signInWish } from "../api/session.ts";
import { prepareSignIn, type ReadySignIn } from "../api/sign_in.ts";
import { type OidcConfig, signInConfig } from "../api/sign_in_config.ts";

/** How the page closes the dialog; the user leaves no such word. */
const DONE = "done";

const oidc = signal<OidcConfig | undefined>(undefined);

export function SignInDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const wish = signInWish.value;
  useEffect(() => {
    if (wish === undefined) return dialog.current?.close(DONE);
    // Without an answer a token is asked for.
    signInConfig().catch(() => undefined).then((config) => {
      oidc.value = config?.oidc;
      if (signInWish.peek() === undefined || dialog.current === null) return;
      dialog.current.returnValue = "";
      dialog.current.showModal();
    });
  }, [wish]);
  return (
    <dialog
      ref={dialog}
      class="sign-in"
      aria-labelledby="sign-in-title"
      onClose={({ currentTarget: { open, returnValue } }) => {
        // The event comes late: by then the server may have refused what was given.
        if (!open && returnValue !== DONE) refuseSignIn();
      }}
    >
      <h2 id="sign-in-title">
        {wish?.reason === undefined ? "Who asks?" : "Please sign in again"}
      </h2>
      {wish?.reason !== undefined && <p>The server says: {wish.reason}</p>}
      {wish === undefined
        ? null
        : oidc.value === undefined
        ? <TokenForm />
        : <IssuerForm config={oidc.value} />}
    </dialog>
  );
}

function TokenForm(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const bearer = input.current?.value.trim() ?? "";
        keepSession({ bearer, refreshToken: undefined, expiresAtMs: undefined });
      }}
    >
      <label for="token">This server wants a token.</label>
      <input id="token" ref={input} type="password" autocomplete="off" required />
      <p class="quiet">It is kept until this tab is closed.</p>
      <button type="submit" class="first">Go on</button>
    </form>
  );
}

function IssuerForm({ config }: { readonly config: OidcConfig }): JSX.Element {
  const ready = useSignal<ReadySignIn | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const isOpen = useSignal(false);
  const prepare = (leaving: AbortSignal) => {
    ready.value = undefined;
    prepareSignIn(config).then((made) => {
      if (!leaving.aborted) ready.value = made;
    }).catch((error) => failure.value = error.message);
  };
  const leaving = useRef(new AbortController());
  useEffect(() => {
    leaving.current = new AbortController();
    prepare(leaving.current.signal);
    return () => leaving.current.abort();
  }, [config]);
  const running = useRef(new AbortController());
  const start = async () => {
    // Whoever clicks again has lost the window.
    running.current.abort();
    running.current = new AbortController();
    const signal = AbortSignal.any([leaving.current.signal, running.current.signal]);
    isOpen.value = true;
    failure.value = undefined;
    await ready.value?.start(signal).catch((error) => {
      if (signal.aborted) return;
      failure.value = error.message;
      // An attempt counts once.
      prepare(leaving.current.signal);
    });
    if (!signal.aborted) isOpen.value = false;
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      {failure.value !== undefined && <p class="failed" role="alert">{failure.value}</p>}
      <p>
        {isOpen.value
          ? "Go on in the window that has opened. This page stays as it is."
          : "You sign in with your organization. This page stays as it is."}
      </p>
      <button type="submit" class="first" disabled={ready.value === undefined}>
        Sign in at {new URL(config.issuer).host}
      </button>
    </form>
  );
}
