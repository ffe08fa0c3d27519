/** One row: a line, and all of its fields once it is opened. Values are text, whatever they hold. */

import type { JSX } from "preact";
import { columns, openRow, toggleRow, wraps, zone } from "./log_address.ts";
import { fieldText, levelOf, type LogRow } from "./log_rows.ts";
import { lineOf, sourceOf } from "./row_text.ts";
import { cutLine, type Marker, marksIn } from "./marks.ts";
import { MarkedText } from "./marked_text.tsx";
import { activeRow } from "./row_focus.ts";
import { OpenedRow } from "./opened_row.tsx";
import { RowTime } from "./row_time.tsx";

/** A wrapped row shows so much of its text; the whole is in the opened row. */
const WRAPPED_CHARS_MAX = 3_000;
const CELL_CHARS_MAX = 200;

export interface RowViewProps {
  readonly row: LogRow;
  readonly index: number;
  /** Pixels from the top of the list. */
  readonly start: number;
  readonly markers: readonly Marker[];
  /** Characters that one line shows. */
  readonly seenChars: number;
  /** Notes the height of an open or a wrapped row; all others have one height. */
  readonly measure: (element: HTMLElement | null) => void;
}

export function RowView(props: RowViewProps): JSX.Element {
  const { row, index, start, measure, markers } = props;
  const isOpen = openRow.value === row.key;
  const { name: level, severity = "none" } = levelOf(row);
  return (
    <div
      ref={isOpen || wraps.value ? measure : null}
      role="row"
      class={`row ${severity}`}
      data-index={index}
      data-key={row.key}
      data-open={isOpen}
      aria-rowindex={index + 1}
      style={{ transform: `translateY(${start}px)` }}
    >
      <div
        class="line"
        role="gridcell"
        tabIndex={-1}
        aria-expanded={isOpen}
        onFocus={() => activeRow.value = row.key}
        onKeyDown={(event) => {
          // Enter is a key of the page.
          if (event.key !== " ") return;
          event.preventDefault();
          toggleRow(row.key);
        }}
        onClick={(event) => {
          // Whoever selects a word wants to read it: no drag and no second click opens or closes.
          if (event.detail < 2 && getSelection()?.type !== "Range") toggleRow(row.key);
        }}
      >
        <RowTime place={row.place} zone={zone.value} />
        <span class="level">{level}</span>
        <span class="source">{sourceOf(row)}</span>
        {columns.value.map((name) => (
          <span key={name} class="cell" title={name}>
            <MarkedText text={(fieldText(row, name) ?? "").slice(0, CELL_CHARS_MAX)} />
          </span>
        ))}
        <Line row={row} markers={markers} seenChars={props.seenChars} />
      </div>
      {isOpen && <OpenedRow row={row} markers={markers} />}
    </div>
  );
}

function Line({ row, markers, seenChars }: {
  readonly row: LogRow;
  readonly markers: readonly Marker[];
  readonly seenChars: number;
}): JSX.Element {
  const line = lineOf(row);
  if (wraps.value) {
    const text = line.slice(0, WRAPPED_CHARS_MAX);
    return (
      <span class="text">
        <MarkedText text={text} marks={marksIn(text, markers)} />
        {line.length > text.length && <MoreOf line={line} />}
      </span>
    );
  }
  const { start, text, marks } = cutLine(line, markers, seenChars);
  return (
    <span class="text">
      {start > 0 && <span class="cut">…</span>}
      <MarkedText text={text.replaceAll("\n", "↵")} marks={marks} />
    </span>
  );
}

function MoreOf({ line }: { readonly line: string }): JSX.Element {
  return <span class="cut">… {line.length.toLocaleString()} characters in all</span>;
}
