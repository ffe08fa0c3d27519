/** Asks for a token when the server wants one. What was typed elsewhere stays. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isTokenWanted, keepToken, refuseToken } from "../api/token.ts";

export function TokenDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isTokenWanted.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isTokenWanted.value]);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="token-title"
      onClose={() => isTokenWanted.value && refuseToken()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          keepToken(input.current?.value ?? "");
        }}
      >
        <strong id="token-title">This server wants a token</strong>
        <input ref={input} type="password" aria-label="Token" autocomplete="off" required />
        <span>It is kept until this tab is closed.</span>
        <button type="submit">Go on</button>
      </form>
    </dialog>
  );
}
