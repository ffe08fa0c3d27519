/** The rows of a result: only those in view are in the document. A head sorts, a cell opens. */

import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Value } from "../api/sql_client.ts";
import { type Cell, cellAfterKey } from "./active_cell.ts";
import { type ResultColumn, shortType } from "./column_kind.ts";
import { sortedPlaces, type SortOrder } from "./sort_rows.ts";
import { cellText } from "./value_text.ts";
import { ShownText } from "../view/shown_text.tsx";
import { openValue } from "./value_dialog.tsx";

type Rows = readonly (readonly Value[])[];

/** As sql.css has it. */
const ROW_PX = 24;
const HEAD_PX = 44;
/** Rows before and after those in view, so that scrolling shows no gap. */
const SPARE_ROWS = 12;

export function ResultTable({ columns, rows }: {
  readonly columns: readonly ResultColumn[];
  readonly rows: Rows;
}): JSX.Element {
  const [sort, setSort] = useState<SortOrder | undefined>(undefined);
  const { pane, first, last } = useRowsInView(rows.length);
  const [active, setActive] = useState<Cell | undefined>(undefined);
  useEffect(() => setActive(undefined), [rows]);
  // At once, lest it takes back a scroll that came before the next frame.
  useLayoutEffect(() => show(pane.current, active), [active]);
  const widths = useMemo(() => columns.map((column, at) => widthOf(column, at, rows)), [rows]);
  const order = useMemo(() => {
    const kind = columns[sort?.column ?? 0]?.kind ?? "text";
    return sort === undefined ? undefined : sortedPlaces(rows, sort, kind);
  }, [rows, sort]);
  const places = Array.from({ length: last - first }, (_, at) => first + at);
  const rowAt = (place: number) => rows[order?.[place] ?? place] ?? [];
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof HTMLTableElement)) return;
    const { key } = event;
    if (key === "Enter" && active !== undefined) {
      openValue({ name: columns[active.column]?.name ?? "", value: valueAt(rowAt, active) });
    }
    const next = cellAfterKey(key, active, { rows: rows.length, columns: columns.length });
    if (next === undefined) return;
    event.preventDefault();
    setActive(next);
  };
  return (
    <div class="result-table" ref={pane}>
      <table
        role="grid"
        tabIndex={0}
        aria-label="Rows of the result: arrows move, Enter opens a value"
        aria-activedescendant={active === undefined ? undefined : idOf(active)}
        aria-rowcount={rows.length + 1}
        style={{ width: `${sum(widths) + 6}ch` }}
        onKeyDown={onKeyDown}
      >
        <colgroup>
          <col style={{ width: "6ch" }} />
          {widths.map((width, at) => <col key={at} style={{ width: `${width}ch` }} />)}
        </colgroup>
        <thead>
          <tr>
            <th scope="col" class="place" aria-label="Row">#</th>
            {columns.map((column, at) => (
              <Head key={at} column={column} at={at} sort={sort} onSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap rows={first} />
          {places.map((place) => (
            <Row
              key={place}
              place={place}
              row={rowAt(place)}
              columns={columns}
              active={active?.row === place ? active.column : undefined}
            />
          ))}
          <Gap rows={rows.length - last} />
        </tbody>
      </table>
    </div>
  );
}

/** Which rows the pane shows: `last` is not included. */
function useRowsInView(rows: number) {
  const pane = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useEffect(() => {
    const { current } = pane;
    if (current === null) return;
    const look = () => setView({ top: current.scrollTop, height: current.clientHeight });
    const sizes = new ResizeObserver(look);
    sizes.observe(current);
    current.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      current.removeEventListener("scroll", look);
    };
  }, []);
  useEffect(() => pane.current?.scrollTo({ top: 0 }), [rows]);
  const first = Math.max(0, Math.min(rows, Math.floor(view.top / ROW_PX) - SPARE_ROWS));
  const last = Math.min(rows, Math.ceil((view.top + view.height) / ROW_PX) + SPARE_ROWS);
  return { pane, first, last: Math.max(first, last) };
}

/** Stands for rows that are not in the document. */
function Gap({ rows }: { readonly rows: number }): JSX.Element | null {
  if (rows <= 0) return null;
  return <tr aria-hidden="true" class="gap" style={{ height: `${rows * ROW_PX}px` }} />;
}

function Head({ column, at, sort, onSort }: {
  readonly column: ResultColumn;
  readonly at: number;
  readonly sort: SortOrder | undefined;
  readonly onSort: (sort: SortOrder | undefined) => void;
}): JSX.Element {
  const own = sort?.column === at ? sort : undefined;
  const next = own === undefined
    ? { column: at, isDescending: false }
    : own.isDescending
    ? undefined
    : { column: at, isDescending: true };
  const order = own === undefined ? "none" : own.isDescending ? "descending" : "ascending";
  const { name, type, kind } = column;
  return (
    <th scope="col" class={kind} aria-sort={order}>
      <button type="button" title={`Sort by ${name}`} onClick={() => onSort(next)}>
        <span class="name">{name}</span>
        <span class="arrow">{own === undefined ? "" : own.isDescending ? "↓" : "↑"}</span>
        {type !== undefined && <span class="type" title={type}>{shortType(type)}</span>}
      </button>
    </th>
  );
}

function valueAt(rowAt: (place: number) => readonly Value[], { row, column }: Cell): Value {
  return rowAt(row)[column] ?? null;
}

function idOf({ row, column }: Cell): string {
  return `cell-${row}-${column}`;
}

/** Scrolls so that the cell is in view; rows that are not in the document come into it. */
function show(pane: HTMLElement | null, cell: Cell | undefined): void {
  if (pane === null || cell === undefined) return;
  const top = cell.row * ROW_PX;
  const most = top + HEAD_PX + ROW_PX - pane.clientHeight;
  if (top < pane.scrollTop) pane.scrollTop = top;
  else if (most > pane.scrollTop) pane.scrollTop = most;
  document.getElementById(idOf(cell))?.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function Row({ place, row, columns, active }: {
  readonly place: number;
  readonly row: readonly Value[];
  readonly columns: readonly ResultColumn[];
  /** The column of the cell that keys move from; undefined: another row has it. */
  readonly active: number | undefined;
}): JSX.Element {
  return (
    <tr aria-rowindex={place + 2}>
      <td class="place">{place + 1}</td>
      {columns.map(({ name, kind }, at) => {
        const value = row[at] ?? null;
        return (
          <td
            key={at}
            id={idOf({ row: place, column: at })}
            class={`${value === null ? "null" : kind}${active === at ? " active" : ""}`}
            title="Open the value"
            onClick={() => openValue({ name, value })}
          >
            {value === null ? "null" : <ShownText text={cellText(value)} />}
          </td>
        );
      })}
    </tr>
  );
}

const WIDTH_LEAST = 8;
const WIDTH_MOST = 60;
const ROWS_MEASURED = 60;

/** Letters that a column is wide: those of its head and of its first values. */
function widthOf({ name, type = "" }: ResultColumn, at: number, rows: Rows): number {
  const values = rows.slice(0, ROWS_MEASURED).map((row) => cellText(row[at] ?? null).length);
  const head = Math.max(name.length + 2, Math.min(24, shortType(type).length));
  return Math.min(WIDTH_MOST, Math.max(WIDTH_LEAST, head, ...values)) + 3;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
