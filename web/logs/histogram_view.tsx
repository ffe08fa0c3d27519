/** Rows over time by severity. Dragging over it searches that time. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { type Histogram, histogram, histogramFailure, searchRange } from "./log_state.ts";
import { severityClass, STACK } from "./severity_view.ts";

const WIDTH = 1_000;
const HEIGHT = 56;

export function HistogramView(): JSX.Element {
  const drag = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const shown = histogram.value;
  if (histogramFailure.value !== undefined) {
    return <p class="failure" role="alert">{histogramFailure.value.message}</p>;
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
    <figure class="histogram">
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
                new Date(bin.from).toLocaleString(),
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
  { shown: { instants: { from, to }, total } }: { readonly shown: Histogram },
): JSX.Element {
  const options: Intl.DateTimeFormatOptions = to - from > 86_400_000
    ? { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }
    : { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  const text = (ms: number) => new Date(ms).toLocaleString(undefined, options);
  return (
    <>
      <span>{text(from)}</span>
      <span>
        <strong>{total.toLocaleString()}</strong> rows · by severity · drag to zoom
      </span>
      <span>{text(to)}</span>
    </>
  );
}
