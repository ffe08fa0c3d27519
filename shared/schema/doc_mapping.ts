/**
 * What is declared of an index: its fields, and how long it keeps rows. Imports little, because
 * threads that write files load it; `index_config.ts` reads it from outside.
 */

import { EVENTS_SCHEMA } from "./events.ts";
import type { ColumnType } from "./schema.ts";

/**
 * What becomes of a document's member that the mapping does not name, or whose value does not fit
 * its type. `dynamic` keeps the first among the attributes and refuses the second, `lenient` keeps
 * both there, `strict` refuses both.
 */
export const MAPPING_MODES = ["dynamic", "lenient", "strict"] as const;
export type MappingMode = typeof MAPPING_MODES[number];

export const FIELD_TYPES = ["datetime", "text", "long", "double", "bool"] as const;
export type FieldType = typeof FIELD_TYPES[number];

export const TOKENIZERS = ["default", "raw", "stem"] as const;
export type TokenizerName = typeof TOKENIZERS[number];

/** A declared field: its type, and how it is read and indexed. */
export interface FieldMapping {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
  /** The tokenizer of a text field. */
  readonly tokenizer?: TokenizerName;
}

/** The declared fields of an index, and what becomes of other members. */
export interface DocMapping {
  readonly mode: MappingMode;
  /** The declared field that holds a row's time. */
  readonly timestamp_field: string;
  readonly field_mappings: readonly FieldMapping[];
  readonly tag_fields: readonly string[];
  readonly default_search_fields: readonly string[];
}

/** How long an index keeps rows. */
export interface Retention {
  readonly period_secs: number;
  /**
   * Rows go one by one, out of files that are written anew: default false, a file goes when all of
   * its rows may.
   */
  readonly exact?: boolean;
}

/** The configuration of one index, as the catalog holds it. */
export interface IndexConfig {
  readonly index_id: string;
  readonly doc_mapping: DocMapping;
  readonly retention?: Retention;
  readonly index_at_flush: boolean;
}

export const FIELDS_MAX = 256;
export const TIMESTAMP_FIELD_DEFAULT = "timestamp";

export const COLUMN_TYPE_OF: Readonly<Record<FieldType, ColumnType>> = {
  datetime: "timestamptz",
  text: "string",
  long: "long",
  double: "double",
  bool: "bool",
};

/** The column of that name, whatever its case, that every index has. */
export function coreColumn(name: string) {
  const lower = name.toLowerCase();
  return EVENTS_SCHEMA.columns.find((column) => column.name === lower);
}
