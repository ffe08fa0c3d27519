/** Asks for a token when the server wants one. What was typed elsewhere stays. */

import { useEffect, useRef } from "preact/hooks";
import type { JSX } from "preact";
import { search } from "./log_state.ts";
import { isTokenWanted, keepToken } from "../api/token.ts";

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
      onClose={() => isTokenWanted.value = false}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          keepToken(input.current?.value ?? "");
          search({ isNew: false });
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
