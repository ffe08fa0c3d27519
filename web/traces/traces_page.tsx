/** The page Traces: a search, its traces as picture and list, the service graph, or one trace. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { useKeys } from "../frame/keys.tsx";
import { usePlace } from "../frame/router.ts";
import { openId } from "./open_trace_state.ts";
import { OpenTraceView } from "./open_trace_view.tsx";
import { ScatterView } from "./scatter_view.tsx";
import { SearchForm } from "./search_form.tsx";
import { ServiceGraphView } from "./service_graph_view.tsx";
import { TraceList } from "./trace_list.tsx";
import { NO_SEARCH } from "./trace_search.ts";
import {
  failure,
  found,
  isRunning,
  readAddress,
  searchAgain,
  searchWith,
  show,
  type TracesView,
  typed,
  view,
} from "./traces_state.ts";

export function TracesPage(): JSX.Element {
  usePlace("traces", readAddress);
  return openId.value === undefined ? <Results /> : <OpenTraceView />;
}

function Results(): JSX.Element {
  useKeys([
    {
      key: "/",
      does: "goes to the search",
      run: () => document.getElementById("trace-service")?.focus(),
    },
    { key: "j", does: "goes to the next trace", run: () => focusTrace(1) },
    { key: "k", does: "goes to the trace before", run: () => focusTrace(-1) },
  ]);
  return (
    <>
      <SearchForm />
      <nav class="views" aria-label="View">
        <ViewButton name="list" label="Traces" />
        <ViewButton name="graph" label="Service graph" />
      </nav>
      <main class="traces" aria-busy={isRunning.value}>
        {failure.value !== undefined && <p class="failure" role="alert">{failure.value}</p>}
        {view.value === "graph" ? <ServiceGraphView /> : <Found />}
      </main>
    </>
  );
}

function focusTrace(by: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>(".trace-row")];
  rows[rows.findIndex((row) => row === document.activeElement) + by]?.focus();
}

function ViewButton({ name, label }: {
  readonly name: TracesView;
  readonly label: string;
}): JSX.Element {
  return (
    <button type="button" aria-pressed={view.value === name} onClick={() => show(name)}>
      {label}
    </button>
  );
}

function Found(): JSX.Element {
  const shown = found.value;
  if (shown === undefined) {
    return <p class="empty" aria-live="polite">{isRunning.value ? "Searching…" : ""}</p>;
  }
  if (shown.traces.length === 0) return <Nothing />;
  return (
    <>
      <ScatterView shown={shown} />
      <TraceList shown={shown} />
    </>
  );
}

const LOOK_AGAIN_MS = 3_000;
const DAYS_30_MS = 30 * 86_400_000;

/** Why there may be nothing, and what to do. It goes by itself when the first trace arrives. */
function Nothing(): JSX.Element {
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && searchAgain(), LOOK_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const { range, service, operation, tags, minDuration, maxDuration } = typed.value;
  const isShort = range.kind === "last" && range.ms < DAYS_30_MS;
  const hasConditions = [service, operation, tags, minDuration, maxDuration].some((one) =>
    one !== ""
  );
  return (
    <section class="empty" aria-live="polite">
      <h2>No traces</h2>
      {hasConditions && (
        <p>
          No trace of this time has a span that meets all conditions.{" "}
          <button type="button" onClick={() => searchWith({ ...NO_SEARCH, range })}>
            Search for every trace
          </button>
        </p>
      )}
      {isShort && (
        <p>
          Traces may be older.{" "}
          <button
            type="button"
            onClick={() => searchWith({ range: { kind: "last", ms: DAYS_30_MS } })}
          >
            Look at 30 days
          </button>
        </p>
      )}
      <p>Nothing was sent yet? Let a program's OpenTelemetry SDK send its spans:</p>
      <pre>{EXAMPLE}</pre>
      <p>The page shows them by itself when they arrive.</p>
    </section>
  );
}

const EXAMPLE = `export OTEL_SERVICE_NAME=checkout
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=http://${location.hostname}:8088`;
