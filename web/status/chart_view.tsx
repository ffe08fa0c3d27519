/** A chart of series over the last hour, drawn by uPlot, and its newest values as text. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme.ts";
import { type ChartPlan, valueText } from "./status_charts.ts";
import type { Series, Status } from "./status_answer.ts";

const HEIGHT = 110;
const RANGE_SECS_MAX = 3_600;
/** A server that has just begun shows this much. */
const RANGE_SECS_MIN = 120;
const CLOCK = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
const MINUTES = new Intl.DateTimeFormat(undefined, CLOCK);
const SECONDS = new Intl.DateTimeFormat(undefined, { ...CLOCK, second: "2-digit" });
const TICK_PIXELS_MIN = 64;
/** Steps of an axis of bytes: so its ticks are whole KiB or MiB. */
const BYTE_STEPS = Array.from({ length: 50 }, (_, at) => 2 ** at);
const AXIS_FONT = "11px system-ui, sans-serif";
/** One hue in steps, as custom properties of status.css; a line's dash tells it apart, too. */
const STROKES = ["--line-1", "--line-2", "--line-3"] as const;
const DASHES = [[], [6, 3], [2, 3]] as const;

interface Line {
  readonly label: string;
  readonly series: Series;
}

export function ChartView({ plan, status }: {
  readonly plan: ChartPlan;
  readonly status: Status;
}): JSX.Element | null {
  const lines = plan.lines.flatMap(([name, label]): Line[] => {
    const series = status.series.find((one) => one.name === name);
    return series === undefined || series.values.every((value) => value === null)
      ? []
      : [{ label, series }];
  });
  const place = useRef<HTMLDivElement>(null);
  const drawn = useRef<uPlot | undefined>(undefined);
  const names = lines.map(({ series }) => series.name).join();
  useEffect(() => {
    const holder = place.current;
    if (holder === null) return;
    const chart = new uPlot(optionsOf(lines, holder), dataOf(lines, status), holder);
    drawn.current = chart;
    const watch = new ResizeObserver(() =>
      chart.setSize({ width: holder.clientWidth, height: HEIGHT })
    );
    watch.observe(holder);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [names, theme.value]);
  useEffect(() => drawn.current?.setData(dataOf(lines, status)), [status]);
  return (
    <section class="chart" aria-labelledby={`chart-${plan.lines[0]?.[0]}`}>
      <h2 id={`chart-${plan.lines[0]?.[0]}`}>{plan.title}</h2>
      {lines.length === 0 ? <p class="quiet">Nothing is known yet.</p> : (
        <ul class="now">
          {lines.map(({ label, series }, at) => (
            <li key={series.name}>
              <Stroke at={at} /> {label} <strong>{valueText(newest(series), series)}</strong>
            </li>
          ))}
        </ul>
      )}
      <div ref={place} class="plot" aria-hidden="true" />
      <p class="quiet">{plan.note}</p>
    </section>
  );
}

function Stroke({ at }: { readonly at: number }): JSX.Element {
  return (
    <svg width="20" height="8" aria-hidden="true" class={`stroke line-${at + 1}`}>
      <line x1="0" y1="4" x2="20" y2="4" stroke-dasharray={(DASHES[at] ?? []).join(" ")} />
    </svg>
  );
}

function newest({ values }: Series): number | null | undefined {
  return values.at(-1);
}

function dataOf(lines: readonly Line[], { times }: Status): uPlot.AlignedData {
  return [times.map((ms) => ms / 1_000), ...lines.map(({ series }) => [...series.values])];
}

function optionsOf(lines: readonly Line[], holder: HTMLElement): uPlot.Options {
  const colour = (name: string) => resolved(holder, name);
  const axis = {
    stroke: colour("--quiet"),
    font: AXIS_FONT,
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: holder.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: {
        range: (_, oldest, newest) => [
          Math.max(newest - RANGE_SECS_MAX, Math.min(oldest, newest - RANGE_SECS_MIN)),
          newest,
        ],
      },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, Number.MIN_VALUE) || 1] },
    },
    axes: [
      {
        ...axis,
        size: 24,
        space: TICK_PIXELS_MIN,
        values: (_, ticks) => {
          const areMinutes = ticks.every((secs) => secs % 60 === 0);
          return ticks.map((secs) => (areMinutes ? MINUTES : SECONDS).format(1_000 * secs));
        },
      },
      {
        ...axis,
        size: 64,
        ...(lines[0]?.series.unit === "bytes" ? { incrs: BYTE_STEPS } : {}),
        values: (_, ticks) =>
          ticks.map((tick) => lines[0] === undefined ? "" : valueText(tick, lines[0].series)),
      },
    ],
    series: [
      {},
      ...lines.map(({ label }, at) => ({
        label,
        stroke: colour(STROKES[at] ?? STROKES[0]),
        width: 1.5,
        dash: [...(DASHES[at] ?? [])],
        points: { show: false },
        spanGaps: false,
      })),
    ],
  };
}

/** A custom property as canvas takes it: `light-dark()` is worked out. */
function resolved(holder: HTMLElement, name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  holder.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
