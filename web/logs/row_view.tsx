/** One row: a line, and all of its fields once it is opened. Values are text, whatever they hold. */

import type { JSX } from "preact";
import { LEVEL_ATTRIBUTES } from "../../shared/search/search_fields.ts";
import type { Value } from "../api/sql_client.ts";
import { type LogRow, openRow, texts, toggleTerm } from "./log_state.ts";
import { severityClass } from "./severity_view.ts";
import { fieldTerm } from "./field_term.ts";

/** Columns that the line shows, or that only say again what another says. */
const HIDDEN = new Set(["timestamp_ns", "attributes"]);

export function RowView({ row }: { readonly row: LogRow }): JSX.Element {
  const id = row.place.timestampNs;
  const fields = fieldsOf(row);
  const level = textOf(
    LEVEL_ATTRIBUTES.map((name) => fields.get(name)).find((value) => value !== undefined),
  );
  const isOpen = openRow.value === id;
  const line = texts.value.map((name) => textOf(row.values[name])).join(" ");
  const source = textOf(row.values["source"] ?? row.values["service"]);
  return (
    <li class={`row ${severityClass(level)}`} data-open={isOpen}>
      <button
        type="button"
        class="line"
        aria-expanded={isOpen}
        onClick={() => openRow.value = isOpen ? undefined : id}
      >
        <time dateTime={row.place.timestamp} title={row.place.timestamp}>
          <LocalTime timestamp={row.place.timestamp} />
        </time>
        <span class="level">{level}</span>
        <span class="source">{source}</span>
        <span class="text">{line}</span>
      </button>
      {isOpen && <Fields fields={fields} />}
    </li>
  );
}

function Fields({ fields }: { readonly fields: ReadonlyMap<string, Value> }): JSX.Element {
  return (
    <table class="fields">
      <tbody>
        {[...fields].map(([name, value]) => {
          const text = textOf(value);
          return (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{text}</td>
              <td class="actions">
                <button
                  type="button"
                  title={`Only rows with this ${name}`}
                  onClick={() => toggleTerm(fieldTerm(name, text))}
                >
                  + filter
                </button>
                <button
                  type="button"
                  title={`Only rows without this ${name}`}
                  onClick={() => toggleTerm(`-${fieldTerm(name, text)}`)}
                >
                  − filter
                </button>
                <button type="button" onClick={() => navigator.clipboard.writeText(text)}>
                  copy
                </button>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Columns first, then attributes; nothing that is null. */
function fieldsOf({ values }: LogRow): ReadonlyMap<string, Value> {
  const columns = Object.entries(values).filter(([name]) => !HIDDEN.has(name));
  const all = [...columns, ...attributesOf(values["attributes"])];
  return new Map(all.filter(([, value]) => value !== null));
}

function attributesOf(text: Value | undefined): readonly (readonly [string, Value])[] {
  if (typeof text !== "string") return [];
  try {
    const parsed: unknown = JSON.parse(text);
    const isObject = typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
    return isObject ? Object.entries(parsed as Record<string, Value>) : [["attributes", text]];
  } catch {
    return [["attributes", text]];
  }
}

function textOf(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** In the viewer's zone, to the millisecond. */
function LocalTime({ timestamp }: { readonly timestamp: string }): JSX.Element {
  const date = new Date(timestamp);
  const two = (n: number) => String(n).padStart(2, "0");
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return (
    <>
      <span class="day">
        {`${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} `}
      </span>
      {`${time}.${String(date.getMilliseconds()).padStart(3, "0")}`}
    </>
  );
}
