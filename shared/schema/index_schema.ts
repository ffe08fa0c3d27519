/**
 * The columns of a managed index: those of `events`, then one per declared field that is none of
 * them.
 *
 * A field's column has an id that follows from its name. So the ingest server, the drain and the
 * query server agree on it before the table is there, without talking to each other. Each such
 * column may be null, also that of a required field. That a value is there is checked when a
 * document arrives, and a later mapping cannot make stored rows invalid.
 */

import { OperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "./events.ts";
import { COLUMN_TYPE_OF, coreColumn, type DocMapping, type FieldMapping } from "./doc_mapping.ts";
import type { Column, TableSchema } from "./schema.ts";

/** Other writers number the columns that they add from the largest id on: room is left for them. */
const FIELD_ID_MIN = 1_000;
const FIELD_ID_SPAN = 2 ** 30;

/**
 * The columns for `mapping`; `before` are those that the table already has, which stay as they are.
 * Errors: `invalid_argument` when a column of `before` has another type than its field, and when
 * two names lead to one id.
 */
export function indexSchema(
  mapping: DocMapping,
  before: TableSchema = EVENTS_SCHEMA,
): TableSchema {
  const columns: Column[] = [...before.columns];
  for (const field of mapping.field_mappings) {
    if (coreColumn(field.name) !== undefined) continue;
    const known = columns.find((column) => sameName(column.name, field.name));
    if (known === undefined) {
      columns.push(columnOf(field, columns));
    } else if (known.name !== field.name || known.type !== COLUMN_TYPE_OF[field.type]) {
      throw notAdditive(
        `field ${JSON.stringify(field.name)} as ${field.type}: the table has ` +
          `${JSON.stringify(known.name)} as ${known.type}`,
      );
    }
  }
  return {
    columns,
    tags: [...new Set([...EVENTS_SCHEMA.tags, ...mapping.tag_fields])],
    ...(before.promoted === undefined ? {} : { promoted: before.promoted }),
  };
}

/**
 * Refuses an update that would change what stored rows mean. Errors: `invalid_argument`
 * (`not_additive`) for a field that is gone, has changed, or is new and required, and for another
 * `timestamp_field`.
 */
export function checkUpdate(before: DocMapping, after: DocMapping): void {
  if (before.timestamp_field !== after.timestamp_field) {
    throw notAdditive(
      `timestamp_field ${JSON.stringify(after.timestamp_field)}: it is ` +
        `${JSON.stringify(before.timestamp_field)} and rows are stored by it`,
    );
  }
  const later = new Map(after.field_mappings.map((field) => [field.name, field]));
  for (const field of before.field_mappings) {
    const kept = later.get(field.name);
    if (kept === undefined) {
      throw notAdditive(`a mapping without field ${JSON.stringify(field.name)}: fields stay`);
    }
    for (const member of ["type", "required", "tokenizer"] as const) {
      if (kept[member] === field[member]) continue;
      throw notAdditive(
        `${member} ${kept[member] ?? "unset"} of field ${JSON.stringify(field.name)}: it is ` +
          `${field[member] ?? "unset"}`,
      );
    }
    later.delete(field.name);
  }
  for (const field of later.values()) {
    if (!field.required) continue;
    throw notAdditive(
      `the new field ${JSON.stringify(field.name)} as required: rows stored before lack it`,
    );
  }
}

function columnOf({ name, type }: FieldMapping, others: readonly Column[]): Column {
  const id = fieldIdOf(name);
  const other = others.find((column) => column.id === id);
  if (other === undefined) return { id, name, type: COLUMN_TYPE_OF[type], required: false };
  throw new OperatingError(
    "invalid_argument",
    `Cannot store field ${JSON.stringify(name)} beside ${JSON.stringify(other.name)}: ` +
      "both names lead to one column id; rename one of them",
    { reason: "invalid_index" },
  );
}

/**
 * Id of the column that a name gets in every table: 32-bit FNV-1a of the lower-cased name, into the
 * span.
 */
export function fieldIdOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name.toLowerCase())) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return FIELD_ID_MIN + hash % FIELD_ID_SPAN;
}

function sameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

function notAdditive(what: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot change the index to ${what}; an update may only append nullable fields`,
    { reason: "not_additive" },
  );
}
