/**
 * The configuration of a managed index (docs/api/query.md#index-configuration): read from outside
 * once, here, into what every other part takes as good.
 *
 * Names are compared without case: SQL finds a column whatever its case.
 */

import { z } from "zod";
import { OperatingError } from "../base/errors.ts";
import { givenValue, ruleOf, whichIs } from "../base/given_value.ts";
import { BUILT_IN_TABLES } from "./built_in_tables.ts";
import {
  COLUMN_TYPE_OF,
  coreColumn,
  type DocMapping,
  FIELD_TYPES,
  type FieldMapping,
  FIELDS_MAX,
  type IndexConfig,
  MAPPING_MODES,
  TIMESTAMP_FIELD_DEFAULT,
  TOKENIZERS,
} from "./doc_mapping.ts";

const INDEX_ID = /^[a-z0-9][a-z0-9_-]{0,127}$/;
const FIELD_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const FIELD_NAME_LENGTH_MAX = 255;
/** A century: what is longer is a mistake in the unit. */
const RETENTION_SECS_MAX = 100 * 366 * 86_400;

/** Columns that the service fills itself: no document has a member for them. */
const OWN_COLUMNS: ReadonlySet<string> = new Set(["timestamp_ns", "raw", "attributes"]);

const FIELD = z.strictObject({
  name: z.string(),
  type: z.enum(FIELD_TYPES),
  required: z.boolean().default(false),
  tokenizer: z.enum(TOKENIZERS).exactOptional(),
});

const DOC_MAPPING = z.strictObject({
  mode: z.enum(MAPPING_MODES).default("dynamic"),
  timestamp_field: z.string().default(TIMESTAMP_FIELD_DEFAULT),
  field_mappings: z.array(FIELD).default([]),
  tag_fields: z.array(z.string()).default([]),
  default_search_fields: z.array(z.string()).default([]),
});

/** What an index and a template share. */
export const MAPPED = {
  doc_mapping: DOC_MAPPING,
  retention: z.strictObject({
    period_secs: z.int().min(1).max(RETENTION_SECS_MAX),
    exact: z.boolean().exactOptional(),
  }).exactOptional(),
  index_at_flush: z.boolean().default(true),
} as const;

const INDEX = z.strictObject({ index_id: z.string(), ...MAPPED });

/** A configuration that cannot be used, and where in it: a form shows the message there. */
export class ConfigRefusal extends OperatingError {
  /** Members from the top, for example `["doc_mapping", "field_mappings", 2, "type"]`. */
  readonly path: readonly PropertyKey[];

  constructor(message: string, { reason, path }: {
    readonly reason: string;
    readonly path: readonly PropertyKey[];
  }) {
    super("invalid_argument", message, { reason });
    this.path = path;
  }
}

/** Errors: `ConfigRefusal` (`invalid_index`) that names the member, its value and the rule. */
export function parseIndexConfig(value: unknown): IndexConfig {
  const config = shaped(value);
  checkIndexId(config.index_id);
  checkMapping(config.doc_mapping);
  return config;
}

/**
 * One that the catalog holds: a template makes it for whatever name rows were sent to,
 * `app-2026.11.20` as well. Errors: those of `parseIndexConfig`.
 */
export function parseStoredConfig(value: unknown): IndexConfig {
  const config = shaped(value);
  checkMapping(config.doc_mapping);
  return config;
}

function shaped(value: unknown): IndexConfig {
  const parsed = INDEX.safeParse(value);
  if (!parsed.success) throw refusalOf("index configuration", parsed.error.issues, value);
  return parsed.data;
}

/** Errors: `invalid_argument`. */
export function checkIndexId(id: string): void {
  if (!INDEX_ID.test(id)) {
    throw invalid(`index_id ${quoted(id)}: it must match ${INDEX_ID.source}`, ["index_id"]);
  }
  if (BUILT_IN_TABLES.has(id)) {
    throw invalid(`index_id ${quoted(id)}: the service has a table of that name; choose another`, [
      "index_id",
    ]);
  }
}

