/** The tables beside the editor: those of the server, and those that this browser keeps. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { dropTable, keptTables, listTables } from "../local/local_tables.ts";
import type { KeptTable } from "../local/local_store.ts";
import { bytesText } from "../view/bytes_text.ts";
import { rowsText } from "../view/number_text.ts";
import { agoText } from "../view/time_text.ts";
import { editor } from "./editor_view.tsx";
import { type NamedType, serverTables } from "./server_tables.ts";
import { describeTable, listServerTables, type ServerTable } from "./server_tables.ts";
import { shortType } from "./column_kind.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { attributeSql } from "../../shared/search/attribute_sql.ts";

export function SidePanel(): JSX.Element {
  useEffect(() => {
    const asking = new AbortController();
    listServerTables(asking.signal);
    listTables();
    return () => asking.abort();
  }, []);
  const kept = keptTables.value;
  return (
    <aside class="sql-side" aria-label="Tables">
      <h2>On the server</h2>
      <ul>{serverTables.value.map((table) => <ServerEntry key={table.name} table={table} />)}</ul>
      <h2>In this browser</h2>
      {kept.length === 0 && (
        <p>
          Keep a result to ask it again here, join it with others, and compare: it needs no server.
        </p>
      )}
      <ul>{kept.map((table) => <KeptEntry key={table.name} table={table} />)}</ul>
      {kept.length > 0 && (
        <p class="total">
          {bytesText(kept.reduce((sum, { bytes }) => sum + bytes, 0))} in this browser
        </p>
      )}
    </aside>
  );
}

function ServerEntry({ table: { name, columns, attributes } }: {
  readonly table: ServerTable;
}): JSX.Element {
  return (
    <li>
      <details
        onToggle={({ currentTarget }) => {
          if (currentTarget.open) describeTable(name, new AbortController().signal);
        }}
      >
        <summary>{name}</summary>
        {columns === undefined
          ? <p>Asking …</p>
          : <Columns columns={columns} write={writtenName} />}
        {attributes.length > 0 && (
          <>
            <h3>Attributes</h3>
            <Columns columns={attributes} write={attributeSql} />
          </>
        )}
      </details>
    </li>
  );
}

function KeptEntry({ table }: { readonly table: KeptTable }): JSX.Element {
  const { name, rows, bytes, keptMs, sql, columns } = table;
  return (
    <li class="kept">
      <details>
        <summary title={`${sql}\n\nKept ${agoText(keptMs, Date.now())}`}>
          local.{name}
          <span class="size">{rowsText(rows)} · {bytesText(bytes)}</span>
        </summary>
        <Columns columns={columns} write={writtenName} />
      </details>
      <button type="button" aria-label={`Drop local.${name}`} onClick={() => dropTable(name)}>
        drop
      </button>
    </li>
  );
}

function Columns({ columns, write }: {
  readonly columns: readonly NamedType[];
  readonly write: (name: string) => string;
}): JSX.Element {
  return (
    <ul class="columns">
      {columns.map(({ name, type }) => (
        <li key={name}>
          <button
            type="button"
            title={`Write ${write(name)} into the statement`}
            onClick={() => editor.peek()?.insert(write(name))}
          >
            <span>{name}</span>
            <span class="type">{shortType(type).toLowerCase()}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function writtenName(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : quoteName(name);
}
