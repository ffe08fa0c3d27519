/** The most frequent values of a field with their shares; each leads to its rows. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { shareText, wholeText } from "../view/number_text.ts";
import { type FieldValues, valuesOf } from "./field_state.ts";
import { fieldTerm } from "./field_term.ts";
import { asked, type Failure, failureOf, toggleTerm } from "./log_state.ts";
import { MarkedText } from "./marked_text.tsx";

const VALUE_CHARS_MAX = 200;

export function TopValues({ name }: { readonly name: string }): JSX.Element {
  const found = useSignal<FieldValues | undefined>(undefined);
  const failure = useSignal<Failure | undefined>(undefined);
  const now = asked.value;
  useEffect(() => {
    if (now === undefined) return;
    const running = new AbortController();
    const { signal } = running;
    failure.value = undefined;
    valuesOf(name, { now, signal }).then((values) => found.value = values).catch((error) => {
      if (!signal.aborted) failure.value = failureOf(error);
    });
    return () => running.abort();
  }, [now, name]);
  if (failure.value !== undefined) {
    return <p class="failure" role="alert">{failure.value.message}</p>;
  }
  const shown = found.value;
  if (shown === undefined) return <p class="quiet top-note">…</p>;
  if (shown.values.length === 0) return <p class="quiet top-note">No row has it.</p>;
  return (
    <>
      <ul class="top-values" aria-label={`Most frequent values of ${name}`}>
        {shown.values.map(({ value, rows, share }) => {
          const term = fieldTerm(name, value);
          return (
            <li key={value} style={{ "--share": String(Math.min(1, share)) }}>
              <button
                type="button"
                class="value-name"
                title={`Only rows with ${name} ${value}`}
                onClick={() => toggleTerm(term)}
              >
                {value === ""
                  ? <em>empty</em>
                  : <MarkedText text={value.slice(0, VALUE_CHARS_MAX)} />}
              </button>
              <span class="share" title={`${wholeText(rows)} rows`}>{shareText(share)}</span>
              <button
                type="button"
                class="value-out"
                title={`Only rows without ${name} ${value}`}
                aria-label={`Only rows without ${name} ${value}`}
                onClick={() => toggleTerm(`-${term}`)}
              >
                −
              </button>
            </li>
          );
        })}
      </ul>
      {shown.answeredFrom === "sample" && shown.sampleRows !== null && (
        <p class="quiet top-note">of the newest {wholeText(shown.sampleRows)} rows</p>
      )}
    </>
  );
}
