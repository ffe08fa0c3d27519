/**
 * Duration over time, a mark for each trace: a ring, and a filled square where a span failed. A
 * click opens the nearest trace; dragging searches that time. The list below says the same in text.
 */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { countText, durationText } from "../view/number_text.ts";
import { onThemeChange, themeColour } from "../view/theme_colour.ts";
import { timeText } from "../view/time_text.ts";
import type { TraceSummary } from "./trace_client.ts";
import { type FoundTraces, openTrace, searchWith } from "./traces_state.ts";

const HEIGHT = 168;
const MARK = 7;
/** Pixels around the pointer in which a mark is meant. */
const REACH = 16;
/** No duration on a logarithmic axis is 0. */
const MS_MIN = 1e-3;

export function ScatterView({ shown }: { readonly shown: FoundTraces }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const told = useRef<HTMLParagraphElement>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const traces = shown.traces.toSorted((a, b) => a.startMs - b.startMs);
    let chart: uPlot | undefined;
    const draw = () => {
      chart?.destroy();
      chart = chartOf({ shown, traces, element, tell: (text) => setText(told.current, text) });
    };
    draw();
    const endTheme = onThemeChange(draw);
    const observer = new ResizeObserver(() =>
      chart?.setSize({ width: element.clientWidth, height: HEIGHT })
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      endTheme();
      chart?.destroy();
    };
  }, [shown]);
  const failed = shown.traces.filter(({ errors }) => errors > 0).length;
  const label =
    `Duration over time of ${countText(shown.traces.length, "trace")}, ${failed} with errors. ` +
    "The list below has each.";
  return (
    <figure class="scatter">
      <div ref={host} role="img" aria-label={label} />
      <figcaption>
        <span class="legend">
          <i class="mark" aria-hidden="true" /> trace <i class="mark failed" aria-hidden="true" />
          {" "}
          with errors
        </span>
        <p ref={told} class="told">click opens a trace · drag to zoom</p>
      </figcaption>
    </figure>
  );
}

function setText(element: HTMLElement | null, text: string): void {
  if (element !== null) element.textContent = text;
}

function chartOf({ shown: { instants }, traces, element, tell }: {
  readonly shown: FoundTraces;
  readonly traces: readonly TraceSummary[];
  readonly element: HTMLElement;
  readonly tell: (text: string) => void;
}): uPlot {
  const [quiet, line] = [themeColour("--quiet"), themeColour("--line")];
  const times = traces.map(({ startMs }) => startMs / 1_000);
  const values = (isError: boolean) =>
    traces.map(({ durationNs, errors }) =>
      errors > 0 === isError ? Math.max(MS_MIN, durationNs / 1e6) : null
    );
  const nearest = (chart: uPlot): TraceSummary | undefined => nearestTrace(chart, traces);
  const axis = {
    font: "12px system-ui, sans-serif",
    stroke: quiet,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  const chart = new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: {
        points: { show: false },
        drag: { x: true, y: false, setScale: false, dist: 5 },
        y: false,
      },
      scales: {
        x: { time: true, range: () => [instants.from / 1_000, instants.to / 1_000] },
        y: { distr: 3, range: (_, least, most) => logRange(least, most) },
      },
      axes: [{
        ...axis,
        // As wide as a day and its time.
        space: 90,
        values: (_, splits, __, ___, stepSecs) => clockTexts(splits, stepSecs),
      }, {
        ...axis,
        size: 80,
        splits: (_, __, least, most) => decades(least, most),
        values: (_, splits) => splits.map(durationText),
      }],
      series: [
        {},
        markSeries(themeColour("--accent"), "ring"),
        markSeries(themeColour("--error"), "square"),
      ],
      hooks: {
        setCursor: [(chart) => {
          const trace = nearest(chart);
          chart.over.style.cursor = trace === undefined ? "crosshair" : "pointer";
          tell(trace === undefined ? "click opens a trace · drag to zoom" : traceText(trace));
        }],
        setSelect: [(chart) => {
          const { left, width } = chart.select;
          if (width < 1) return;
          const [from, to] = [left, left + width].map((px) =>
            Math.round(chart.posToVal(px, "x") * 1_000)
          );
          if (from === undefined || to === undefined || to <= from) return;
          searchWith({ range: { kind: "between", from, to } });
        }],
      },
    },
    [times, values(false), values(true)],
    element,
  );
  chart.over.addEventListener("click", () => {
    const trace = chart.select.width >= 1 ? undefined : nearest(chart);
    if (trace !== undefined) openTrace(trace.id);
  });
  return chart;
}

function traceText({ service, operation, durationNs, startMs, spans }: TraceSummary): string {
  return `${service}: ${operation} · ${durationText(durationNs / 1e6)} · ${
    countText(spans, "span")
  } · ` +
    timeText(startMs);
}

function markSeries(colour: string, shape: "ring" | "square"): uPlot.Series {
  return {
    stroke: colour,
    paths: (chart, at) => {
      const path = new Path2D();
      const size = MARK * devicePixelRatio;
      chart.data[0].forEach((x, index) => {
        const y = chart.data[at]?.[index];
        if (y === null || y === undefined) return;
        const [left, top] = [chart.valToPos(x, "x", true), chart.valToPos(y, "y", true)];
        if (shape === "square") path.rect(left - size / 2, top - size / 2, size, size);
        else {
          path.moveTo(left + size / 2, top);
          path.arc(left, top, size / 2, 0, 2 * Math.PI);
        }
      });
      return shape === "square" ? { stroke: path, fill: path } : { stroke: path };
    },
    ...(shape === "square" ? { fill: colour } : {}),
    width: 1.5,
    points: { show: false },
  };
}

function nearestTrace(chart: uPlot, traces: readonly TraceSummary[]): TraceSummary | undefined {
  const { left = -1, top = -1 } = chart.cursor;
  if (left < 0 || top < 0) return undefined;
  let best: TraceSummary | undefined;
  let least = REACH ** 2;
  for (const trace of traces) {
    const x = chart.valToPos(trace.startMs / 1_000, "x") - left;
    if (Math.abs(x) > REACH) continue;
    const y = chart.valToPos(Math.max(MS_MIN, trace.durationNs / 1e6), "y") - top;
    if (x * x + y * y >= least) continue;
    least = x * x + y * y;
    best = trace;
  }
  return best;
}

/** `01:20`, with the day before it where the range has several; seconds where steps are short. */
function clockTexts(seconds: readonly number[], stepSecs: number): string[] {
  const texts = seconds.map((one) => timeText(1_000 * one));
  if (stepSecs >= 86_400) return texts.map((text) => text.slice(5, 10));
  const days = new Set(texts.map((text) => text.slice(0, 10)));
  return texts.map((text) =>
    (days.size > 1 ? `${text.slice(5, 10)} ` : "") + text.slice(11, stepSecs < 60 ? 19 : 16)
  );
}

/** Whole decades around what is there. */
function logRange(least: number | null, most: number | null): [number, number] {
  const low = 10 ** Math.floor(Math.log10(Math.max(MS_MIN, least ?? 1)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(MS_MIN, most ?? 1) * 1.05));
  return [low, Math.max(high, 10 * low)];
}

function decades(least: number, most: number): number[] {
  const first = Math.round(Math.log10(least));
  const count = Math.round(Math.log10(most)) - first + 1;
  return Array.from({ length: count }, (_, at) => 10 ** (first + at));
}
