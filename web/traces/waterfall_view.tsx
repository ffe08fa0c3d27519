/**
 * The spans of the open trace, one row each. Only rows in view are in the document, so ten thousand
 * spans scroll as a hundred do.
 */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { durationText } from "../view/number_text.ts";
import {
  collapsed,
  find,
  hitSet,
  logsOf,
  panBy,
  pathOf,
  select,
  selected,
  shownTime,
  type TimeWindow,
  toggle,
  visible,
  zoomBy,
} from "./open_trace_state.ts";
import type { SpanNode } from "./trace_tree.ts";

const ROW_HEIGHT = 24;
/** Rows beyond the edges of what is in view. */
const OVERSCAN = 6;
const INDENT_MAX = 24;

export function WaterfallView(): JSX.Element {
  const list = useRef<HTMLDivElement>(null);
  const seen = useSignal({ top: 0, height: 800 });
  // The wheel works as soon as spans are seen, not a frame later.
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const look = () => seen.value = { top: element.scrollTop, height: element.clientHeight };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    const wheel = (event: WheelEvent) => zoomByWheel(event, element);
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
      element.removeEventListener("wheel", wheel);
    };
  }, []);
  const rows = visible.value;
  useEffect(() => {
    const row = rows.findIndex(({ at }) => at === selected.value);
    if (row >= 0 && list.current !== null) keepInView(list.current, row);
  }, [selected.value]);
  const from = Math.max(0, Math.floor(seen.value.top / ROW_HEIGHT) - OVERSCAN);
  const to = Math.ceil((seen.value.top + seen.value.height) / ROW_HEIGHT) + OVERSCAN;
  const active = rows.slice(from, to).some(({ at }) => at === selected.value);
  return (
    <div class="waterfall">
      <Ruler />
      <div
        ref={list}
        id="spans"
        class="spans"
        role="tree"
        tabIndex={0}
        aria-label="Spans"
        aria-activedescendant={active ? `span-${selected.value}` : undefined}
        style={{ "--rows": `${rows.length * ROW_HEIGHT}px` }}
        onKeyDown={(event) => onKey(event, rows)}
      >
        <div class="height" role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          {rows.slice(from, to).map((node, index) => (
            <SpanRow key={node.at} node={node} top={(from + index) * ROW_HEIGHT} />
          ))}
        </div>
      </div>
    </div>
  );
}

function Ruler(): JSX.Element {
  const { fromNs, toNs } = shownTime.value;
  return (
    <div class="ruler" aria-hidden="true">
      <span class="names">Service and operation</span>
      <span class="ticks">
        {[0, 0.25, 0.5, 0.75, 1].map((share) => (
          <span key={share} style={{ left: `${100 * share}%` }}>
            {durationText((fromNs + share * (toNs - fromNs)) / 1e6)}
          </span>
        ))}
      </span>
    </div>
  );
}

function SpanRow({ node, top }: { readonly node: SpanNode; readonly top: number }): JSX.Element {
  const { at, span, depth, below } = node;
  const isOpen = !collapsed.value.has(at);
  const isHit = hitSet.value.has(at);
  return (
    <div
      id={`span-${at}`}
      class="span-row"
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={selected.value === at}
      aria-expanded={below > 0 ? isOpen : undefined}
      data-failed={span.isError}
      data-dim={find.value.trim() !== "" && !isHit}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => select(at)}
    >
      <span class="names">
        <span class="indent" style={{ width: `${12 * Math.min(depth, INDENT_MAX)}px` }} />
        {below > 0
          ? (
            <span
              class="fold"
              aria-hidden="true"
              title={isOpen ? "Close" : "Open"}
              onClick={(event) => {
                event.stopPropagation();
                toggle(at);
              }}
            >
              {isOpen ? "▾" : "▸"}
            </span>
          )
          : <span class="fold" />}
        {span.isError && <Mark kind="failed" sign="!" text="Error" />}
        {node.isOrphan && <Mark kind="orphan" sign="?" text="Its parent is not stored" />}
        <b>{span.service}</b>
        <span class={isHit ? "name hit" : "name"}>{span.name}</span>
        {below > 0 && !isOpen && <span class="below">+{below}</span>}
      </span>
      <Bar node={node} shown={shownTime.value} />
    </div>
  );
}

function Mark({ kind, sign, text }: {
  readonly kind: "failed" | "orphan";
  readonly sign: string;
  readonly text: string;
}): JSX.Element {
  return (
    <span class={kind} title={text}>
      <span aria-hidden="true">{sign}</span>
      <span class="unseen">{text}</span>
    </span>
  );
}

