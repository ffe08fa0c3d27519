/** The line of the search: its text, the range, and what is wrong with either. */

import type { JSX } from "preact";
import { isRunning, range, search, searchFailure, searchRange, stop, typed } from "./log_state.ts";
import { rangeText, SPANS } from "./time_range.ts";

const EXAMPLE = 'error service:checkout level:>=warn "card declined"';

export function SearchBar(): JSX.Element {
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <input
        id="search"
        type="search"
        aria-label="Search"
        aria-describedby="search-failure"
        placeholder={EXAMPLE}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={typed.value}
        onInput={(event) => typed.value = event.currentTarget.value}
      />
      <RangeMenu />
      {isRunning.value
        ? <button type="button" onClick={stop}>Stop</button>
        : <button type="submit">Search</button>}
      <SearchFailure />
    </form>
  );
}

function RangeMenu(): JSX.Element {
  const current = range.value;
  const isSpan = current.kind === "last";
  return (
    <select
      aria-label="Time range"
      value={rangeText(current)}
      onChange={(event) => {
        const span = SPANS.find(({ ms }) =>
          rangeText({ kind: "last", ms }) === event.currentTarget.value
        );
        if (span !== undefined) searchRange({ kind: "last", ms: span.ms });
      }}
    >
      {!isSpan && <option value={rangeText(current)}>{betweenText(current)}</option>}
      {SPANS.map(({ label, ms }) => (
        <option key={ms} value={rangeText({ kind: "last", ms })}>Last {label}</option>
      ))}
    </select>
  );
}

function betweenText({ from, to }: { readonly from: number; readonly to: number }): string {
  return `${new Date(from).toLocaleString()} to ${new Date(to).toLocaleString()}`;
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
