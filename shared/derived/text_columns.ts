/** Which columns of a table have their words indexed (docs/api/tables.md#events). */

import type { DocMapping } from "../schema/doc_mapping.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TextColumn } from "./types.ts";

const RAW = "raw";
const NONE: ReadonlySet<string> = new Set();

/**
 * A table that nobody configured has `raw`, where it is shaped like `events`. An index has its text
 * fields, but for those whose tokenizer is `raw`. An index that declares none has its texts in the
 * column `raw`.
 */
export function textColumnsOf(schema: TableSchema, mapping: DocMapping | undefined): TextColumn[] {
  const fields = mapping?.field_mappings.filter(({ type }) => type === "text") ?? [];
  if (fields.length === 0) return hasRaw(schema) ? [{ name: RAW, tokenizer: "default" }] : [];
  return fields.flatMap(({ name, tokenizer = "default" }) =>
    tokenizer === "raw" ? [] : [{ name, tokenizer }]
  );
}

/** Names of the columns whose words are compared by their stems. */
export function stemmedColumns(mapping: DocMapping | undefined): ReadonlySet<string> {
  const names = mapping?.field_mappings.filter(({ tokenizer }) => tokenizer === "stem") ?? [];
  return names.length === 0 ? NONE : new Set(names.map(({ name }) => name));
}

function hasRaw({ columns }: TableSchema): boolean {
  return columns.some(({ name, type }) => name === RAW && type === "string");
}
