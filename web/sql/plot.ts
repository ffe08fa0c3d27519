/** uPlot over the points of a chart, in the page's colours and as wide as its place. */

import uPlot from "uplot";
import type { ChartData } from "./chart_data.ts";

const HEIGHT_LEAST = 220;

const DAY = "{YYYY}-{MM}-{DD}";
/** Times on the axis, as the rest of the page writes them: steps in seconds, the largest first. */
const AXIS_TIMES: (string | number | null)[][] = [
  [365 * 86_400, "{YYYY}", null, null, null, null, null, null, 1],
  [28 * 86_400, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86_400, DAY, null, null, null, null, null, null, 1],
  [60, "{HH}:{mm}", `\n${DAY}`, null, `\n${DAY}`, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", `\n${DAY}`, null, `\n${DAY}`, null, null, null, 1],
  [0.001, "{HH}:{mm}:{ss}.{fff}", `\n${DAY}`, null, `\n${DAY}`, null, null, null, 1],
];

/** Draws into `host`; the function that it returns takes the chart away. */
export function openPlot(
  host: HTMLElement,
  data: ChartData,
  look: "lines" | "points",
): () => void {
  let plot = draw();
  const again = () => {
    plot.destroy();
    plot = draw();
  };
  const sizes = new ResizeObserver(() => plot.setSize(sizeOf(host)));
  sizes.observe(host);
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  scheme.addEventListener("change", again);
  const themes = new MutationObserver(again);
  themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  return () => {
    sizes.disconnect();
    scheme.removeEventListener("change", again);
    themes.disconnect();
    plot.destroy();
  };

  function draw(): uPlot {
    const values = data.series.map(({ values }) => [...values]);
    return new uPlot(optionsOf(host, data, look), [[...data.xs], ...values], host);
  }
}

function optionsOf(host: HTMLElement, data: ChartData, look: "lines" | "points"): uPlot.Options {
  const colour = coloursOf(host);
  const axis = {
    stroke: colour("--quiet"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { stroke: colour("--line"), width: 1 },
    font: "12px system-ui, sans-serif",
  };
  return {
    ...sizeOf(host),
    scales: { x: { time: data.isTime } },
    axes: [data.isTime ? { ...axis, values: AXIS_TIMES } : axis, { ...axis, size: 64 }],
    legend: { live: true },
    series: [
      data.isTime ? { label: "Time", value: `${DAY} {HH}:{mm}:{ss}` } : {},
      ...data.series.map(({ name }, at): uPlot.Series => {
        const stroke = colour(`--series-${at}`);
        const points = { show: true, size: 6, fill: stroke, stroke };
        if (look === "points") return { label: name, stroke, paths: () => null, points };
        const isFew = data.xs.length < 60;
        return { label: name, stroke, width: 1.5, points: { ...points, size: 4, show: isFew } };
      }),
    ],
  };
}

function sizeOf(host: HTMLElement): { readonly width: number; readonly height: number } {
  // The legend stands below.
  return { width: host.clientWidth, height: Math.max(HEIGHT_LEAST, host.clientHeight - 40) };
}

/** A canvas knows no variables of CSS; the browser turns them, and light-dark(), into colours. */
function coloursOf(host: HTMLElement): (name: string) => string {
  return (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    host.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
