/** Keys that work wherever nothing is typed, and the list of them that `?` opens. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

/** What a key does. `key` is a `KeyboardEvent.key`; `does` completes "the key …". */
export interface KeyAction {
  readonly key: string;
  readonly does: string;
  readonly run: () => void;
}

const active = signal<readonly KeyAction[]>([]);
const isHelpOpen = signal(false);

/** The actions of a component, as long as it is shown. */
export function useKeys(actions: readonly KeyAction[]): void {
  useLayoutEffect(() => {
    active.value = [...active.peek(), ...actions];
    return () => {
      active.value = active.peek().filter((action) => !actions.includes(action));
    };
  }, []);
}

/** Opens the list of keys. */
export function openHelp(): void {
  isHelpOpen.value = true;
}

export function KeyHelp(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isHelpOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isHelpOpen.value]);
  return (
    <dialog
      ref={dialog}
      class="help"
      aria-labelledby="help-title"
      onClose={() => isHelpOpen.value = false}
    >
      <h2 id="help-title">Keys</h2>
      <dl>
        {active.value.map(({ key, does }) => (
          <div key={`${key} ${does}`}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
  if (document.querySelector("dialog[open]") !== null) return;
  // The newest wins: what was opened last has the key.
  const action = active.peek().findLast(({ key }) => key === event.key);
  if (action === undefined) return;
  event.preventDefault();
  action.run();
});

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable);
}
