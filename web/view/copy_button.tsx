/** A button that copies a text, and says so. */

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";

const TOLD_MS = 1_500;

export function CopyButton({ text, title, children }: {
  readonly text: () => string;
  readonly title?: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  const [told, setTold] = useState<string | undefined>(undefined);
  const tell = (what: string) => {
    setTold(what);
    setTimeout(() => setTold(undefined), TOLD_MS);
  };
  return (
    <button
      type="button"
      title={title}
      onClick={({ currentTarget }) =>
        copy(text(), currentTarget).then(() => tell("copied"), () => tell("not allowed"))}
    >
      <span aria-live="polite">{told ?? children}</span>
    </button>
  );
}

/**
 * Without HTTPS off this machine there is no clipboard, but the old command, which copies what is
 * selected. The field for it stands beside the button, since a dialog keeps the focus within. Errors:
 * the browser's, where it allows no copy.
 */
async function copy(text: string, button: HTMLElement): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  button.after(field);
  field.focus({ preventScroll: true });
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  button.focus({ preventScroll: true });
  if (!isCopied) throw new Error("the browser allows no copy here");
}
