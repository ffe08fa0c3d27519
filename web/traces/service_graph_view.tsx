/** Which service calls which, in layers from left to right, and the same as a table. */

import type { JSX } from "preact";
import { countText, durationText, shareText, shortText, wholeText } from "../view/number_text.ts";
import type { ServiceFigures } from "./service_figures.ts";
import { type Call, layoutServices, type PlacedService } from "./service_graph.ts";
import { graph, isRunning, searchWith, type ServiceGraph } from "./traces_state.ts";

/** The busiest calls that are drawn: more lines are no picture. */
const CALLS_MAX = 300;
const BOX = { width: 176, height: 56 };
const GAP = { x: 96, y: 24 };
const MARGIN = 16;

export function ServiceGraphView(): JSX.Element {
  const shown = graph.value;
  if (shown === undefined) return <p class="empty">{isRunning.value ? "Searching…" : ""}</p>;
  if (shown.figures.length === 0) {
    return (
      <section class="empty">
        <h2>No spans in this time</h2>
        <p>Choose a longer time above, or send spans: the list of traces says how.</p>
      </section>
    );
  }
  return (
    <section class="service-graph" aria-label="Service graph">
      <Picture shown={shown} />
      <CallTable shown={shown} />
    </section>
  );
}

function Picture({ shown: { calls, figures } }: { readonly shown: ServiceGraph }): JSX.Element {
  const drawn = calls.slice(0, CALLS_MAX);
  const layout = layoutServices(drawn, figures.map(({ service }) => service).slice(0, CALLS_MAX));
  const figureOf = new Map(figures.map((one) => [one.service, one]));
  const placeOf = new Map(layout.services.map((one) => [one.name, one]));
  const width = 2 * MARGIN + layout.layers * (BOX.width + GAP.x) - GAP.x;
  const height = 2 * MARGIN + layout.rows * (BOX.height + GAP.y) - GAP.y;
  const heights = Map.groupBy(layout.services, ({ layer }) => layer);
  const corner = ({ layer, row }: PlacedService) => ({
    x: MARGIN + layer * (BOX.width + GAP.x),
    y: MARGIN + (row + (layout.rows - (heights.get(layer)?.length ?? 0)) / 2) *
        (BOX.height + GAP.y),
  });
  const called = Map.groupBy(drawn, ({ child }) => child);
  const calling = Map.groupBy(drawn, ({ parent }) => parent);
  const sizeOf = (of: ReadonlyMap<string, readonly Call[]>, name: string) =>
    of.get(name)?.length ?? 0;
  const most = Math.max(1, ...drawn.map(({ count }) => count));
  return (
    <div class="picture" tabIndex={0} role="group" aria-label="Picture of the service graph">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="8"
            refY="4"
            markerWidth="8"
            markerHeight="8"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 0 L8 4 L0 8 z" />
          </marker>
        </defs>
        {drawn.map((call) => {
          const [from, to] = [placeOf.get(call.parent), placeOf.get(call.child)];
          if (from === undefined || to === undefined || from === to) return null;
          return (
            <CallLine
              key={`${call.parent}\n${call.child}`}
              call={call}
              from={corner(from)}
              to={corner(to)}
              share={call.count / most}
              labels={sizeOf(called, call.child) > sizeOf(calling, call.parent) ? "start" : "end"}
            />
          );
        })}
        {layout.services.map((service) => (
          <ServiceBox
            key={service.name}
            name={service.name}
            figures={figureOf.get(service.name)}
            {...corner(service)}
          />
        ))}
      </svg>
    </div>
  );
}

interface Corner {
  readonly x: number;
  readonly y: number;
}

function CallLine({ call, from, to, share, labels }: {
  readonly call: Call;
  readonly from: Corner;
  readonly to: Corner;
  readonly share: number;
  /** The end where fewer lines meet has the number. */
  readonly labels: "start" | "end";
}): JSX.Element {
  const isBack = to.x <= from.x;
  const start = { x: from.x + BOX.width, y: from.y + BOX.height / 2 };
  const end = { x: to.x, y: to.y + BOX.height / 2 };
  // A line back to the left goes around below both boxes.
  const low = Math.max(from.y, to.y) + BOX.height + GAP.y / 2;
  const bend = GAP.x / 2;
  const path = isBack
    ? `M${start.x} ${start.y} C${start.x + bend} ${start.y} ${
      start.x + bend
    } ${low} ${start.x} ${low} ` +
      `L${end.x} ${low} C${end.x - bend} ${low} ${end.x - bend} ${end.y} ${end.x - 1} ${end.y}`
    : `M${start.x} ${start.y} C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${
      end.x - 1
    } ${end.y}`;
  const label = isBack
    ? { x: (start.x + end.x) / 2, y: low - 4 }
    : labels === "start"
    ? { x: start.x + 24, y: start.y - 6 }
    : { x: end.x - 28, y: end.y - 6 };
  return (
    <g class="call">
      <title>{`${call.parent} calls ${call.child} ${wholeText(call.count)} times`}</title>
      <path d={path} style={{ strokeWidth: 1 + 3 * Math.sqrt(share) }} marker-end="url(#arrow)" />
      <text x={label.x} y={label.y} text-anchor="middle">{shortText(call.count)}</text>
    </g>
  );
}

function ServiceBox({ name, figures, x, y }: {
  readonly name: string;
  readonly figures: ServiceFigures | undefined;
} & Corner): JSX.Element {
  const hasErrors = (figures?.errors ?? 0) > 0;
  return (
    <foreignObject x={x} y={y} width={BOX.width} height={BOX.height}>
      <button
        type="button"
        class="service-box"
        data-failed={hasErrors}
        title={`${name}: its traces`}
        onClick={() => searchWith({ service: name, operation: "" }, "list")}
      >
        <b>{name}</b>
        {figures !== undefined && (
          <span>
            {figures.spans === 1 ? "1 span" : `${shortText(figures.spans)} spans`} · p95{" "}
            {durationText(figures.p95Ns / 1e6)}
          </span>
        )}
        {figures !== undefined && hasErrors && (
          <span class="errors">{shareText(figures.errors / figures.spans)} errors</span>
        )}
      </button>
    </foreignObject>
  );
}

function CallTable({ shown: { calls, figures } }: { readonly shown: ServiceGraph }): JSX.Element {
  const figureOf = new Map(figures.map((one) => [one.service, one]));
  return (
    <details>
      <summary>
        {countText(calls.length, "call")} between services
        {calls.length > CALLS_MAX && `, of which the ${CALLS_MAX} most frequent are drawn`}
      </summary>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Caller</th>
            <th scope="col">Called</th>
            <th scope="col" class="number">Calls</th>
            <th scope="col" class="number">Errors of the called</th>
          </tr>
        </thead>
        <tbody>
          {calls.slice(0, CALLS_MAX).map(({ parent, child, count }) => {
            const called = figureOf.get(child);
            return (
              <tr key={`${parent}\n${child}`}>
                <td>{parent}</td>
                <td>{child}</td>
                <td class="number">{wholeText(count)}</td>
                <td class="number">
                  {called === undefined ? "" : shareText(called.errors / called.spans)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </details>
  );
}
