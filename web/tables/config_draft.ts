/**
 * What the form of an index or a template holds, and the configuration that it stands for. The
 * configuration is judged by the server's own rules (shared/schema), so that what the form lets
 * through is what the server takes.
 */

import "./no_eval.ts";
import {
  type FieldType,
  type IndexConfig,
  type MappingMode,
  TIMESTAMP_FIELD_DEFAULT,
  type TokenizerName,
} from "../../shared/schema/doc_mapping.ts";
import { ConfigRefusal, parseIndexConfig } from "../../shared/schema/index_config.ts";
import { checkUpdate, indexSchema } from "../../shared/schema/index_schema.ts";
import { type IndexTemplate, parseIndexTemplate } from "../../shared/schema/index_template.ts";

export interface FieldDraft {
  readonly name: string;
  readonly type: FieldType;
  readonly required: boolean;
  readonly tokenizer: TokenizerName;
  readonly isTag: boolean;
  readonly isSearched: boolean;
  /** Whether the index has it already: then it stays as it is. */
  readonly isStored: boolean;
}

export const RETENTION_UNITS = { days: 86_400, hours: 3_600, seconds: 1 } as const;
export type RetentionUnit = keyof typeof RETENTION_UNITS;

export interface ConfigDraft {
  readonly kind: "index" | "template";
  readonly id: string;
  readonly mode: MappingMode;
  readonly timestampField: string;
  readonly fields: readonly FieldDraft[];
  /** Empty: rows stay for ever. */
  readonly retention: string;
  readonly retentionUnit: RetentionUnit;
  readonly isExact: boolean;
  readonly indexesAtFlush: boolean;
  /** Patterns of a template, with blanks or commas between them. */
  readonly patterns: string;
  readonly priority: string;
}

const NEW_FIELD: FieldDraft = {
  ...{ name: "", type: "text", required: false, tokenizer: "default" },
  ...{ isTag: false, isSearched: false, isStored: false },
};

/** A form that nothing was typed into. */
export function newDraft(kind: ConfigDraft["kind"]): ConfigDraft {
  return {
    kind,
    ...{ id: "", mode: "dynamic", timestampField: TIMESTAMP_FIELD_DEFAULT },
    fields: [{ ...NEW_FIELD, name: TIMESTAMP_FIELD_DEFAULT, type: "datetime", required: true }],
    ...{ retention: "", retentionUnit: "days", isExact: false, indexesAtFlush: true },
    ...{ patterns: "", priority: "0" },
  };
}

/** The form of what there is. Fields of an index stay; a template may change them. */
export function draftOf(config: IndexConfig | IndexTemplate): ConfigDraft {
  const isIndex = "index_id" in config;
  const { doc_mapping: mapping, retention } = config;
  const unit = (Object.entries(RETENTION_UNITS) as [RetentionUnit, number][])
    .find(([, secs]) => (retention?.period_secs ?? 0) % secs === 0)?.[0] ?? "seconds";
  return {
    kind: isIndex ? "index" : "template",
    id: isIndex ? config.index_id : config.template_id,
    mode: mapping.mode,
    timestampField: mapping.timestamp_field,
    fields: mapping.field_mappings.map(({ name, type, required, tokenizer = "default" }) => ({
      ...{ name, type, required, tokenizer },
      isTag: mapping.tag_fields.includes(name),
      isSearched: mapping.default_search_fields.includes(name),
      isStored: isIndex,
    })),
    retention: retention === undefined ? "" : String(retention.period_secs / RETENTION_UNITS[unit]),
    retentionUnit: unit,
    isExact: retention?.exact ?? false,
    indexesAtFlush: config.index_at_flush,
    patterns: isIndex ? "" : config.index_id_patterns.join(" "),
    priority: isIndex ? "0" : String(config.priority),
  };
}

export function withField(draft: ConfigDraft): ConfigDraft {
  return { ...draft, fields: [...draft.fields, NEW_FIELD] };
}

export function withoutField(draft: ConfigDraft, at: number): ConfigDraft {
  return { ...draft, fields: draft.fields.filter((_, index) => index !== at) };
}

export function changeField(
  draft: ConfigDraft,
  at: number,
  change: Partial<FieldDraft>,
): ConfigDraft {
  const fields = draft.fields.map((field, index) => index === at ? { ...field, ...change } : field);
  return { ...draft, fields };
}

/** What is wrong; `place` is where in the form: `fields.2.name`, `id`, or empty for nowhere. */
export interface DraftFault {
  readonly place: string;
  readonly message: string;
}

export type JudgedDraft =
  | { readonly config: IndexConfig | IndexTemplate }
  | { readonly fault: DraftFault };

/** The configuration, or the first thing that is wrong. `before` is what an update changes. */
export function judgeDraft(draft: ConfigDraft, before?: IndexConfig | IndexTemplate): JudgedDraft {
  try {
    const config = draft.kind === "index"
      ? parseIndexConfig({ index_id: draft.id, ...membersOf(draft) })
      : parseIndexTemplate({
        template_id: draft.id,
        index_id_patterns: draft.patterns.split(/[\s,]+/).filter((one) => one !== ""),
        priority: numberOf(draft.priority),
        ...membersOf(draft),
      });
    if (before !== undefined && "index_id" in before) {
      checkUpdate(before.doc_mapping, config.doc_mapping);
    }
    indexSchema(config.doc_mapping);
    return { config };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const place = error instanceof ConfigRefusal ? placeOf(error.path) : "";
    return { fault: { place, message: error.message } };
  }
}

function membersOf(draft: ConfigDraft): Readonly<Record<string, unknown>> {
  const { fields, retention, retentionUnit, isExact } = draft;
  const named = (holds: (field: FieldDraft) => boolean) =>
    fields.filter(holds).map(({ name }) => name);
  return {
    doc_mapping: {
      mode: draft.mode,
      timestamp_field: draft.timestampField,
      field_mappings: fields.map(({ name, type, required, tokenizer }) => ({
        ...{ name, type, required },
        ...(type === "text" && tokenizer !== "default" ? { tokenizer } : {}),
      })),
      tag_fields: named(({ isTag }) => isTag),
      default_search_fields: named(({ isSearched, type }) => isSearched && type === "text"),
    },
    ...(retention.trim() === "" ? {} : {
      retention: {
        period_secs: numberOf(retention) * RETENTION_UNITS[retentionUnit],
        ...(isExact ? { exact: true } : {}),
      },
    }),
    index_at_flush: draft.indexesAtFlush,
  };
}

/** NaN for what is no number: the rules refuse that. */
function numberOf(text: string): number {
  return text.trim() === "" ? NaN : Number(text);
}

const PLACES: Readonly<Record<string, string>> = {
  index_id: "id",
  template_id: "id",
  index_id_patterns: "patterns",
  priority: "priority",
  retention: "retention",
  "doc_mapping.timestamp_field": "timestampField",
  "doc_mapping.mode": "mode",
};

function placeOf(path: readonly PropertyKey[]): string {
  const text = path.map(String).join(".");
  const field = /^doc_mapping\.field_mappings\.(\d+)(?:\.(\w+))?$/.exec(text);
  if (field !== null) return `fields.${field[1]}.${field[2] ?? "name"}`;
  const isWithin = (member: string) => text === member || text.startsWith(`${member}.`);
  return Object.entries(PLACES).find(([member]) => isWithin(member))?.[1] ?? "";
}
