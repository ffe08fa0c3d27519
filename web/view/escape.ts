/** Esc closes what was opened last. Dialogs and popovers close by themselves, and come before. */

import { useLayoutEffect } from "preact/hooks";

const opened: (() => void)[] = [];

/** While `isOpen`, Esc calls `close`, unless something else was opened later. */
export function useEscape(isOpen: boolean, close: () => void): void {
  // An effect would end after the next frame: until then Esc would close what is gone already.
  useLayoutEffect(() => {
    if (!isOpen) return;
    opened.push(close);
    return () => {
      opened.splice(opened.lastIndexOf(close), 1);
    };
  }, [isOpen]);
}

addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  if (document.querySelector("dialog[open], :popover-open") !== null) return;
  opened.at(-1)?.();
});
