/** The traces that a search found. Each is a link, so that it opens in another tab as well. */

import type { JSX } from "preact";
import { PlaceLink } from "../frame/place_link.tsx";
import { countText, durationText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import type { TraceSummary } from "./trace_client.ts";
import {
  type FoundTraces,
  type Order,
  order,
  ordered,
  ORDERS,
  sortBy,
  traceQuery,
} from "./traces_state.ts";

const SERVICES_SHOWN = 3;

const NAMES: Readonly<Record<Order, string>> = {
  newest: "Newest first",
  longest: "Longest first",
  spans: "Most spans first",
  errors: "Most errors first",
};

export function TraceList({ shown }: { readonly shown: FoundTraces }): JSX.Element {
  const { traces, search: { limit } } = shown;
  const longest = Math.max(1, ...traces.map(({ durationNs }) => durationNs));
  return (
    <section class="trace-list" aria-label="Traces">
      <header>
        <p aria-live="polite">
          <strong>{wholeText(traces.length)}</strong> {traces.length === 1 ? "trace" : "traces"}
          {traces.length >= limit && ": the newest that were found; there may be older ones"}
        </p>
        <label>
          <span class="unseen">Order</span>
          <select
            value={order.value}
            onChange={({ currentTarget: { value } }) => {
              const next = ORDERS.find((one) => one === value);
              if (next !== undefined) sortBy(next);
            }}
          >
            {ORDERS.map((one) => <option key={one} value={one}>{NAMES[one]}</option>)}
          </select>
        </label>
      </header>
      <ol>
        {ordered(traces, order.value).map((trace) => (
          <TraceRow key={trace.id} trace={trace} share={trace.durationNs / longest} />
        ))}
      </ol>
    </section>
  );
}

function TraceRow({ trace, share }: {
  readonly trace: TraceSummary;
  readonly share: number;
}): JSX.Element {
  const { id, service, operation, startMs, durationNs, spans, errors, services } = trace;
  const others = services.filter(({ name }) => name !== service);
  return (
    <li>
      <PlaceLink class="trace-row" data-failed={errors > 0} path="traces" query={traceQuery(id)}>
        <TimeView ms={startMs} />
        <span class="what">
          <b>{service}</b> {operation}
        </span>
        <span class="with">
          {others.slice(0, SERVICES_SHOWN).map(({ name }) => name).join(", ")}
          {others.length > SERVICES_SHOWN && ` and ${others.length - SERVICES_SHOWN} more`}
        </span>
        <span class="counts">
          {countText(spans, "span")}
        </span>
        <span class="errors">
          {errors > 0 && countText(errors, "error")}
        </span>
        <span class="duration">
          <i style={{ width: `${Math.max(0.5, 100 * share)}%` }} />
          <span>{durationText(durationNs / 1e6)}</span>
        </span>
      </PlaceLink>
    </li>
  );
}
