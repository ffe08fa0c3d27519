/** A word selected with the mouse offers to search for it. */

import { useSignal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useEffect } from "preact/hooks";
import { searchOnly, toggleTerm } from "./log_state.ts";
import { phraseTerm } from "./phrase_term.ts";

const CHARS_MAX = 200;

interface Offer {
  readonly term: string;
  readonly left: number;
  readonly top: number;
}

export function SelectedText({ scroller }: {
  readonly scroller: RefObject<HTMLElement | null>;
}): JSX.Element | null {
  const offer = useSignal<Offer | undefined>(undefined);
  useEffect(() => {
    const pane = scroller.current;
    const look = () => {
      // The selection is made once the event is over.
      setTimeout(() => offer.value = pane === null ? undefined : offerOf(pane));
    };
    const drop = () => {
      if (getSelection()?.type !== "Range") offer.value = undefined;
    };
    pane?.addEventListener("pointerup", look);
    document.addEventListener("selectionchange", drop);
    return () => {
      pane?.removeEventListener("pointerup", look);
      document.removeEventListener("selectionchange", drop);
    };
  }, []);
  const shown = offer.value;
  if (shown === undefined) return null;
  const choose = (act: () => void) => () => {
    offer.value = undefined;
    getSelection()?.empty();
    act();
  };
  return (
    <div
      class="selected-text"
      role="group"
      aria-label="The selected text"
      style={{ left: `${shown.left}px`, top: `${shown.top}px` }}
      // The selection stays while one of these is pressed.
      onPointerDown={(event) => event.preventDefault()}
    >
      <button type="button" onClick={choose(() => searchOnly(shown.term))}>search this</button>
      <button type="button" onClick={choose(() => toggleTerm(shown.term))}>+ filter</button>
      <button type="button" onClick={choose(() => toggleTerm(`-${shown.term}`))}>− filter</button>
    </div>
  );
}

function offerOf(pane: HTMLElement): Offer | undefined {
  const selection = getSelection();
  if (selection === null || selection.type !== "Range") return undefined;
  const range = selection.getRangeAt(0);
  if (!pane.contains(range.commonAncestorContainer)) return undefined;
  const text = selection.toString().trim();
  const term = text.length > CHARS_MAX ? undefined : phraseTerm(text);
  if (term === undefined) return undefined;
  const at = range.getBoundingClientRect();
  return {
    term,
    left: Math.max(4, Math.min(at.left, innerWidth - 240)),
    top: at.bottom + 32 < innerHeight ? at.bottom + 4 : at.top - 32,
  };
}
