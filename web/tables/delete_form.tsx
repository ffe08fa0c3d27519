/** Deletes rows by a condition: it is counted first, and confirmed by the table's name. */

import type { JSX } from "preact";
import { countText, wholeText } from "../view/number_text.ts";
import { Modal } from "../view/modal.tsx";
import {
  changeDelete,
  closeDelete,
  confirmed,
  count,
  countFirst,
  deleteRows,
  fault,
  isBusy,
  mayDelete,
  wish,
} from "./delete_state.ts";

export function DeleteForm(): JSX.Element | null {
  return wish.value === undefined ? null : <Form />;
}

function Form(): JSX.Element {
  const { table = "", predicate = "", from = "", to = "" } = wish.value ?? {};
  const wrong = fault.value?.place === "predicate" ? fault.value.message : undefined;
  return (
    <Modal title={`Delete rows of ${table}`} onClose={closeDelete}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (mayDelete.value) deleteRows();
          else countFirst();
        }}
      >
        <label class="field">
          <span>Rows for which this is true, in SQL</span>
          <textarea
            id="delete-predicate"
            rows={3}
            spellcheck={false}
            placeholder="attr_get(attributes, 'user.id') = '4711'"
            aria-invalid={wrong !== undefined}
            aria-describedby={wrong === undefined ? undefined : "delete-predicate-wrong"}
            value={predicate}
            onInput={(event) => changeDelete({ predicate: event.currentTarget.value })}
          />
          {wrong !== undefined && (
            <span id="delete-predicate-wrong" class="wrong" role="alert">{wrong}</span>
          )}
        </label>
        <div class="pair">
          <Time name="from" label="From, inclusive" value={from} />
          <Time name="to" label="To, exclusive" value={to} />
        </div>
        <p class="acts">
          <button type="submit" class="main" disabled={isBusy.value}>
            {isBusy.value ? "Counting…" : "Count the rows"}
          </button>
          <span aria-live="polite">
            {count.value !== undefined && (
              <>
                <strong>{countText(count.value.found, "row")}</strong> would go, of{" "}
                {wholeText(count.value.all)}
                {from === "" && to === "" ? "." : " of that time."}
              </>
            )}
          </span>
        </p>
        {(count.value?.found ?? 0) > 0 && (
          <label class="field">
            <span>Type {table} to confirm: deleted rows cannot be had again</span>
            <input
              id="delete-confirm"
              type="text"
              autocomplete="off"
              spellcheck={false}
              value={confirmed.value}
              onInput={(event) => confirmed.value = event.currentTarget.value}
            />
          </label>
        )}
        <p class="acts">
          <button type="button" onClick={closeDelete}>Keep the rows</button>
          <button type="button" disabled={!mayDelete.value} onClick={deleteRows}>
            Delete {countText(count.value?.found ?? 0, "row")}
          </button>
        </p>
      </form>
    </Modal>
  );
}

function Time({ name, label, value }: {
  readonly name: "from" | "to";
  readonly label: string;
  readonly value: string;
}): JSX.Element {
  const wrong = fault.value?.place === name ? fault.value.message : undefined;
  return (
    <label class="field">
      <span>{label}</span>
      <input
        id={`delete-${name}`}
        type="text"
        placeholder="2026-11-20T00:00:00Z"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={wrong !== undefined}
        aria-describedby={wrong === undefined ? undefined : `delete-${name}-wrong`}
        value={value}
        onInput={(event) => changeDelete({ [name]: event.currentTarget.value.trim() })}
      />
      {wrong !== undefined && (
        <span id={`delete-${name}-wrong`} class="wrong" role="alert">{wrong}</span>
      )}
    </label>
  );
}
