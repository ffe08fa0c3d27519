import type { JSX } from "preact";
import type { Value } from "../api/sql_client.ts";

/** Characters of a cell; the whole value is its title. */
const CELL_MAX = 400;

/** Rows as a table that scrolls on its own, both ways. */
export function ResultTable({ columns, rows }: {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}): JSX.Element {
  return (
    <div class="result-table" tabIndex={0} role="group" aria-label="Rows">
      <table>
        <thead>
          <tr>{columns.map((name, at) => <th key={at} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((value, column) => <Cell key={column} value={value} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ value }: { readonly value: Value }): JSX.Element {
  if (value === null) return <td class="null">null</td>;
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const isLong = text.length > CELL_MAX;
  return (
    <td class={typeof value === "number" ? "number" : undefined} title={isLong ? text : undefined}>
      {isLong ? `${text.slice(0, CELL_MAX)}…` : text}
    </td>
  );
}
