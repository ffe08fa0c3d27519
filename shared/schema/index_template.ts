/**
 * An index template (docs/api/query.md#index-templates): the configuration that an index gets when
 * a client writes to it before anybody made it.
 */

import { z } from "zod";
import type { DocMapping, IndexConfig, Retention } from "./doc_mapping.ts";
import { checkMapping, ConfigRefusal, MAPPED, refusalOf } from "./index_config.ts";

/** A configuration for indexes by their names. */
export interface IndexTemplate {
  readonly template_id: string;
  /**
   * `*` is any text, `?` any character; a name that one of them matches whole is the template's.
   */
  readonly index_id_patterns: readonly string[];
  /** The highest one that matches wins; of equals, the first by id. */
  readonly priority: number;
  readonly doc_mapping: DocMapping;
  readonly retention?: Retention;
  readonly index_at_flush: boolean;
}

const TEMPLATE_ID = /^[a-z0-9][a-z0-9_-]{0,127}$/;
const PATTERN = /^[a-z0-9*?][a-z0-9*?._-]{0,127}$/;
const PATTERNS_MAX = 64;
const PRIORITY_MAX = 1_000_000;

const TEMPLATE = z.strictObject({
  template_id: z.string(),
  index_id_patterns: z.array(z.string()).min(1).max(PATTERNS_MAX),
  priority: z.int().min(0).max(PRIORITY_MAX).default(0),
  ...MAPPED,
});

/** Errors: `ConfigRefusal` (`invalid_template`, or `invalid_index` of what it shares with one). */
export function parseIndexTemplate(value: unknown): IndexTemplate {
  const parsed = TEMPLATE.safeParse(value);
  if (!parsed.success) throw refusalOf("index template", parsed.error.issues, value);
  const template = parsed.data;
  if (!TEMPLATE_ID.test(template.template_id)) {
    throw invalid(
      `template_id ${JSON.stringify(template.template_id)}: it must match ${TEMPLATE_ID.source}`,
      "template_id",
    );
  }
  for (const pattern of template.index_id_patterns) {
    if (PATTERN.test(pattern)) continue;
    throw invalid(
      `pattern ${JSON.stringify(pattern)}: it must match ${PATTERN.source}, as index names do`,
      "index_id_patterns",
    );
  }
  checkMapping(template.doc_mapping);
  return template;
}

/** The template for an index that nobody made; undefined when none matches. */
export function templateFor(
  templates: readonly IndexTemplate[],
  index: string,
): IndexTemplate | undefined {
  let best: IndexTemplate | undefined;
  for (const template of templates) {
    if (!template.index_id_patterns.some((pattern) => matchesPattern(pattern, index))) continue;
    if (best === undefined || comesBefore(template, best)) best = template;
  }
  return best;
}

/** The configuration that an index of this name gets from the template. */
export function configOf(template: IndexTemplate, index: string): IndexConfig {
  const { doc_mapping, retention, index_at_flush } = template;
  return {
    index_id: index,
    doc_mapping,
    ...(retention === undefined ? {} : { retention }),
    index_at_flush,
  };
}

function comesBefore(a: IndexTemplate, b: IndexTemplate): boolean {
  return a.priority === b.priority ? a.template_id < b.template_id : a.priority > b.priority;
}

/** In time proportional to the product of the lengths, whatever the pattern. */
export function matchesPattern(pattern: string, name: string): boolean {
  let at = 0;
  let from = 0;
  let star = -1;
  let starFrom = 0;
  while (from < name.length) {
    if (pattern[at] === "*") {
      star = at;
      starFrom = from;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === "?" || pattern[at] === name[from])) {
      at += 1;
      from += 1;
    } else if (star >= 0) {
      at = star + 1;
      starFrom += 1;
      from = starFrom;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at += 1;
  return at === pattern.length;
}

function invalid(what: string, member: string): ConfigRefusal {
  return new ConfigRefusal(`Cannot use ${what}`, { reason: "invalid_template", path: [member] });
}
