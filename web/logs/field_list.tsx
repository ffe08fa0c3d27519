/** The fields of what was searched, at the left; on a narrow screen they lie over the rows. */

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { shortText, wholeText } from "../view/number_text.ts";
import { useEscape } from "../view/escape.ts";
import { type FieldInfo, fieldList, fieldListFailure } from "./field_state.ts";
import { columns, toggleColumn } from "./log_address.ts";
import { TopValues } from "./top_values.tsx";
import { areFieldsShown, toggleFields } from "./view_choices.ts";

/** Fields of which every row has its own value: their top values tell nothing. */
const WITHOUT_VALUES = new Set(["timestamp", "timestamp_ns", "attributes"]);

export function FieldList(): JSX.Element | null {
  const wanted = useSignal("");
  useEscape(areFieldsShown.value && innerWidth < 900, toggleFields);
  if (!areFieldsShown.value) return null;
  const list = fieldList.value;
  const failure = fieldListFailure.value;
  const text = wanted.value.trim().toLowerCase();
  const shown = (list?.fields ?? []).filter(({ name }) =>
    !WITHOUT_VALUES.has(name) && name.toLowerCase().includes(text)
  );
  return (
    <aside class="field-list" aria-label="Fields">
      <header>
        <h2>Fields</h2>
        <input
          type="search"
          id="field-filter"
          aria-label="Find a field"
          placeholder="find a field"
          value={wanted.value}
          onInput={(event) => wanted.value = event.currentTarget.value}
        />
        <button type="button" class="plain" title="Fold the fields away" onClick={toggleFields}>
          ×<span class="unseen">Fold the fields away</span>
        </button>
      </header>
      {failure !== undefined && <p class="failure" role="alert">{failure.message}</p>}
      <ul>
        {shown.map((field) => <FieldItem key={field.name} field={field} rows={list?.rows ?? 0} />)}
      </ul>
      {list !== undefined && shown.length === 0 && <p class="quiet">No such field.</p>}
      {list?.answeredFrom === "sample" && list.sampleRows !== null && (
        <p class="quiet">Counted in the newest {wholeText(list.sampleRows)} rows.</p>
      )}
    </aside>
  );
}

function FieldItem({ field, rows }: {
  readonly field: FieldInfo;
  readonly rows: number;
}): JSX.Element {
  const isOpen = useSignal(false);
  const { name, distinct } = field;
  const isColumn = columns.value.includes(name);
  const of = rows === 0 ? "" : ` of ${wholeText(rows)}`;
  return (
    <li>
      <div class="field-item">
        <button
          type="button"
          class="field-name"
          aria-expanded={isOpen.value}
          title={`${name}: ${field.type}, in ${wholeText(field.rows)}${of} rows`}
          onClick={() => isOpen.value = !isOpen.value}
        >
          <span aria-hidden="true">{isOpen.value ? "▾" : "▸"}</span> {name}
        </button>
        <button
          type="button"
          class="plain as-column"
          aria-pressed={isColumn}
          title={isColumn ? `Take the column ${name} away` : `Show ${name} as a column`}
          onClick={() => toggleColumn(name)}
        >
          {isColumn ? "−" : "+"}
          <span class="unseen">column {name}</span>
        </button>
        <span class="quiet distinct" title={distinctTitle(field)}>
          {distinct === null ? "" : `${field.distinctExact ? "" : "~"}${shortText(distinct)}`}
        </span>
      </div>
      {isOpen.value && <TopValues name={name} />}
    </li>
  );
}

function distinctTitle({ distinct, distinctExact }: FieldInfo): string {
  if (distinct === null) return "";
  return `${distinctExact ? "" : "about "}${wholeText(distinct)} values`;
}
