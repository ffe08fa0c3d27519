/** The whole trace, small: a line for each span. Dragging zooms to that time. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { durationText } from "../view/number_text.ts";
import { onThemeChange, themeColour } from "../view/theme_colour.ts";
import { isZoomed, path, shownTime, tree, zoomTo } from "./open_trace_state.ts";
import type { SpanTree } from "./trace_tree.ts";

const HEIGHT = 48;
/** Dragging over fewer pixels is a click. */
const DRAG_MIN = 3;

export function MinimapView(): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useSignal<{ readonly from: number; readonly to: number } | undefined>(undefined);
  const shown = tree.value;
  useEffect(() => {
    const element = canvas.current;
    if (element === null || shown === undefined) return;
    const draw = () => paint(element, shown);
    draw();
    const endTheme = onThemeChange(draw);
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => {
      observer.disconnect();
      endTheme();
    };
  }, [shown]);
  if (shown === undefined) return <div class="minimap" />;
  const shareAt = (event: PointerEvent) => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const nsAt = (share: number) => shown.fromNs + share * (shown.toNs - shown.fromNs);
  const placeOf = (ns: number) => (ns - shown.fromNs) / Math.max(1, shown.toNs - shown.fromNs);
  const { fromNs, toNs } = shownTime.value;
  const marked = drag.value ?? { from: placeOf(fromNs), to: placeOf(toNs) };
  const [left, right] = [marked.from, marked.to].toSorted((a, b) => a - b);
  const finish = (event: PointerEvent) => {
    const dragged = drag.value;
    drag.value = undefined;
    const { width } = (event.currentTarget as Element).getBoundingClientRect();
    if (dragged === undefined || Math.abs(dragged.to - dragged.from) * width < DRAG_MIN) return;
    const [from, to] = [dragged.from, dragged.to].toSorted((a, b) => a - b);
    if (from !== undefined && to !== undefined) zoomTo({ fromNs: nsAt(from), toNs: nsAt(to) });
  };
  return (
    <div
      class="minimap"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.value = { from: shareAt(event), to: shareAt(event) };
      }}
      onPointerMove={(event) => {
        if (drag.value !== undefined) drag.value = { ...drag.value, to: shareAt(event) };
      }}
      onPointerUp={finish}
      onDblClick={() => zoomTo(undefined)}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-label={`The whole trace, ${durationText((shown.toNs - shown.fromNs) / 1e6)}. ` +
          "Drag to zoom; plus and minus zoom, the arrow keys move."}
      />
      {(isZoomed() || drag.value !== undefined) && left !== undefined && right !== undefined && (
        <>
          <i class="shade" style={{ left: 0, width: `${100 * left}%` }} />
          <i class="shade" style={{ left: `${100 * right}%`, right: 0 }} />
          <i class="window" style={{ left: `${100 * left}%`, width: `${100 * (right - left)}%` }} />
        </>
      )}
    </div>
  );
}

function paint(canvas: HTMLCanvasElement, { nodes, fromNs, toNs }: SpanTree): void {
  const scale = devicePixelRatio;
  const width = Math.max(1, Math.round(canvas.clientWidth * scale));
  const height = HEIGHT * scale;
  if (canvas.width !== width) canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const xOf = (ns: number) => (ns - fromNs) / Math.max(1, toNs - fromNs) * width;
  const step = (height - 8 * scale) / nodes.length;
  const thick = Math.max(scale, Math.min(3 * scale, step - 1));
  const yOf = (at: number) => 4 * scale + at * step;
  const bar = (at: number, from: number, to: number) =>
    context.fillRect(xOf(from), yOf(at), Math.max(scale, xOf(to) - xOf(from)), thick);
  context.fillStyle = themeColour("--info");
  for (const { at, span, fromNs, toNs } of nodes) if (!span.isError) bar(at, fromNs, toNs);
  context.fillStyle = themeColour("--text");
  for (const { at, fromNs, toNs } of path.peek()) bar(at, fromNs, toNs);
  context.fillStyle = themeColour("--error");
  for (const { at, span, fromNs, toNs } of nodes) if (span.isError) bar(at, fromNs, toNs);
}
