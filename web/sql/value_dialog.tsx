/** A whole value: JSON by its members, a text with its lines; copied as it is. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Value } from "../api/sql_client.ts";
import { CopyButton } from "../view/copy_button.tsx";
import { wholeText } from "../view/number_text.ts";
import { readableText, valueText } from "./value_text.ts";
import { ShownText } from "../view/shown_text.tsx";

interface OpenValue {
  readonly name: string;
  readonly value: Value;
}

const shown = signal<OpenValue | undefined>(undefined);

export function openValue(value: OpenValue): void {
  shown.value = value;
}

export function ValueDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = shown.value;
  // At once, so that Escape right after Enter finds it open.
  useLayoutEffect(() => {
    if (open === undefined) dialog.current?.close();
    else dialog.current?.showModal();
  }, [open]);
  const text = valueText(open?.value ?? null);
  return (
    <dialog
      ref={dialog}
      class="value-dialog"
      aria-labelledby="value-name"
      onClose={() => shown.value = undefined}
    >
      <h2 id="value-name">{open?.name}</h2>
      <pre tabIndex={0} aria-label="Value">
        {open?.value === null ? "null" : <ShownText text={readableText(open?.value ?? null)} />}
      </pre>
      <form method="dialog">
        <span>{wholeText(text.length)} letters</span>
        <CopyButton text={() => text}>Copy</CopyButton>
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}
