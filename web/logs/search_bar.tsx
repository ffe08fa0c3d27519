/** The line of the search: its text with completion, the range, and what is wrong with either. */

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import {
  activeOffer,
  closeOffers,
  complete,
  type Offers,
  offers,
  takeOffer,
} from "./completion_state.ts";
import { typed } from "./log_address.ts";
import { isRunning, search, searchFailure, stop } from "./log_state.ts";
import { TimeMenu } from "./time_menu.tsx";

const EXAMPLE = 'error service:checkout level:>=warn "card declined"';

export function SearchBar(): JSX.Element {
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        closeOffers();
        search();
      }}
    >
      <SearchInput />
      <TimeMenu />
      {isRunning.value
        // Two elements: one that became the other while it is clicked would search again.
        ? <button key="stop" type="button" class="run" onClick={stop}>Stop</button>
        : <button key="search" type="submit" class="run">Search</button>}
      <SearchFailure />
    </form>
  );
}

/** A combobox: https://www.w3.org/WAI/ARIA/apg/patterns/combobox/ */
function SearchInput(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const shown = offers.value;
  const active = activeOffer.value;
  const take = (index: number) => {
    const offer = shown?.list[index];
    if (shown === undefined || offer === undefined) return;
    const at = takeOffer(shown, offer);
    if (input.current !== null) {
      // What is typed at once belongs behind the offer, so nothing waits for a frame.
      input.current.value = typed.value;
      input.current.focus();
      input.current.setSelectionRange(at, at);
    }
    if (shown.place.kind === "name") complete(typed.value, at);
  };
  return (
    <div class="search-box">
      <input
        ref={input}
        id="search"
        type="text"
        role="combobox"
        aria-label="Search"
        aria-describedby="search-failure"
        aria-autocomplete="list"
        aria-expanded={shown !== undefined}
        aria-controls="search-offers"
        aria-activedescendant={active === undefined ? undefined : `offer-${active}`}
        enterkeyhint="search"
        placeholder={EXAMPLE}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={typed.value}
        onInput={({ currentTarget: { value, selectionStart } }) => {
          typed.value = value;
          complete(value, selectionStart ?? value.length);
        }}
        onKeyDown={(event) => onKey(event, { shown, take })}
        onBlur={closeOffers}
      />
      <ul id="search-offers" role="listbox" aria-label="Completions" hidden={shown === undefined}>
        {shown?.list.map(({ text, note }, index) => (
          <li
            key={text}
            id={`offer-${index}`}
            role="option"
            aria-selected={index === active}
            // The input keeps the focus.
            onPointerDown={(event) => {
              event.preventDefault();
              take(index);
            }}
          >
            <span>{text}</span>
            <span class="quiet">{note}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function onKey(
  event: KeyboardEvent,
  { shown, take }: { readonly shown: Offers | undefined; readonly take: (index: number) => void },
): void {
  if (event.key === "Escape" && shown === undefined) {
    (event.currentTarget as HTMLElement).blur();
    return event.preventDefault();
  }
  if (shown === undefined) return;
  const count = shown.list.length;
  const active = activeOffer.value;
  switch (event.key) {
    case "ArrowDown":
      activeOffer.value = active === undefined ? 0 : (active + 1) % count;
      break;
    case "ArrowUp":
      activeOffer.value = active === undefined ? count - 1 : (active + count - 1) % count;
      break;
    case "Tab":
      if (event.shiftKey) return;
      take(active ?? 0);
      break;
    case "Enter":
      if (active === undefined) return;
      take(active);
      break;
    case "Escape":
      closeOffers();
      break;
    default:
      return;
  }
  event.preventDefault();
}

/** The message, and the search with a mark below what is wrong. */
function SearchFailure(): JSX.Element {
  const failure = searchFailure.value;
  const { start = 0, end = 0 } = failure?.span ?? {};
  const text = typed.value;
  return (
    <div id="search-failure" class="failure" role="alert" hidden={failure === undefined}>
      {failure?.span !== undefined && (
        <code>
          {text.slice(0, start)}
          <mark>{text.slice(start, Math.max(end, start + 1)) || " "}</mark>
          {text.slice(Math.max(end, start + 1))}
        </code>
      )}
      <span>{failure?.message}</span>
    </div>
  );
}
