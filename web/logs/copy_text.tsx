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
      onClick={() => copy(text()).then(() => tell("copied"), () => tell("not allowed"))}
    >
      <span aria-live="polite">{told ?? children}</span>
    </button>
  );
}

/** Errors: the browser's, where it allows no copy, as it does without HTTPS off this machine. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard === undefined) throw new Error("the browser allows no copy here");
  await navigator.clipboard.writeText(text);
}
