/** The rows, newest first: of any number only those in view are drawn. */

import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { columns, openRow, toggleColumn, wraps } from "./log_address.ts";
import {
  beginsAt,
  hasMore,
  isLoadingOlder,
  isRunning,
  loadOlder,
  olderFailure,
  retryOlder,
  rows,
  rowsFor,
  SHOWN_ROWS_MAX,
  showNewest,
} from "./log_state.ts";
import { markersOf } from "./marks.ts";
import { EmptyView } from "./empty_view.tsx";
import { noteScroll, PendingPill } from "./live_view.tsx";
import { RowView } from "./row_view.tsx";
import { moveRow, setReveal } from "./row_focus.ts";
import { SelectedText } from "./selected_text.tsx";
import { useVirtualList } from "./virtual_list.ts";
import { density, ROW_PX } from "./view_choices.ts";

/** Older rows are asked for when so few are left below what is seen. */
const LOAD_AHEAD_ROWS = 60;

/** One list for all rows of a search: a row is drawn again only where something of it changed. */
const markers = computed(() => {
  const now = rowsFor.value;
  return now === undefined ? [] : markersOf(now.search, now.known);
});

export function RowsView(): JSX.Element {
  const scroller = useRef<HTMLDivElement>(null);
  const shown = rows.value;
  if (shown === undefined) return <Waiting />;
  if (shown.length === 0) return <EmptyView />;
  return (
    <div
      class="rows-pane"
      ref={scroller}
      // The list within is the stop; Firefox makes one of whatever scrolls.
      tabIndex={-1}
      data-density={density.value}
      data-wraps={wraps.value}
    >
      {beginsAt.value !== undefined && (
        <p class="begins">
          A link led to this row, and newer ones are left out.{" "}
          <button type="button" onClick={showNewest}>Show the newest</button>
        </p>
      )}
      <ColumnHeads />
      <List scroller={scroller} />
      <p class="end">
        {endText(shown.length)}{" "}
        {olderFailure.value !== undefined && hasMore.value && (
          <button type="button" onClick={retryOlder}>Load older rows</button>
        )}
      </p>
      <PendingPill scroller={scroller} />
      <SelectedText scroller={scroller} />
    </div>
  );
}

function endText(count: number): string {
  if (count >= SHOWN_ROWS_MAX) {
    return `These are ${count.toLocaleString()} rows. Search for less to see older ones.`;
  }
  if (!hasMore.value) return "These are all rows.";
  if (olderFailure.value !== undefined) return olderFailure.value.message;
  return isLoadingOlder.value ? "Loading older rows…" : "Scroll for older rows.";
}

/** Before the first answer; what failed is told beside the search. */
export function Waiting(): JSX.Element {
  return <p class="empty" aria-live="polite">{isRunning.value ? "Searching…" : ""}</p>;
}

function List(
  { scroller }: { readonly scroller: { current: HTMLDivElement | null } },
): JSX.Element {
  const shown = rows.value ?? [];
  // Another function would make the virtualizer go through all rows again.
  const keyAt = useCallback((index: number) => shown[index]?.key ?? "", [shown]);
  const virtual = useVirtualList({
    count: shown.length,
    scroller,
    keyAt,
    rowPx: ROW_PX[density.value],
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= shown.length - LOAD_AHEAD_ROWS) loadOlder();
  }, [last, shown.length, isLoadingOlder.value, isRunning.value, hasMore.value]);
  useLayoutEffect(() => virtual.measure(), [density.value, wraps.value, columns.value]);
  const opened = useRef(openRow.value);
  useLayoutEffect(() => {
    const closed = shown.findIndex(({ key }) => key === opened.current);
    opened.current = openRow.value;
    // It may be out of view, where nothing measures it.
    if (!wraps.value && closed !== -1 && shown[closed]?.key !== openRow.value) {
      virtual.resizeItem(closed, ROW_PX[density.value]);
    }
  }, [openRow.value]);
  useEffect(() => {
    setReveal((index) => virtual.scrollToIndex(index, { align: "auto" }));
    return () => setReveal(undefined);
  }, []);
  useEffect(() => {
    const index = shown.findIndex((row) => row.key === openRow.peek());
    if (index > 0) virtual.scrollToIndex(index, { align: "center" });
    const pane = scroller.current;
    pane?.addEventListener("scroll", () => noteScroll(pane), { passive: true });
  }, []);
  const seenChars = charsOf(virtual.scrollRect?.width);
  return (
    <div
      class="rows"
      // One stop of the Tab key: j, k and the arrows go from row to row.
      role="grid"
      aria-label="Rows"
      aria-rowcount={shown.length}
      tabIndex={0}
      onKeyDown={(event) => {
        const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : undefined;
        if (by === undefined || isWithinOpened(event)) return;
        event.preventDefault();
        moveRow(by);
      }}
      style={{ height: `${virtual.getTotalSize()}px`, "--cells": cellsTemplate() }}
    >
      {items.map(({ index, start, key }) => {
        const row = shown[index];
        return row === undefined ? null : (
          <RowView
            key={key}
            row={row}
            index={index}
            start={start}
            markers={markers.value}
            seenChars={seenChars}
            measure={virtual.measureElement}
          />
        );
      })}
    </div>
  );
}

/** In an opened row the arrows are those of what is there. */
function isWithinOpened({ target }: Event): boolean {
  return target instanceof Element && target.closest(".opened") !== null;
}

const CHAR_PX = 7.5;
/** Characters before the text: time, level and source. */
const LEAD_CHARS = 50;

/** Characters of a row's text that are seen on one line, about. */
function charsOf(widthPx = 900): number {
  return Math.max(30, Math.floor(widthPx / CHAR_PX) - LEAD_CHARS);
}

/** The widths of the columns that were chosen. */
function cellsTemplate(): string {
  return columns.value.map((name) => `minmax(0, ${Math.max(10, Math.min(22, name.length + 5))}ch)`)
    .join(" ");
}

function ColumnHeads(): JSX.Element | null {
  if (columns.value.length === 0) return null;
  return (
    <div class="column-heads" style={{ "--cells": cellsTemplate() }}>
      <span class="time">time</span>
      <span class="level">level</span>
      <span class="source">source</span>
      {columns.value.map((name) => (
        <span key={name} class="column-head">
          <span title={name}>{name}</span>
          <button
            type="button"
            title={`Take the column ${name} away`}
            aria-label={`Take the column ${name} away`}
            onClick={() => toggleColumn(name)}
          >
            ×
          </button>
        </span>
      ))}
      <span class="text">text</span>
    </div>
  );
}
