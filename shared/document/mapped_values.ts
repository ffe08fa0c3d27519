/**
 * Members of a document, or attributes of a log record, as the values of a table's own columns. The
 * mapping's mode (`MappingMode`) decides what fits, or mode `dynamic` where there is no mapping.
 */

import { OperatingError } from "../base/errors.ts";
import type { JsonDocument } from "./document.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { DocMapping } from "../schema/doc_mapping.ts";
import type { Column, ColumnType } from "../schema/schema.ts";
import type { TableShape } from "../schema/table_shape.ts";
import { type TypedValue, typedValue } from "./typed_value.ts";

/** Stable reason of a refusal by mode `strict`. */
export const STRICT_MAPPING = "strict_mapping";

export interface MappedValues {
  /** Values of the shape's own columns, in their order. Undefined is null. */
  readonly values: readonly (TypedValue | undefined)[];
  /** Members that fill a column, so that they are no attributes. */
  readonly taken: ReadonlySet<string>;
}

/**
 * The columns that `events` does not have. Errors: `invalid_argument` when the shape lacks one of
 * those that it has.
 */
export function ownColumns({ schema }: TableShape): Column[] {
  for (const { id, name, type } of EVENTS_SCHEMA.columns) {
    const found = schema.columns.find((column) => column.id === id);
    if (found?.name === name && found.type === type) continue;
    throw new OperatingError(
      "invalid_argument",
      `Cannot store documents in a table without column ${name} of type ${type}: ` +
        "it has not the columns of events",
      { reason: "table_shape" },
    );
  }
  return schema.columns.filter(({ id }) => EVENTS_SCHEMA.columns.every((core) => core.id !== id));
}

/** Reads the columns' values, the same for every document of a batch. */
export class ValueMapper {
  readonly #columns: readonly Column[];
  readonly #names: ReadonlySet<string>;
  /** Names that a document must have: of the columns, and of fields that somebody configured so. */
  readonly required: ReadonlySet<string>;
  readonly #mode: DocMapping["mode"];

  constructor(columns: readonly Column[], mapping: DocMapping | undefined) {
    this.#columns = columns;
    this.#names = new Set(columns.map(({ name }) => name));
    this.#mode = mapping?.mode ?? "dynamic";
    const required = columns.filter((column) => column.required).map(({ name }) => name);
    const declared = mapping?.field_mappings.filter((field) => field.required) ?? [];
    this.required = new Set([...required, ...declared.map(({ name }) => name)]);
  }

  /** Errors: `invalid_argument` naming the member. */
  read(document: JsonDocument): MappedValues {
    let taken = this.#names;
    const values = this.#columns.map(({ name, type }) => {
      const value = Object.hasOwn(document, name) ? document[name] ?? undefined : undefined;
      if (value === undefined) {
        if (!this.required.has(name)) return undefined;
        throw misfit(`it lacks ${name}, which is required`);
      }
      const typed = typedValue(value, type);
      if (typed !== undefined) return typed;
      if (this.#mode !== "lenient" || this.required.has(name)) {
        throw misfit(`${name} is ${excerpt(value)}, not ${wanted(type)}`);
      }
      taken = new Set([...taken].filter((other) => other !== name));
      return undefined;
    });
    return { values, taken };
  }

  /**
   * Errors: `invalid_argument` (`strict_mapping`) when the mode forbids `attributes`, a JSON object
   * or null.
   */
  checkAttributes(attributes: string | null): void {
    if (this.#mode !== "strict" || attributes === null) return;
    const unmapped = Object.keys(JSON.parse(attributes)).filter((name) => name !== "_id");
    if (unmapped.length === 0) return;
    throw misfit(
      `the mapping is strict and does not name ${unmapped.slice(0, 5).map(quoted).join(", ")}`,
      STRICT_MAPPING,
    );
  }
}

/** In the words of an index configuration. */
function wanted(type: ColumnType): string {
  return type === "timestamptz"
    ? "datetime: RFC 3339 (UTC without a zone), or s, ms, µs or ns since 1970"
    : type;
}

function misfit(why: string, reason?: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot store the document: ${why}`,
    reason === undefined ? {} : { reason },
  );
}

function excerpt(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
