/** Asks for the name of what is dropped: there is no way back. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { Modal } from "../view/modal.tsx";
import { remove, removing } from "./tables_state.ts";

export function RemoveDialog(): JSX.Element | null {
  const wanted = removing.value;
  return wanted === undefined ? null : <Ask key={wanted.id} {...wanted} />;
}

function Ask({ kind, id }: {
  readonly kind: "index" | "template";
  readonly id: string;
}): JSX.Element {
  const typed = useSignal("");
  return (
    <Modal title={kind === "index" ? "Drop the index" : "Remove the template"} onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed.value === id) remove();
        }}
      >
        <p>
          {kind === "index"
            ? "Its configuration and all of its rows go at once, and cannot be had again."
            : "Indexes that it made stay as they are. New names get another configuration, or none."}
        </p>
        <label class="field">
          <span>Type {id} to confirm</span>
          <input
            type="text"
            autocomplete="off"
            spellcheck={false}
            value={typed.value}
            onInput={(event) => typed.value = event.currentTarget.value}
          />
        </label>
        <p class="acts">
          <button type="button" onClick={close}>Keep it</button>
          <button type="submit" disabled={typed.value !== id}>
            {kind === "index" ? `Drop ${id}` : `Remove ${id}`}
          </button>
        </p>
      </form>
    </Modal>
  );
}

function close(): void {
  removing.value = undefined;
}
