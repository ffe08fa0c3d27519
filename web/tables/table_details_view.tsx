/** One table: what it holds, its days, columns and snapshots, and what can be done with it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { PlaceLink } from "../frame/place_link.tsx";
import { bytesText } from "../view/bytes_text.ts";
import { Figure, Moment } from "../view/figure.tsx";
import { countText, shareText, wholeText } from "../view/number_text.ts";
import { TimeView } from "../view/time_view.tsx";
import { openDelete } from "./delete_state.ts";
import { openForm } from "./form_loader.ts";
import { periodText } from "./period_text.ts";
import type { TableDay, TableDetails } from "./table_client.ts";
import { details, detailsFailure, openName, openTable, removing } from "./tables_state.ts";

/** Rows of a list before "all" is asked for. */
const SHOWN_MAX = 30;
const AUDIT = "query_audit";

export function TableDetailsView(): JSX.Element {
  const shown = details.value;
  const name = openName.value ?? "";
  return (
    <section class="table-details" aria-label="Table">
      <header>
        <h2>{name}</h2>
        <span class="gap" />
        <button type="button" onClick={() => openTable(undefined)}>Close</button>
      </header>
      {detailsFailure.value !== undefined && (
        <p class="failure" role="alert">{detailsFailure.value}</p>
      )}
      {shown === undefined
        ? <p class="empty">{detailsFailure.value === undefined ? "Loading the table…" : ""}</p>
        : <Details shown={shown} />}
    </section>
  );
}

function Details({ shown }: { readonly shown: TableDetails }): JSX.Element {
  const { table, kind, rows, bytes, files, day_count } = shown;
  return (
    <>
      <p class="acts">
        <PlaceLink path="" query={new URLSearchParams({ table, range: "1440m" })}>
          Look at its rows
        </PlaceLink>
        <PlaceLink
          path="sql"
          query={new URLSearchParams({ query: `SELECT * FROM "${table}" LIMIT 100` })}
        >
          SQL
        </PlaceLink>
        {kind !== "built_in" && (
          <button type="button" onClick={() => openForm("index", table)}>
            {kind === "index" ? "Change the index" : "Configure the index"}
          </button>
        )}
        {table !== AUDIT && (
          <button type="button" onClick={() => openDelete(table)}>Delete rows…</button>
        )}
        {kind !== "built_in" && (
          <button
            type="button"
            onClick={() => removing.value = { kind: "index", id: table }}
          >
            Drop the index…
          </button>
        )}
      </p>
      <dl class="figures">
        <Figure name="Rows">{wholeText(rows ?? 0)}</Figure>
        <Figure name="Bytes">{bytesText(bytes ?? 0)}</Figure>
        <Figure name="Bytes a row">
          {rows === null || rows === 0 ? "–" : ((bytes ?? 0) / rows).toFixed(1)}
        </Figure>
        <Figure name="Files">{wholeText(files ?? 0)}</Figure>
        <Figure name="Days">{wholeText(day_count)}</Figure>
        <Figure name="Snapshots">{wholeText(shown.snapshots)}</Figure>
        <Figure name="Kept for">{periodText(shown.retention_secs)}</Figure>
        <Moment name="Oldest row" at={shown.oldest_row_at} />
        <Moment name="Newest row" at={shown.newest_row_at} />
        <Moment name="Last commit" at={shown.committed_at} />
      </dl>
      <Days days={shown.days} />
      <Columns shown={shown} />
      <Snapshots shown={shown} />
    </>
  );
}

function Days({ days }: { readonly days: readonly TableDay[] }): JSX.Element | null {
  const isAll = useSignal(false);
  if (days.length === 0) return null;
  const most = Math.max(1, ...days.map(({ rows }) => rows));
  const shown = isAll.value ? days : days.slice(0, SHOWN_MAX);
  return (
    <section>
      <h3>Days</h3>
      <table class="facts days">
        <thead>
          <tr>
            <th scope="col">Day, UTC</th>
            <th scope="col" class="number">Rows</th>
            <th scope="col" class="number">Bytes</th>
            <th scope="col" class="number">Files</th>
          </tr>
        </thead>
        <tbody>
          {shown.map(({ day, rows, bytes, files }) => (
            <tr key={day}>
              <th scope="row">{day}</th>
              <td class="number share">
                <i style={{ width: `calc((100% - 96px) * ${rows / most})` }} />
                <span>{wholeText(rows)}</span>
              </td>
              <td class="number">{bytesText(bytes)}</td>
              <td class="number">{wholeText(files)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length < days.length && (
        <button type="button" onClick={() => isAll.value = true}>
          All {countText(days.length, "day")}
        </button>
      )}
    </section>
  );
}

function Columns({ shown: { columns, rows } }: { readonly shown: TableDetails }): JSX.Element {
  const text = useSignal("");
  const wanted = text.value.trim().toLowerCase();
  const found = columns.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <section>
      <h3>Columns</h3>
      <p class="acts">
        <input
          type="search"
          aria-label="Search columns"
          placeholder="Search columns"
          value={text.value}
          onInput={(event) => text.value = event.currentTarget.value}
        />
        <span class="note">{found.length} of {columns.length}</span>
      </p>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Column</th>
            <th scope="col">Type</th>
            <th scope="col" class="number">Rows with a value</th>
            <th scope="col" class="more">What it is</th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ name, type, required, doc, attribute, hidden, values }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{type}{required && ", required"}</td>
              <td class="number">
                {wholeText(values)}
                {rows !== null && rows > 0 && `, ${shareText(values / rows)}`}
              </td>
              <td class="more">
                {doc}
                {attribute !== undefined && `attribute ${attribute}`}
                {hidden === true && ", not seen by statements"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Snapshots({ shown }: { readonly shown: TableDetails }): JSX.Element | null {
  const isAll = useSignal(false);
  const all = shown.snapshot_list;
  if (all.length === 0) return null;
  const listed = isAll.value ? all : all.slice(0, SHOWN_MAX);
  return (
    <section>
      <h3>Snapshots</h3>
      <table class="facts">
        <thead>
          <tr>
            <th scope="col">Committed</th>
            <th scope="col">What it did</th>
            <th scope="col" class="number">Rows</th>
            <th scope="col" class="number">Files</th>
            <th scope="col" class="more">Snapshot</th>
          </tr>
        </thead>
        <tbody>
          {listed.map((one) => (
            <tr key={one.snapshot_id}>
              <th scope="row">
                <TimeView ms={Date.parse(one.committed_at)} />
              </th>
              <td>{one.operation}</td>
              <td class="number">{changeText(one.rows_added, one.rows_removed)}</td>
              <td class="number">{changeText(one.files_added, one.files_removed)}</td>
              <td class="more">
                <code>{one.snapshot_id}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {listed.length < all.length && (
        <button type="button" onClick={() => isAll.value = true}>
          All {countText(all.length, "snapshot")} that are listed
        </button>
      )}
    </section>
  );
}

function changeText(added: number, removed: number): string {
  const parts = [
    ...added > 0 ? [`+${wholeText(added)}`] : [],
    ...removed > 0 ? [`−${wholeText(removed)}`] : [],
  ];
  return parts.join(" ") || "0";
}
