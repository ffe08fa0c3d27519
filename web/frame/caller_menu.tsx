/** Who asks, and for which tenant. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { requestJson } from "../api/request.ts";
import { isSignedOut, session, signIns, signOut, wishSignIn } from "../api/session.ts";

/** `GET /api/v1/caller`. */
interface Caller {
  readonly tenant: string;
  readonly namespace: string;
  readonly subject?: string;
  readonly email?: string;
}

const caller = signal<Caller | undefined>(undefined);

export function CallerMenu(): JSX.Element | null {
  const bearer = session.value?.bearer;
  const before = useRef(bearer);
  useEffect(() => {
    const hasSignedOut = before.current !== undefined && bearer === undefined;
    before.current = bearer;
    if (hasSignedOut) caller.value = undefined;
    // Asking would open the dialog again.
    if (hasSignedOut) return;
    const asking = new AbortController();
    requestJson("caller", { signal: asking.signal })
      .then((answer) => caller.value = answer as Caller)
      // The page says it where rows are missing.
      .catch(() => {});
    return () => asking.abort();
    // A renewed token is the same caller's.
  }, [signIns.value, bearer === undefined]);
  const shown = caller.value;
  if (isSignedOut.value) {
    return <button type="button" onClick={wishSignIn}>Sign in</button>;
  }
  if (shown === undefined) return null;
  const name = shown.email ?? shown.subject;
  return (
    <>
      <button type="button" popovertarget="caller" title="Whose rows are shown">
        <span class="wide">tenant</span> <strong>{shown.tenant}</strong>
      </button>
      <div id="caller" popover="auto" class="caller">
        <dl>
          <dt>Tenant</dt>
          <dd>{shown.tenant}</dd>
          <dt>Tables in</dt>
          <dd>{shown.namespace}</dd>
          {name !== undefined && <dt>Signed in as</dt>}
          {name !== undefined && <dd>{name}</dd>}
        </dl>
        {bearer !== undefined && (
          <button
            type="button"
            popovertarget="caller"
            popovertargetaction="hide"
            onClick={signOut}
          >
            Sign out in this tab
          </button>
        )}
      </div>
    </>
  );
}
