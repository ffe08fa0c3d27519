/** Fields of what was searched, and their most frequent values: asked when somebody looks. */

import { effect, signal } from "@preact/signals";
import { ATTRIBUTES_NAME, searchTarget } from "../../shared/search/search_fields.ts";
import { requestJson } from "../api/request.ts";
import { searched, table } from "./log_address.ts";
import { type Asked, asked, type Failure, failureOf, joinSearch } from "./log_state.ts";
import { areFieldsShown } from "./view_choices.ts";
import { refreshed } from "./refreshed.ts";

/** A field: docs/api/query.md#fields. */
export interface FieldInfo {
  /** The name in a search: an attribute beside a column of its name is `attributes.x`. */
  readonly name: string;
  readonly kind: "column" | "attribute";
  readonly type: string;
  /** Rows that have it. */
  readonly rows: number;
  readonly rowsExact: boolean;
  /** How many values it has; null: not known. */
  readonly distinct: number | null;
  readonly distinctExact: boolean;
}

/** Where figures of fields come from; `sampleRows` are the newest rows that were looked at. */
export interface FieldSource {
  readonly rows: number;
  readonly rowsExact: boolean;
  readonly answeredFrom: "summaries" | "sample";
  readonly sampleRows: number | null;
}

export interface FieldList extends FieldSource {
  readonly fields: readonly FieldInfo[];
}

export interface FieldValues extends FieldSource {
  readonly name: string;
  readonly values: readonly {
    readonly value: string;
    readonly rows: number;
    readonly share: number;
  }[];
  readonly distinct: number | null;
}

const VALUES_MAX = 10;
const COMPLETIONS_MAX = 20;

export const fieldList = signal<FieldList | undefined>(undefined);
export const fieldListFailure = signal<Failure | undefined>(undefined);

joinSearch((now) => areFieldsShown.peek() ? loadFields(now) : Promise.resolve());

// The list may be opened after the search.
effect(() => {
  const now = asked.peek();
  if (areFieldsShown.value && fieldList.peek() === undefined && now !== undefined) loadFields(now);
});

async function loadFields(now: Asked): Promise<void> {
  // After Stop the list may still be opened.
  const signal = now.signal.aborted ? refreshed("fields") : now.signal;
  fieldListFailure.value = undefined;
  try {
    const list = await askFields(now, { search: searched.peek(), signal });
    fieldList.value = list;
  } catch (error) {
    if (!signal.aborted) fieldListFailure.value = failureOf(error);
  }
}

async function askFields(
  { query, known }: Asked,
  { search, signal }: { readonly search: string; readonly signal: AbortSignal },
): Promise<FieldList> {
  const path = `fields?${paramsOf(query.instants, search)}`;
  const list = await requestJson(path, { signal }) as FieldList;
  const fields = list.fields.map((field) => {
    const isHidden = field.kind === "attribute" &&
      ["column", "text"].includes(searchTarget(field.name, known).kind);
    return isHidden ? { ...field, name: `${ATTRIBUTES_NAME}.${field.name}` } : field;
  });
  return { ...list, fields };
}

/** Asks the most frequent values of a field. Errors: `RequestError`; the signal's reason. */
export async function valuesOf(
  name: string,
  { now, prefix = "", signal, isCompletion = false }: {
    readonly now: Asked;
    readonly prefix?: string;
    readonly signal: AbortSignal;
    /** Values of all rows in the range, not of those that are found. */
    readonly isCompletion?: boolean;
  },
): Promise<FieldValues> {
  const params = paramsOf(now.query.instants, isCompletion ? "" : searched.peek());
  params.set("limit", String(isCompletion ? COMPLETIONS_MAX : VALUES_MAX));
  if (prefix !== "") params.set("prefix", prefix);
  const path = `fields/${encodeURIComponent(askedName(name, now))}/values?${params}`;
  return await requestJson(path, { signal }) as FieldValues;
}

/** The name by which the server knows what a search calls so: `service` is the column `source`. */
function askedName(name: string, { known }: Asked): string {
  const target = searchTarget(name, known);
  if (target.kind === "column" || target.kind === "text") return target.column.name;
  return target.kind === "attribute" ? `${ATTRIBUTES_NAME}.${target.name}` : name;
}

let namesOf: { readonly key: string; readonly names: Promise<readonly FieldInfo[]> } | undefined;

/** Names of all fields in the range, whatever is searched: asked once for a range. */
export function allFields(now: Asked): Promise<readonly FieldInfo[]> {
  const key = String(paramsOf(now.query.instants, ""));
  if (namesOf?.key !== key) {
    const names = askFields(now, { search: "", signal: refreshed("names") })
      .then(({ fields }) => fields);
    namesOf = { key, names };
    names.catch(() => namesOf = undefined);
  }
  return namesOf.names;
}

function paramsOf(
  { from, to }: Asked["query"]["instants"],
  search: string,
): URLSearchParams {
  return new URLSearchParams({
    table: table.peek(),
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    ...(search === "" ? {} : { search }),
  });
}
