/** One trace: what it is, its waterfall, and what is known of the selected span. */

import type { JSX } from "preact";
import { useKeys } from "../frame/keys.tsx";
import { countText, durationText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import { MinimapView } from "./minimap_view.tsx";
import {
  adjustsClocks,
  collapsed,
  find,
  findText,
  hits,
  isLoading,
  isZoomed,
  nextHit,
  openId,
  panBy,
  reload,
  select,
  selected,
  setClocks,
  toggleAll,
  trace,
  traceFailure,
  tree,
  zoomBy,
  zoomTo,
} from "./open_trace_state.ts";
import { SpanPanel } from "./span_panel.tsx";
import { leaveTrace } from "./traces_state.ts";
import { selectNext, WaterfallView } from "./waterfall_view.tsx";

export function OpenTraceView(): JSX.Element {
  useKeys([
    { key: "j", does: "goes to the next span", run: () => selectNext(1) },
    { key: "k", does: "goes to the span before", run: () => selectNext(-1) },
    { key: "/", does: "searches within the trace", run: () => focusFind() },
    { key: "n", does: "goes to the next span found", run: () => nextHit(1) },
    { key: "N", does: "goes to the span found before", run: () => nextHit(-1) },
    { key: "+", does: "zooms in", run: () => zoomBy(0.5) },
    { key: "-", does: "zooms out", run: () => zoomBy(2) },
    { key: "0", does: "shows the whole trace", run: () => zoomTo(undefined) },
    { key: "ArrowLeft", does: "moves to earlier times", run: () => panBy(-0.25) },
    { key: "ArrowRight", does: "moves to later times", run: () => panBy(0.25) },
    { key: "Escape", does: "lets go of the span, then goes back to the results", run: escape },
  ]);
  return (
    <main class="open-trace" aria-busy={isLoading.value}>
      <Head />
      {traceFailure.value !== undefined
        ? (
          <section class="empty" role="alert">
            <h2>No trace</h2>
            <p>{traceFailure.value}</p>
            <button type="button" onClick={reload}>Ask again</button>
          </section>
        )
        : tree.value === undefined
        ? <p class="empty" aria-live="polite">{isLoading.value ? "Loading the trace…" : ""}</p>
        : (
          <>
            <MinimapView />
            <Tools />
            <div class="trace-body">
              <WaterfallView />
              <SpanPanel />
            </div>
          </>
        )}
    </main>
  );
}

function escape(): void {
  if (selected.value === undefined) leaveTrace();
  else select(undefined);
}

function focusFind(): void {
  document.getElementById("find-span")?.focus();
}

function Head(): JSX.Element {
  const nodes = tree.value?.nodes ?? [];
  const [top] = nodes;
  const failed = nodes.filter(({ span }) => span.isError).length;
  const orphans = nodes.filter(({ isOrphan }) => isOrphan).length;
  const services = new Set(nodes.map(({ span }) => span.service)).size;
  const { startNs } = trace.value ?? {};
  return (
    <header class="trace-head">
      <button type="button" onClick={leaveTrace}>← Results</button>
      <h2>
        {top === undefined ? "Trace" : (
          <>
            <b>{top.span.service}</b> {top.span.name}
          </>
        )}
        <code>{openId.value}</code>
      </h2>
      {tree.value !== undefined && startNs !== undefined && (
        <p class="sums">
          <TimeView ms={Number(startNs / 1_000n) / 1_000} />
          <span>{durationText((tree.value.toNs - tree.value.fromNs) / 1e6)}</span>
          <span>{countText(nodes.length, "span")}</span>
          <span>{countText(services, "service")}</span>
          {failed > 0 && <span class="errors">{countText(failed, "error")}</span>}
          {orphans > 0 && <span>{wholeText(orphans)} without their parent</span>}
        </p>
      )}
    </header>
  );
}

function Tools(): JSX.Element {
  const found = hits.value;
  const place = found.indexOf(selected.value ?? -1);
  const moved = tree.value?.moved ?? 0;
  return (
    <div class="trace-tools">
      <input
        id="find-span"
        type="search"
        aria-label="Search within the trace"
        placeholder="Name, service, attribute"
        spellcheck={false}
        autocomplete="off"
        value={find.value}
        onInput={(event) => findText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") nextHit(event.shiftKey ? -1 : 1);
          else if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <span class="found" aria-live="polite">
        {find.value.trim() === ""
          ? ""
          : place < 0
          ? `${wholeText(found.length)} found`
          : `${wholeText(place + 1)} of ${wholeText(found.length)}`}
      </span>
      <button
        type="button"
        disabled={found.length === 0}
        title="The one before"
        onClick={() => nextHit(-1)}
      >
        ↑
      </button>
      <button
        type="button"
        disabled={found.length === 0}
        title="The next one"
        onClick={() => nextHit(1)}
      >
        ↓
      </button>
      <span class="legend">
        <i class="path" aria-hidden="true" /> critical path
        <i class="failed" aria-hidden="true" /> error
        <i class="event" aria-hidden="true" /> event
        <i class="log" aria-hidden="true" /> log
      </span>
      <span class="gap" />
      {(moved > 0 || !adjustsClocks.value) && (
        <button
          type="button"
          aria-pressed={adjustsClocks.value}
          title="A server's span that does not lie within its client's was moved into its middle"
          onClick={() => setClocks(!adjustsClocks.value)}
        >
          {adjustsClocks.value
            ? `Clocks adjusted: ${wholeText(moved)} moved`
            : "Times as they were sent"}
        </button>
      )}
      <button type="button" onClick={toggleAll}>
        {collapsed.value.size > 0 ? "Open all" : "Close all"}
      </button>
      <button type="button" title="Zooms in" onClick={() => zoomBy(0.5)}>+</button>
      <button type="button" title="Zooms out" onClick={() => zoomBy(2)}>−</button>
      <button type="button" disabled={!isZoomed()} onClick={() => zoomTo(undefined)}>
        Whole trace
      </button>
    </div>
  );
}
