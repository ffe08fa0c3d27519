/** What is known of the selected span, and the trace's logs. */

import type { JSX } from "preact";
import { PlaceLink } from "../frame/place_link.tsx";
import { severityClass } from "../logs/severity_view.ts";
import { CopyButton } from "../view/copy_button.tsx";
import { Figure } from "../view/figure.tsx";
import { countText, durationText, shareText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import { ShownText } from "../view/shown_text.tsx";
import {
  logs,
  logsFailure,
  logsOf,
  openId,
  panel,
  pathNs,
  pathTotal,
  select,
  selected,
  showPanel,
  trace,
  tree,
} from "./open_trace_state.ts";
import { AROUND_MS, logSearch, type TraceLog } from "./trace_logs.ts";
import type { SpanAttribute, SpanEvent, SpanLink } from "./trace_span.ts";
import type { SpanNode } from "./trace_tree.ts";
import { toggleTag, traceQuery } from "./traces_state.ts";

export function SpanPanel(): JSX.Element {
  const node = tree.value?.nodes[selected.value ?? -1];
  const count = logs.value?.length;
  return (
    <aside class="span-panel" aria-label="Details">
      <div class="tabs" role="group" aria-label="Details of">
        <button
          type="button"
          aria-pressed={panel.value === "span"}
          onClick={() => showPanel("span")}
        >
          Span
        </button>
        <button
          type="button"
          aria-pressed={panel.value === "logs"}
          onClick={() => showPanel("logs")}
        >
          Logs{count === undefined ? "" : ` (${wholeText(count)})`}
        </button>
      </div>
      <div class="content" tabIndex={0} role="group" aria-label="Details">
        {panel.value === "logs"
          ? <Logs />
          : node === undefined
          ? <PathByService />
          : <SpanDetails node={node} />}
      </div>
    </aside>
  );
}

/** Which services the time of the critical path was spent in. */
function PathByService(): JSX.Element {
  const nodes = tree.value?.nodes ?? [];
  const services = [...Map.groupBy(nodes, ({ span }) => span.service)].map(([service, own]) => ({
    service,
    spans: own.length,
    errors: own.filter(({ span }) => span.isError).length,
    ns: own.reduce((sum, { at }) => sum + (pathNs.value.get(at) ?? 0), 0),
  })).sort((a, b) => b.ns - a.ns || b.spans - a.spans);
  return (
    <>
      <h2>Where the time went</h2>
      <p class="note">
        {durationText(pathTotal.value / 1e6)} on the critical path. Choose a span for its details.
      </p>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Service</th>
            <th scope="col" class="number">On the path</th>
            <th scope="col" class="number">Spans</th>
            <th scope="col" class="number">Errors</th>
          </tr>
        </thead>
        <tbody>
          {services.map(({ service, spans, errors, ns }) => (
            <tr key={service}>
              <th scope="row">{service}</th>
              <td class="number">
                {ns === 0 ? "–" : `${durationText(ns / 1e6)}, ${shareText(ns / pathTotal.value)}`}
              </td>
              <td class="number">{wholeText(spans)}</td>
              <td class="number">{errors === 0 ? "" : wholeText(errors)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function SpanDetails({ node }: { readonly node: SpanNode }): JSX.Element {
  const { span, fromNs, shiftNs } = node;
  const onPath = pathNs.value.get(node.at) ?? 0;
  const startMs = Number(((trace.value?.startNs ?? 0n) + BigInt(span.startNs)) / 1_000n) / 1_000;
  const ownLogs = logsOf.value.get(span.spanId)?.length ?? 0;
  return (
    <>
      <h2>
        <b>{span.service}</b> {span.name}
      </h2>
      {span.isError && (
        <p class="error-text" role="note">
          Error{span.statusText === "" ? "" : `: ${span.statusText}`}
        </p>
      )}
      {node.isOrphan && (
        <p class="note">
          Its parent <code>{span.parentId}</code> is not stored: it was not sent, or not yet.
        </p>
      )}
      <dl class="figures">
        <Figure name="Duration">{durationText(span.durationNs / 1e6)}</Figure>
        <Figure name="Begins at">{durationText((fromNs - (tree.value?.fromNs ?? 0)) / 1e6)}</Figure>
        <Figure name="On the critical path">
          {onPath === 0
            ? "no"
            : `${durationText(onPath / 1e6)}, ${shareText(onPath / pathTotal.value)} of it`}
        </Figure>
        <Figure name="Kind">{span.kind}</Figure>
        {shiftNs !== 0 && <Figure name="Moved by">{durationText(shiftNs / 1e6)}</Figure>}
        {span.scope !== "" && <Figure name="Scope">{span.scope}</Figure>}
        <Figure name="Start">
          <TimeView ms={startMs} />
        </Figure>
        <Figure name="Span id">{span.spanId}</Figure>
      </dl>
      {ownLogs > 0 && (
        <p>
          <button type="button" onClick={() => showPanel("logs")}>
            {countText(ownLogs, "log row")} of this span
          </button>
        </p>
      )}
      <Attributes title="Attributes" attributes={span.attributes} />
      {span.events.length > 0 && <Events events={span.events} shiftNs={shiftNs} />}
      {span.links.length > 0 && <Links links={span.links} />}
      <Attributes title="Resource" attributes={span.resource} />
    </>
  );
}

function Attributes({ title, attributes }: {
  readonly title: string;
  readonly attributes: readonly SpanAttribute[];
}): JSX.Element | null {
  if (attributes.length === 0) return null;
  return (
    <table class="attributes">
      <caption>{title}</caption>
      <tbody>
        {attributes.map(({ key, text }) => (
          <tr key={key}>
            <th scope="row">{key}</th>
            <td>
              <ShownText text={text} />
            </td>
            <td class="actions">
              <button
                type="button"
                title={`Traces with this ${key}`}
                onClick={() => toggleTag(key, text)}
              >
                traces
              </button>
              <CopyButton text={() => text}>copy</CopyButton>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Events({ events, shiftNs }: {
  readonly events: readonly SpanEvent[];
  readonly shiftNs: number;
}): JSX.Element {
  const fromNs = tree.value?.fromNs ?? 0;
  return (
    <section class="events">
      <h3>Events</h3>
      {events.map(({ ns, name, attributes }, index) => (
        <details key={index} open={events.length <= 3}>
          <summary>
            <span class="at">{durationText((ns + shiftNs - fromNs) / 1e6)}</span> {name || "event"}
          </summary>
          <dl>
            {attributes.map(({ key, text }) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>
                  <ShownText text={text} />
                </dd>
              </div>
            ))}
          </dl>
        </details>
      ))}
    </section>
  );
}

function Links({ links }: { readonly links: readonly SpanLink[] }): JSX.Element {
  return (
    <section class="links">
      <h3>Links</h3>
      <ul>
        {links.map(({ traceId, spanId, attributes }, index) => {
          const query = traceQuery(traceId);
          query.set("span", spanId);
          return (
            <li key={index}>
              <PlaceLink path="traces" query={query}>
                {traceId === openId.value ? "Span" : "Trace"}{" "}
                <code>{traceId === openId.value ? spanId : traceId}</code>
              </PlaceLink>
              {attributes.map(({ key, text }) => <span key={key}>{key}={text}</span>)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Logs(): JSX.Element {
  const id = openId.value;
  if (logsFailure.value !== undefined) {
    return <p class="failure" role="alert">The logs cannot be shown: {logsFailure.value}</p>;
  }
  const shown = logs.value;
  if (shown === undefined || id === undefined) return <p class="empty">Looking for logs…</p>;
  const [from, to] = [trace.value?.startNs ?? 0n, BigInt(Math.ceil(tree.value?.toNs ?? 0))];
  const query = new URLSearchParams({
    q: logSearch(id),
    range: `${Number(from / 1_000_000n) - AROUND_MS}..${
      Number((from + to) / 1_000_000n) + AROUND_MS
    }`,
  });
  return (
    <>
      <p>
        <PlaceLink path="" query={query}>
          Open in Logs
        </PlaceLink>
      </p>
      {shown.length === 0 && (
        <p class="empty">
          No row of <code>events</code> has this trace's id as its <code>trace_id</code>.
        </p>
      )}
      <ol class="trace-logs">
        {shown.map((log, index) => <LogLine key={index} log={log} />)}
      </ol>
    </>
  );
}

function LogLine({ log: { ns, spanId, level, source, text } }: {
  readonly log: TraceLog;
}): JSX.Element {
  const node = tree.value?.nodes.find(({ span }) => span.spanId === spanId);
  const isSelected = node !== undefined && node.at === selected.value;
  return (
    <li class={`row ${severityClass(level)}`} data-selected={isSelected}>
      <span class="head">
        <span class="at">
          {durationText((ns + (node?.shiftNs ?? 0) - (tree.value?.fromNs ?? 0)) / 1e6)}
        </span>
        <span class="level">{level}</span>
        {node === undefined ? <span class="source">{source}</span> : (
          <button
            type="button"
            title="Shows the span that wrote this row"
            onClick={() => {
              select(node.at);
              showPanel("logs");
            }}
          >
            {node.span.service}: {node.span.name}
          </button>
        )}
      </span>
      <span class="text">
        <ShownText text={text} />
      </span>
    </li>
  );
}
