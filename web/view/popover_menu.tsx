/** A button and what it opens below itself. Esc, and a click elsewhere, close it. */

import type { ComponentChildren, JSX } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

const GAP_PX = 4;

export interface PopoverMenuProps {
  /** What the button shows. */
  readonly label: ComponentChildren;
  /** The accessible name of what opens, and of the button where `label` is no text. */
  readonly name: string;
  readonly title?: string;
  readonly class?: string;
  /** The id of the button, for a key that presses it. */
  readonly buttonId?: string;
  /** Made while it is open; `close` closes it. */
  readonly children: (close: () => void) => ComponentChildren;
}

export function PopoverMenu(props: PopoverMenuProps): JSX.Element {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const panel = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = () => panel.current?.hidePopover();
  // A key that follows at once is typed into what opened, so nothing waits for a frame.
  useLayoutEffect(() => {
    if (isOpen) show(panel.current, button.current);
  }, [isOpen]);
  return (
    <>
      <button
        ref={button}
        type="button"
        id={props.buttonId}
        class={props.class}
        title={props.title}
        popovertarget={id}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={(event) => {
          // It opens once it has its children, and not by itself.
          event.preventDefault();
          if (isOpen) close();
          else setOpen(true);
        }}
      >
        {props.label}
      </button>
      <div
        ref={panel}
        id={id}
        popover="auto"
        role="dialog"
        aria-label={props.name}
        class="popover-menu"
        onToggle={(event) => {
          if ((event as unknown as ToggleEvent).newState === "closed") setOpen(false);
        }}
      >
        {isOpen && props.children(close)}
      </div>
    </>
  );
}

/** Opens the panel below its button, within the window, and gives it the focus. */
function show(panel: HTMLElement | null, button: HTMLElement | null): void {
  if (panel === null || button === null) return;
  panel.showPopover({ source: button });
  const at = button.getBoundingClientRect();
  const { width, height } = panel.getBoundingClientRect();
  const left = Math.max(GAP_PX, Math.min(at.left, innerWidth - width - GAP_PX));
  const below = at.bottom + GAP_PX;
  const top = below + height <= innerHeight ? below : Math.max(GAP_PX, at.top - height - GAP_PX);
  panel.style.left = `${left}px`;
  panel.style.top = `${top}px`;
  panel.querySelector<HTMLElement>("[data-focus]")?.focus();
}
