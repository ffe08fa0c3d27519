/** The rows around a row, of the same host and source, whatever the search. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { askSql } from "../api/sql_client.ts";
import { useEscape } from "../view/escape.ts";
import { table, zone } from "./log_address.ts";
import { levelOf, type LogRow, rowsOf, textOf } from "./log_rows.ts";
import { asked, type Failure, failureOf } from "./log_state.ts";
import { contextSql } from "./log_statements.ts";
import { MarkedText } from "./marked_text.tsx";
import { RowTime } from "./row_time.tsx";
import { lineOf } from "./row_text.ts";

const ROWS = 10;
const LINE_CHARS_MAX = 1_000;
/** A short time is looked at first: it reads few files. */
const SPANS_MS = [600_000, 86_400_000] as const;

type Side = "older" | "newer";

/** Rows of one side, the nearest first. */
interface SideRows {
  readonly rows: readonly LogRow[];
  readonly hasMore: boolean;
}

export function ContextView({ row, close }: {
  readonly row: LogRow;
  readonly close: () => void;
}): JSX.Element {
  const sides = {
    older: useSignal<SideRows | undefined>(undefined),
    newer: useSignal<SideRows | undefined>(undefined),
  };
  const wanted = { older: useSignal(ROWS), newer: useSignal(ROWS) };
  const failure = useSignal<Failure | undefined>(undefined);
  useEscape(true, close);
  for (const side of ["older", "newer"] as const) {
    useEffect(() => {
      const running = new AbortController();
      const { signal } = running;
      contextOf(row, { side, rowsMax: wanted[side].value, signal })
        .then((found) => sides[side].value = found)
        .catch((error) => {
          if (!signal.aborted) failure.value = failureOf(error);
        });
      return () => running.abort();
    }, [row.key, wanted[side].value]);
  }
  const same = sameOf(row).map(([name, value]) => `${name} ${value}`).join(", ");
  const more = (side: Side) => () => wanted[side].value += 5 * ROWS;
  return (
    <section class="context" aria-label="Rows around this row">
      <p class="quiet">
        Rows around this one{same === "" ? "" : ` of ${same}`}, whatever the search.{" "}
        <button type="button" onClick={close}>close</button>
      </p>
      {failure.value !== undefined && <p class="failure" role="alert">{failure.value.message}</p>}
      <More found={sides.newer.value} more={more("newer")} label="newer rows" />
      <ol>
        {(sides.newer.value?.rows ?? []).toReversed().map((one) => (
          <ContextRow key={one.key} row={one} />
        ))}
        <ContextRow row={row} isCentre />
        {(sides.older.value?.rows ?? []).map((one) => <ContextRow key={one.key} row={one} />)}
      </ol>
      <More found={sides.older.value} more={more("older")} label="older rows" />
    </section>
  );
}

function More({ found, more, label }: {
  readonly found: SideRows | undefined;
  readonly more: () => void;
  readonly label: string;
}): JSX.Element {
  if (found === undefined) return <p class="quiet">…</p>;
  if (!found.hasMore) return <p class="quiet">No {label} within a day.</p>;
  return <button type="button" onClick={more}>more {label}</button>;
}

function ContextRow({ row, isCentre = false }: {
  readonly row: LogRow;
  readonly isCentre?: boolean;
}): JSX.Element {
  const { name, severity = "none" } = levelOf(row);
  return (
    <li class={`context-row ${severity}`} aria-current={isCentre ? "true" : undefined}>
      <RowTime place={row.place} zone={zone.value} />
      <span class="level">{name}</span>
      <span class="text">
        <MarkedText text={lineOf(row).slice(0, LINE_CHARS_MAX)} />
      </span>
    </li>
  );
}

/** The columns that tell where a row came from. */
function sameOf(row: LogRow): readonly (readonly [column: string, value: string])[] {
  return ["host", "source", "service"].flatMap((name) => {
    const value = row.values[name];
    return value === undefined || value === null ? [] : [[name, textOf(value)] as const];
  });
}

async function contextOf(
  row: LogRow,
  { side, rowsMax, signal }: {
    readonly side: Side;
    readonly rowsMax: number;
    readonly signal: AbortSignal;
  },
): Promise<SideRows> {
  const tableNow = asked.peek()?.query.table ?? table.peek();
  let found: readonly LogRow[] = [];
  for (const spanMs of SPANS_MS) {
    const { place } = row;
    // One more than are shown, and the row itself.
    const limit = rowsMax + 2;
    const sql = contextSql({
      ...{ table: tableNow, place, same: sameOf(row), side, spanMs, rowsMax: limit },
    });
    const rows = rowsOf(await askSql(sql, { signal, rowsMax: limit }));
    found = rows.filter(({ key }) => key !== row.key);
    if (rows.length === limit) break;
  }
  return { rows: found.slice(0, rowsMax), hasMore: found.length > rowsMax };
}
