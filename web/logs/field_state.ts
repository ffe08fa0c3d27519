/** Fields of what was searched, and their most frequent values: asked when somebody looks. */

import { effect, signal } from "@preact/signals";
import { requestJson } from "../api/request.ts";
import { table } from "./log_address.ts";
import { type Asked, asked, type Failure, failureOf, joinSearch } from "./log_state.ts";
import { searched } from "./log_address.ts";
import { areFieldsShown } from "./view_choices.ts";
import { refreshed } from "./refreshed.ts";

/** A field: docs/api/query.md#fields. */
export interface FieldInfo {
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

async function loadFields({ query, signal }: Asked): Promise<void> {
  fieldListFailure.value = undefined;
  try {
    const params = paramsOf(query.instants, searched.peek());
    fieldList.value = await requestJson(`fields?${params}`, { signal }) as FieldList;
  } catch (error) {
    if (!signal.aborted) fieldListFailure.value = failureOf(error);
  }
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
  const path = `fields/${encodeURIComponent(name)}/values?${params}`;
  return await requestJson(path, { signal }) as FieldValues;
}

let namesOf: { readonly key: string; readonly names: Promise<readonly FieldInfo[]> } | undefined;

/** Names of all fields in the range, whatever is searched: asked once for a range. */
export function allFields(now: Asked): Promise<readonly FieldInfo[]> {
  const params = paramsOf(now.query.instants, "");
  const key = `${table.peek()} ${params}`;
  if (namesOf?.key !== key) {
    const names = requestJson(`fields?${params}`, { signal: refreshed("names") })
      .then((list) => (list as FieldList).fields);
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
