/** The cells of a result: only those in view are in the document. A head sorts, a cell opens. */

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
/** Of a letter, about, until one is measured. */
const LETTER_PX = 7.5;
/** Letters of the column that numbers the rows. */
const PLACE_LETTERS = 6;
/** Rows before and after those in view, so that scrolling shows no gap. */
const SPARE_ROWS = 12;
/** Letters at both sides of what is in view, likewise. */
const SPARE_LETTERS = 60;

export function ResultTable({ columns, rows }: {
  readonly columns: readonly ResultColumn[];
  readonly rows: Rows;
}): JSX.Element {
  const [sort, setSort] = useState<SortOrder | undefined>(undefined);
  const widths = useMemo(() => columns.map((column, at) => widthOf(column, at, rows)), [rows]);
  const starts = useMemo(() => startsOf(widths), [widths]);
  const { pane, inView } = useCellsInView(rows, starts);
  const { first, last } = inView;
  const [active, setActive] = useState<Cell | undefined>(undefined);
  useEffect(() => setActive(undefined), [rows]);
  // At once, lest it takes back a scroll that came before the next frame.
  useLayoutEffect(() => show(pane.current, active, starts), [active]);
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
    // The table within is the stop of the Tab key; Firefox makes one of whatever scrolls.
    <div class="result-table" ref={pane} tabIndex={-1}>
      <table
        role="grid"
        tabIndex={0}
        aria-label="Rows of the result: arrows move, Enter opens a value"
        aria-activedescendant={active === undefined ? undefined : idOf(active)}
        aria-rowcount={rows.length + 1}
        aria-colcount={columns.length + 1}
        style={{ width: `${starts.at(-1)}ch` }}
        onKeyDown={onKeyDown}
      >
        <colgroup>
          <col style={{ width: `${PLACE_LETTERS}ch` }} />
          {widths.map((width, at) => <col key={at} style={{ width: `${width}ch` }} />)}
        </colgroup>
        <thead>
          <tr>
            <th scope="col" class="place" aria-label="Row" aria-colindex={1}>#</th>
            <LeftOut columns={inView.left} />
            {columns.slice(inView.left, inView.right).map((column, index) => {
              const at = inView.left + index;
              return <Head key={at} column={column} at={at} sort={sort} onSort={setSort} />;
            })}
            <LeftOut columns={columns.length - inView.right} />
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
              inView={inView}
              active={active?.row === place ? active.column : undefined}
            />
          ))}
          <Gap rows={rows.length - last} />
        </tbody>
      </table>
    </div>
  );
}

/** Rows and columns that are drawn; `last` and `right` are not included. */
interface CellsInView {
  readonly first: number;
  readonly last: number;
  readonly left: number;
  readonly right: number;
}

/** Which cells the pane shows. */
function useCellsInView(rows: Rows, starts: readonly number[]) {
  const pane = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600, left: 0, width: 1_200, px: LETTER_PX });
  useEffect(() => {
    const { current } = pane;
    if (current === null) return;
    const look = () => {
      const { scrollTop, clientHeight, scrollLeft, clientWidth } = current;
      const px = letterPx(current, starts);
      setView({ top: scrollTop, height: clientHeight, left: scrollLeft, width: clientWidth, px });
    };
    const sizes = new ResizeObserver(look);
    sizes.observe(current);
    current.addEventListener("scroll", look, { passive: true });
    return () => {
      sizes.disconnect();
      current.removeEventListener("scroll", look);
    };
  }, [starts]);
  useEffect(() => pane.current?.scrollTo({ top: 0, left: 0 }), [rows]);
  const first = Math.max(0, Math.min(rows.length, Math.floor(view.top / ROW_PX) - SPARE_ROWS));
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW_PX) + SPARE_ROWS);
  const from = view.left / view.px - SPARE_LETTERS;
  const to = (view.left + view.width) / view.px + SPARE_LETTERS;
  const left = starts.slice(1).filter((end) => end < from).length;
  const right = starts.slice(0, -1).filter((start) => start < to).length;
  const inView: CellsInView = { first, last: Math.max(first, last), left, right };
  return { pane, inView };
}

/** How wide a letter is in the table that is drawn, which has columns at `starts`. */
function letterPx(pane: HTMLElement, starts: readonly number[]): number {
  const width = pane.querySelector("table")?.offsetWidth ?? 0;
  return width / (starts.at(-1) ?? 1) || LETTER_PX;
}

/** The letter at which each column begins, and after them that at which the last one ends. */
function startsOf(widths: readonly number[]): readonly number[] {
  const starts = [PLACE_LETTERS];
  for (const width of widths) starts.push((starts.at(-1) ?? 0) + width);
  return starts;
}

/** Stands for columns that are not in the document. */
function LeftOut({ columns }: { readonly columns: number }): JSX.Element | null {
  return columns <= 0 ? null : <td aria-hidden="true" class="gap" colSpan={columns} />;
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
    <th scope="col" class={kind} aria-sort={order} aria-colindex={at + 2}>
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

/** Scrolls so that the cell is in view, which draws it. */
function show(
  pane: HTMLElement | null,
  cell: Cell | undefined,
  starts: readonly number[],
): void {
  if (pane === null || cell === undefined) return;
  const top = cell.row * ROW_PX;
  const topLeast = top + HEAD_PX + ROW_PX - pane.clientHeight;
  if (top < pane.scrollTop) pane.scrollTop = top;
  else if (topLeast > pane.scrollTop) pane.scrollTop = topLeast;
  const px = letterPx(pane, starts);
  const left = ((starts[cell.column] ?? 0) - PLACE_LETTERS) * px;
  const leftLeast = (starts[cell.column + 1] ?? 0) * px - pane.clientWidth;
  if (left < pane.scrollLeft) pane.scrollLeft = left;
  else if (leftLeast > pane.scrollLeft) pane.scrollLeft = Math.min(left, leftLeast);
}

function Row({ place, row, columns, inView: { left, right }, active }: {
  readonly place: number;
  readonly row: readonly Value[];
  readonly columns: readonly ResultColumn[];
  readonly inView: CellsInView;
  /** The column of the cell that keys move from; undefined: another row has it. */
  readonly active: number | undefined;
}): JSX.Element {
  return (
    <tr aria-rowindex={place + 2}>
      <td class="place" aria-colindex={1}>{place + 1}</td>
      <LeftOut columns={left} />
      {columns.slice(left, right).map(({ name, kind }, index) => {
        const at = left + index;
        const value = row[at] ?? null;
        return (
          <td
            key={at}
            id={idOf({ row: place, column: at })}
            aria-colindex={at + 2}
            class={`${value === null ? "null" : kind}${active === at ? " active" : ""}`}
            title="Open the value"
            onClick={() => openValue({ name, value })}
          >
            {value === null ? "null" : <ShownText text={cellText(value)} />}
          </td>
        );
      })}
      <LeftOut columns={columns.length - right} />
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
