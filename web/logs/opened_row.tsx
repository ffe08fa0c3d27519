/** What an opened row shows: its fields with what one may do with each, and the rows around it. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { goTo } from "../frame/router.ts";
import { useEscape } from "../view/escape.ts";
import { wholeText } from "../view/number_text.ts";
import { ContextView } from "./context_view.tsx";
import { CopyButton } from "../view/copy_button.tsx";
import { fieldTerm } from "./field_term.ts";
import { columns, linkTo, openRow, toggleColumn, toggleRow, zone } from "./log_address.ts";
import { fieldsOf, type LogRow, type RowField, sentFieldsOf } from "./log_rows.ts";
import { asked, searchOnly, texts, toggleTerm } from "./log_state.ts";
import type { Marker } from "./marks.ts";
import { TopValues } from "./top_values.tsx";
import { instantText } from "./time_zone.ts";
import { ValueView } from "./value_view.tsx";

export function OpenedRow({ row, markers }: {
  readonly row: LogRow;
  readonly markers: readonly Marker[];
}): JSX.Element {
  const hasContext = useSignal(false);
  const fieldsMost = useSignal(FIELDS_AT_ONCE);
  useEscape(true, () => openRow.value === row.key && toggleRow(row.key));
  const fields = fieldsOf(row);
  const trace = traceOf(fields);
  return (
    <div class="opened" role="gridcell">
      <p class="row-actions">
        <button
          type="button"
          aria-expanded={hasContext.value}
          title="The rows around this one, of the same host and source, whatever the search"
          onClick={() => hasContext.value = !hasContext.value}
        >
          context
        </button>
        {trace !== undefined && (
          <button
            type="button"
            onClick={() => goTo("traces", new URLSearchParams({ trace }))}
          >
            → trace
          </button>
        )}
        <CopyButton text={() => jsonOf(sentFieldsOf(row))}>copy as JSON</CopyButton>
        <CopyButton text={() => linkTo(asked.value?.query.instants)}>copy link</CopyButton>
        <span class="quiet">{instantText(Date.parse(row.place.timestamp), zone.value)}</span>
      </p>
      {hasContext.value && <ContextView row={row} close={() => hasContext.value = false} />}
      <table class="fields">
        <tbody>
          {fields.slice(0, fieldsMost.value).map((field) => (
            <FieldRow
              key={field.name}
              field={field}
              markers={texts.value.includes(field.name) ? markers : []}
            />
          ))}
        </tbody>
      </table>
      {fields.length > fieldsMost.value && (
        <p class="row-actions">
          <button type="button" onClick={() => fieldsMost.value += FIELDS_AT_ONCE}>
            more fields
          </button>
          <span class="quiet">
            {wholeText(fieldsMost.value)} of {wholeText(fields.length)} are shown
          </span>
        </p>
      )}
    </div>
  );
}

/** A browser takes 20 s to show 10,000. */
const FIELDS_AT_ONCE = 200;

function FieldRow({ field, markers }: {
  readonly field: RowField;
  readonly markers: readonly Marker[];
}): JSX.Element {
  const { name, text } = field;
  const hasTop = useSignal(false);
  const term = termOf(field);
  const isColumn = columns.value.includes(name);
  return (
    <>
      <tr>
        <th scope="row">{name}</th>
        <td class="value">
          <ValueView field={field} markers={markers} />
        </td>
        <td class="actions">
          {term !== undefined && (
            <>
              <button
                type="button"
                title={`Only rows with this ${name}`}
                onClick={() => toggleTerm(term)}
              >
                + filter
              </button>
              <button
                type="button"
                title={`Only rows without this ${name}`}
                onClick={() => toggleTerm(`-${term}`)}
              >
                − filter
              </button>
              <button
                type="button"
                title={`Search for this ${name} and nothing else`}
                onClick={() => searchOnly(term)}
              >
                only this
              </button>
            </>
          )}
          <CopyButton text={() => text} title={`Copy this ${name} as it was sent`}>copy</CopyButton>
          <button type="button" aria-pressed={isColumn} onClick={() => toggleColumn(name)}>
            column
          </button>
          <button
            type="button"
            aria-expanded={hasTop.value}
            title={`The most frequent values of ${name}`}
            onClick={() => hasTop.value = !hasTop.value}
          >
            top
          </button>
        </td>
      </tr>
      {hasTop.value && (
        <tr>
          <td colSpan={3}>
            <TopValues name={name} />
          </td>
        </tr>
      )}
    </>
  );
}

/** A term has a bound; a text beyond it is looked for by its words. */
const TERM_CHARS_MAX = 1_000;

function termOf({ name, text }: RowField): string | undefined {
  return text.length > TERM_CHARS_MAX || text.includes("\0") ? undefined : fieldTerm(name, text);
}

const TRACE_NAMES = ["trace_id", "traceId", "trace.id", "traceID", "TraceId"];

/** The trace that a row belongs to, by the names that senders use. */
function traceOf(fields: readonly RowField[]): string | undefined {
  const found = fields.find(({ name, text }) =>
    TRACE_NAMES.includes(name) && /^[0-9a-f]{16,32}$/i.test(text) && !/^0+$/.test(text)
  );
  return found?.text.toLowerCase();
}

function jsonOf(fields: readonly RowField[]): string {
  return JSON.stringify(Object.fromEntries(fields.map(({ name, text }) => [name, text])), null, 2);
}