/** What the shape alone does not tell. Errors: `invalid_argument`. */
export function checkMapping(mapping: DocMapping): void {
  const { field_mappings: fields } = mapping;
  if (fields.length > FIELDS_MAX) {
    throw invalid(
      `doc_mapping.field_mappings with ${fields.length} fields: ${FIELDS_MAX} are allowed`,
      FIELDS_PATH,
    );
  }
  const seen = new Set<string>();
  for (const [at, field] of fields.entries()) {
    checkField(field, [...FIELDS_PATH, at]);
    const name = field.name.toLowerCase();
    if (seen.has(name)) {
      throw invalid(
        `field ${quoted(field.name)} twice: names must differ in more than their case`,
        [...FIELDS_PATH, at, "name"],
      );
    }
    seen.add(name);
  }
  checkTimestampField(mapping);
  for (const tag of mapping.tag_fields) requireField(mapping, "tag_fields", tag);
  for (const name of mapping.default_search_fields) {
    const field = requireField(mapping, "default_search_fields", name);
    if (field.type === "text") continue;
    throw invalid(
      `doc_mapping.default_search_fields with ${quoted(name)}: it is ${field.type}, not text`,
      ["doc_mapping", "default_search_fields"],
    );
  }
}

const FIELDS_PATH = ["doc_mapping", "field_mappings"];

function checkField(
  { name, type, tokenizer }: FieldMapping,
  path: readonly PropertyKey[],
): void {
  const atName = [...path, "name"];
  if (!FIELD_NAME.test(name) || name.length > FIELD_NAME_LENGTH_MAX) {
    throw invalid(
      `field name ${quoted(name)}: it must match ${FIELD_NAME.source} and have at most ` +
        `${FIELD_NAME_LENGTH_MAX} characters`,
      atName,
    );
  }
  if (tokenizer !== undefined && type !== "text") {
    throw invalid(
      `tokenizer ${quoted(tokenizer)} of field ${quoted(name)}: it is ${type}, not text`,
      [...path, "tokenizer"],
    );
  }
  if (OWN_COLUMNS.has(name.toLowerCase())) {
    const why = "the service fills a column of that name itself";
    throw invalid(`field name ${quoted(name)}: ${why}`, atName);
  }
  const core = coreColumn(name);
  if (core === undefined) return;
  if (core.name !== name) {
    const why = `every index has a column ${core.name}; write it so`;
    throw invalid(`field name ${quoted(name)}: ${why}`, atName);
  }
  if (core.type !== COLUMN_TYPE_OF[type]) {
    const fit = FIELD_TYPES.find((known) => COLUMN_TYPE_OF[known] === core.type);
    throw invalid(`type ${type} of field ${quoted(name)}: every index has it as ${fit}`, [
      ...path,
      "type",
    ]);
  }
}

function checkTimestampField(mapping: DocMapping): void {
  const name = mapping.timestamp_field;
  const field = mapping.field_mappings.find((one) => one.name === name);
  if (field?.type === "datetime" && field.required) return;
  const what = field === undefined
    ? "it is not declared"
    : field.type === "datetime"
    ? "it is not required"
    : `it is ${field.type}`;
  throw invalid(
    `doc_mapping.timestamp_field ${quoted(name)}: ${what}; add ` +
      `{"name":${quoted(name)},"type":"datetime","required":true} to field_mappings`,
    ["doc_mapping", "timestamp_field"],
  );
}

function requireField(mapping: DocMapping, member: string, name: string): FieldMapping {
  const field = mapping.field_mappings.find((one) => one.name === name);
  if (field !== undefined) return field;
  throw invalid(`doc_mapping.${member} with ${quoted(name)}: field_mappings does not declare it`, [
    "doc_mapping",
    member,
  ]);
}

/** A refusal of `what`, which is `given`, by the first thing that is wrong with its shape. */
export function refusalOf(
  what: string,
  issues: readonly z.core.$ZodIssue[],
  given: unknown,
): ConfigRefusal {
  const [first] = issues;
  const path = first?.path ?? [];
  const where = path.length === 0
    ? `the ${what}`
    : `${path.map(String).join(".")} of the ${what}${whichIs(givenValue(given, path))}`;
  return new ConfigRefusal(`Cannot use ${where}: ${ruleOf(first?.message)}`, {
    reason: "invalid_index",
    path,
  });
}

function invalid(what: string, path: readonly PropertyKey[]): ConfigRefusal {
  return new ConfigRefusal(`Cannot use ${what}`, { reason: "invalid_index", path });
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 140 ? `${text.slice(0, 140)}…` : text);
}
