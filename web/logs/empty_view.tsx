/** Nothing was found: why that may be, and what to do. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { agoText } from "../view/time_text.ts";
import { emptiness, lookWhy } from "./empty_state.ts";
import { fieldTerm } from "./field_term.ts";
import { FirstLog } from "./first_log.tsx";
import { searched, typed, zone } from "./log_address.ts";
import { asked, search, searchRange } from "./log_state.ts";
import { instantText } from "./time_zone.ts";

const HALF_HOUR_MS = 1_800_000;

export function EmptyView(): JSX.Element {
  const now = asked.value;
  useEffect(() => {
    if (now === undefined) return;
    const running = new AbortController();
    lookWhy(now, running.signal).catch((error) => {
      if (!running.signal.aborted) throw error;
    });
    return () => running.abort();
  }, [now]);
  const { isUnused, olderMs, newerMs } = emptiness.value;
  if (isUnused === true) return <FirstLog />;
  return (
    <section class="empty" aria-live="polite">
      <h2>No rows</h2>
      <MeantName />
      {olderMs !== undefined && <Nearest ms={olderMs} />}
      {newerMs !== undefined && <Nearest ms={newerMs} />}
      {searched.value !== "" && (
        <p>
          No row of this time is found by <code>{searched.value}</code>.{" "}
          <button type="button" onClick={() => (typed.value = "", search())}>
            Search for everything
          </button>
        </p>
      )}
    </section>
  );
}

/** The nearest rows, with half an hour around them. */
function Nearest({ ms }: { readonly ms: number }): JSX.Element {
  const between = { from: ms - HALF_HOUR_MS, to: ms + HALF_HOUR_MS };
  return (
    <p>
      The nearest {searched.value === "" ? "rows" : "rows that match"} are of{" "}
      {instantText(Math.floor(ms / 1_000) * 1_000, zone.value)}, {agoText(ms, Date.now())}.{" "}
      <button type="button" onClick={() => searchRange({ kind: "between", ...between })}>
        Go there
      </button>
    </p>
  );
}

function MeantName(): JSX.Element | null {
  const { unknown } = emptiness.value;
  if (unknown === undefined) return null;
  const { field: { name, span }, meant } = unknown;
  return (
    <p>
      No row has a field <code>{name}</code>. {meant !== undefined && (
        <>
          Did you mean{" "}
          <button
            type="button"
            onClick={() => {
              const written = fieldTerm(meant, "x").slice(0, -":x".length);
              const text = searched.value;
              typed.value = text.slice(0, span.start) + written + text.slice(span.end);
              search();
            }}
          >
            {meant}
          </button>?
        </>
      )}
    </p>
  );
}