function Bar({ node, shown }: {
  readonly node: SpanNode;
  readonly shown: TimeWindow;
}): JSX.Element {
  const { at, span, fromNs, toNs, shiftNs } = node;
  const width = shown.toNs - shown.fromNs;
  const placeOf = (ns: number) =>
    100 * Math.min(1.01, Math.max(-0.01, (ns - shown.fromNs) / width));
  const [left, right] = [placeOf(fromNs), placeOf(toNs)];
  const isSeen = toNs >= shown.fromNs && fromNs <= shown.toNs;
  if (!isSeen) return <span class="bars" />;
  // The text stands where there is room: behind the bar, before it, or in it.
  const side = right < 80 ? "after" : left > 25 ? "before" : "within";
  const text = side === "after"
    ? { left: `${right}%` }
    : side === "before"
    ? { right: `${100 - left}%` }
    : { left: `${Math.max(0, left)}%` };
  const ticks = (ns: number, index: number, kind: "event" | "log") => {
    const place = placeOf(ns + shiftNs);
    if (place < 0 || place > 100) return null;
    return <i key={`${kind}${index}`} class={kind} style={{ left: `${place}%` }} />;
  };
  return (
    <span class="bars">
      <i class="bar" style={{ left: `${left}%`, width: `${right - left}%` }} />
      {(pathOf.value.get(at) ?? []).map((part, index) => {
        const [from, to] = [placeOf(part.fromNs), placeOf(part.toNs)];
        if (to <= 0 || from >= 100) return null;
        return <i key={index} class="path" style={{ left: `${from}%`, width: `${to - from}%` }} />;
      })}
      {span.events.slice(0, TICKS_MAX).map(({ ns }, index) => ticks(ns, index, "event"))}
      {(logsOf.value.get(span.spanId) ?? []).slice(0, TICKS_MAX)
        .map(({ ns }, index) => ticks(ns, index, "log"))}
      <span class={`took ${side}`} style={text}>{durationText(span.durationNs / 1e6)}</span>
    </span>
  );
}

/** Marks on one bar; more could not be told apart. */
const TICKS_MAX = 100;

function keepInView(list: HTMLElement, row: number): void {
  const top = row * ROW_HEIGHT;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW_HEIGHT > list.scrollTop + list.clientHeight) {
    list.scrollTop = top + ROW_HEIGHT - list.clientHeight;
  }
}

/** With Ctrl the wheel zooms around the pointer, sideways it moves the time. */
function zoomByWheel(event: WheelEvent, list: HTMLElement): void {
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  if (!event.ctrlKey && !isSideways) return;
  const bars = list.querySelector(".bars")?.getBoundingClientRect();
  if (bars === undefined) return;
  event.preventDefault();
  if (event.ctrlKey) {
    const around = Math.min(1, Math.max(0, (event.clientX - bars.left) / bars.width));
    zoomBy(event.deltaY > 0 ? 1.25 : 0.8, around);
  } else panBy(event.deltaX / bars.width);
}

/** Keys of a tree; the frame has those that work from anywhere. */
function onKey(event: KeyboardEvent, rows: readonly SpanNode[]): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = rows.findIndex(({ at }) => at === selected.value);
  const node = rows[row];
  const page = Math.floor((event.currentTarget as HTMLElement).clientHeight / ROW_HEIGHT) - 1;
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: row + 1,
    ArrowUp: Math.max(0, row - 1),
    PageDown: row + page,
    PageUp: Math.max(0, row - page),
    Home: 0,
    End: rows.length - 1,
  };
  const next = moves[event.key];
  if (next !== undefined) select(rows[Math.min(rows.length - 1, next)]?.at);
  else if (event.key === "ArrowRight" && node !== undefined && node.below > 0) {
    if (collapsed.value.has(node.at)) toggle(node.at);
    else select(rows[row + 1]?.at);
  } else if (event.key === "ArrowLeft" && node !== undefined) {
    if (node.below > 0 && !collapsed.value.has(node.at)) toggle(node.at);
    else if (node.parent !== undefined) select(node.parent);
  } else if ((event.key === "Enter" || event.key === " ") && node?.below) toggle(node.at);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Selects the row below the selected one, or above it. */
export function selectNext(by: 1 | -1): void {
  const rows = visible.value;
  const row = rows.findIndex(({ at }) => at === selected.value);
  select(rows[Math.min(rows.length - 1, Math.max(0, row + by))]?.at);
}
