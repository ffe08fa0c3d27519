/** Rows over time by severity. Dragging over it searches that time. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { shortText, wholeText } from "../view/number_text.ts";
import { fieldTerm } from "./field_term.ts";
import { zone } from "./log_address.ts";
import {
  type Histogram,
  histogram,
  histogramFailure,
  isRunning,
  searchRange,
  toggleTerm,
} from "./log_state.ts";
import { severityClass, STACK } from "./severity_view.ts";
import { clockText, dayText, instantText } from "./time_zone.ts";

const WIDTH = 1_000;
const HEIGHT = 56;

export function HistogramView(): JSX.Element {
  const drag = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const shown = histogram.value;
  if (histogramFailure.value !== undefined) {
    return <p class="failure histogram" role="alert">{histogramFailure.value.message}</p>;
  }
  if (shown === undefined) return <div class="histogram" aria-hidden="true" />;
  const timeAt = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    const { from, to } = shown.instants;
    return Math.round(from + share * (to - from));
  };
  const finish = () => {
    const dragged = drag.value;
    drag.value = undefined;
    if (dragged === undefined || Math.abs(dragged.to - dragged.from) < 1) return;
    const [from, to] = [dragged.from, dragged.to].toSorted((a, b) => a - b);
    if (from !== undefined && to !== undefined) searchRange({ kind: "between", from, to });
  };
  const label = `${shown.total.toLocaleString()} rows by severity. Drag to search a shorter time.`;
  return (
    <figure class="histogram" aria-busy={isRunning.value}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
        onPointerDown={(event) => {
          (event.currentTarget as Element).setPointerCapture(event.pointerId);
          drag.value = { from: timeAt(event), to: timeAt(event) };
        }}
        onPointerMove={(event) => {
          if (drag.value !== undefined) drag.value = { ...drag.value, to: timeAt(event) };
        }}
        onPointerUp={finish}
      >
        <Bars shown={shown} />
        {drag.value !== undefined && <Selection shown={shown} drag={drag.value} />}
      </svg>
      <figcaption>
        <Axis shown={shown} />
      </figcaption>
    </figure>
  );
}

function Bars({ shown }: { readonly shown: Histogram }): JSX.Element {
  const { instants: { from, to }, binMs, bins } = shown;
  const sumOf = (counts: ReadonlyMap<string, number>) =>
    [...counts.values()].reduce((a, b) => a + b, 0);
  const most = Math.max(1, ...bins.map(({ counts }) => sumOf(counts)));
  const width = Math.max(1, binMs / (to - from) * WIDTH - 1);
  return (
    <g>
      {bins.map((bin) => {
        const x = (bin.from - from) / (to - from) * WIDTH;
        const counts = Map.groupBy(bin.counts, ([level]) => severityClass(level));
        let y = HEIGHT;
        return (
          <g key={bin.from}>
            <title>
              {[
                instantText(bin.from, zone.value),
                ...[...bin.counts].map(([level, count]) =>
                  `${level || "no level"}: ${count.toLocaleString()}`
                ),
              ].join("\n")}
            </title>
            {STACK.map((severity) => {
              const count = (counts.get(severity) ?? []).reduce((sum, [, n]) => sum + n, 0);
              if (count === 0) return null;
              const height = Math.max(1, count / most * HEIGHT);
              y -= height;
              return (
                <rect
                  key={severity}
                  class={`bar ${severity}`}
                  x={x}
                  y={y}
                  width={width}
                  height={height}
                />
              );
            })}
          </g>
        );
      })}
    </g>
  );
}

function Selection({ shown: { instants }, drag }: {
  readonly shown: Histogram;
  readonly drag: { readonly from: number; readonly to: number };
}): JSX.Element {
  const placeOf = (ms: number) => (ms - instants.from) / (instants.to - instants.from) * WIDTH;
  const [x, end] = [placeOf(drag.from), placeOf(drag.to)];
  return (
    <rect class="selection" x={Math.min(x, end)} y={0} width={Math.abs(end - x)} height={HEIGHT} />
  );
}

function Axis(
  { shown: { instants: { from, to }, bins, total } }: { readonly shown: Histogram },
): JSX.Element {
  const day = dayText(from, zone.value);
  const clock = (ms: number) => clockText(ms, zone.value, { hasMs: false });
  const isOneDay = dayText(to, zone.value) === day;
  return (
    <>
      <span>{day} {clock(from)}</span>
      <span class="legend">
        <strong>{wholeText(total)}</strong> rows
        {countsOf(bins).map(([severity, count]) => (
          <Count
            key={severity}
            {...{ severity, count }}
          />
        ))}
        <span class="hint">· drag to zoom</span>
      </span>
      <span>{isOneDay ? "" : `${dayText(to, zone.value)} `}{clock(to)}</span>
    </>
  );
}

/** How many rows a severity has; a click leads to these. */
function Count({ severity, count }: {
  readonly severity: string;
  readonly count: number;
}): JSX.Element {
  return (
    <button
      type="button"
      class={`count ${severity}`}
      title={`Only ${wholeText(count)} rows of ${severity}`}
      onClick={() => toggleTerm(severity === "none" ? "-level:*" : fieldTerm("level", severity))}
    >
      {severity === "none" ? "no level" : severity} {shortText(count)}
    </button>
  );
}

/** Rows by severity, the most severe first. */
function countsOf(
  bins: Histogram["bins"],
): readonly (readonly [severity: string, count: number])[] {
  const counts = new Map<string, number>();
  for (const bin of bins) {
    for (const [level, count] of bin.counts) {
      const severity = severityClass(level);
      counts.set(severity, (counts.get(severity) ?? 0) + count);
    }
  }
  return STACK.flatMap((severity) => {
    const count = counts.get(severity);
    return count === undefined ? [] : [[severity, count] as const];
  });
}
