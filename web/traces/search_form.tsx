/** The form of a search for traces, with what is wrong at its field. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { rangeText, SPANS, type TimeRange } from "../logs/time_range.ts";
import { timeText } from "../view/time_text.ts";
import { LIMITS, type TraceSearch } from "./trace_search.ts";
import {
  fault,
  isRunning,
  operations,
  proposeOperations,
  proposeServices,
  search,
  searchWith,
  services,
  stop,
  toggleTag,
  typed,
} from "./traces_state.ts";

type TextField = "service" | "operation" | "tags" | "minDuration" | "maxDuration";

export function SearchForm(): JSX.Element {
  const { service, tags, limit } = typed.value;
  useEffect(() => void proposeServices(), []);
  useEffect(() => void proposeOperations(service), [service]);
  const hasErrors = /(?:^|\s)error=true(?:\s|$)/.test(tags);
  return (
    <form
      class="trace-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        search();
      }}
    >
      <Field name="service" label="Service" hint="any service" list={services.value} />
      <Field name="operation" label="Operation" hint="any operation" list={operations.value} />
      <Field name="tags" label="Tags" hint="http.status_code=500 error=true" />
      <Field name="minDuration" label="At least" hint="100ms" />
      <Field name="maxDuration" label="At most" hint="2.5s" />
      <RangeField />
      <label class="field">
        <span>Traces</span>
        <select
          value={limit}
          onChange={(event) => searchWith({ limit: Number(event.currentTarget.value) })}
        >
          {LIMITS.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </label>
      <span class="submit">
        <button
          type="button"
          aria-pressed={hasErrors}
          onClick={() => toggleTag("error", "true")}
        >
          Errors only
        </button>
        {/* The button stays while a search runs: without one Enter would submit nothing. */}
        <button type="submit" class="main">Search</button>
        <button type="button" class="stop" data-running={isRunning.value} onClick={stop}>
          Stop
        </button>
      </span>
    </form>
  );
}

function Field({ name, label, hint, list }: {
  readonly name: TextField;
  readonly label: string;
  readonly hint: string;
  readonly list?: readonly string[];
}): JSX.Element {
  const wrong = fault.value?.field === name ? fault.value.message : undefined;
  const id = `trace-${name}`;
  return (
    <label class={`field ${name}`}>
      <span>{label}</span>
      <input
        id={id}
        type="text"
        placeholder={hint}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        list={list === undefined ? undefined : `${id}-list`}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong === undefined ? undefined : `${id}-wrong`}
        value={typed.value[name]}
        onInput={(event) => {
          typed.value = { ...typed.value, [name]: event.currentTarget.value } as TraceSearch;
        }}
      />
      {list !== undefined && (
        <datalist id={`${id}-list`}>
          {list.map((one) => <option key={one} value={one} />)}
        </datalist>
      )}
      {wrong !== undefined && <span id={`${id}-wrong`} class="wrong" role="alert">{wrong}</span>}
    </label>
  );
}

function RangeField(): JSX.Element {
  const current = typed.value.range;
  return (
    <label class="field range">
      <span>Time</span>
      <select
        value={rangeText(current)}
        onChange={(event) => {
          const { value } = event.currentTarget;
          const span = SPANS.find(({ ms }) => rangeText({ kind: "last", ms }) === value);
          if (span !== undefined) searchWith({ range: { kind: "last", ms: span.ms } });
        }}
      >
        {(current.kind === "between" || !SPANS.some(({ ms }) => ms === current.ms)) && (
          <option value={rangeText(current)}>{rangeLabel(current)}</option>
        )}
        {SPANS.map(({ label, ms }) => (
          <option key={ms} value={rangeText({ kind: "last", ms })}>Last {label}</option>
        ))}
      </select>
    </label>
  );
}

function rangeLabel(range: TimeRange): string {
  if (range.kind === "last") return `Last ${range.ms / 60_000} minutes`;
  const [from, to] = [range.from, range.to].map((ms) => timeText(ms).slice(5, 16));
  return `${from} to ${to?.slice(0, 5) === from?.slice(0, 5) ? to?.slice(6) : to}`;
}
