import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { FIELD_TYPES, MAPPING_MODES, TOKENIZERS } from "../../shared/schema/doc_mapping.ts";
import { parseIndexConfig } from "../../shared/schema/index_config.ts";
import { parseIndexTemplate } from "../../shared/schema/index_template.ts";
import {
  changeField,
  type ConfigDraft,
  draftOf,
  judgeDraft,
  newDraft,
  withField,
  withoutField,
} from "./config_draft.ts";
import { faultOf } from "./delete_fault.ts";

const NAME = fc.stringMatching(/^[a-z_][a-z0-9_]{3,8}$/);
const MAPPED = fc.record({
  doc_mapping: fc.uniqueArray(
    fc.record({
      name: NAME.map((name) => `f${name}`),
      type: fc.constantFrom(...FIELD_TYPES),
      required: fc.boolean(),
      tokenizer: fc.constantFrom(...TOKENIZERS.filter((one) => one !== "default")),
      isTag: fc.boolean(),
      isSearched: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 5 },
  ).chain((fields) =>
    fc.constantFrom(...MAPPING_MODES).map((mode) => ({
      mode,
      timestamp_field: "timestamp",
      field_mappings: [
        { name: "timestamp", type: "datetime", required: true },
        ...fields.map(({ name, type, required, tokenizer }) => ({
          ...{ name, type, required },
          ...(type === "text" ? { tokenizer } : {}),
        })),
      ],
      tag_fields: fields.filter(({ isTag }) => isTag).map(({ name }) => name),
      default_search_fields: fields.filter(({ isSearched, type }) => isSearched && type === "text")
        .map(({ name }) => name),
    }))
  ),
  index_at_flush: fc.boolean(),
  retention: fc.option(
    fc.record({ period_secs: fc.integer({ min: 1, max: 10 ** 9 }) }),
    { nil: undefined },
  ),
}).map(({ retention, ...rest }) => ({ ...rest, ...(retention ? { retention } : {}) }));

Deno.test({
  name: "a form that shows a configuration stands for just that configuration",
  fn() {
    fc.assert(fc.property(MAPPED, (mapped) => {
      const index = parseIndexConfig({ index_id: "app", ...mapped });
      deepStrictEqual(judgeDraft(draftOf(index), index), { config: index });
      const template = parseIndexTemplate({
        ...{ template_id: "t", index_id_patterns: ["a-*", "b?"], priority: 3 },
        ...mapped,
      });
      deepStrictEqual(judgeDraft(draftOf(template), template), { config: template });
    }));
  },
});

const INDEX = { ...newDraft("index"), id: "app" };
const TEMPLATE = { ...newDraft("template"), id: "t", patterns: "a-*" };

const FAULTS: readonly (readonly [place: string, draft: ConfigDraft])[] = [
  ["id", { ...INDEX, id: "App" }],
  ["id", { ...TEMPLATE, id: "" }],
  ["patterns", { ...TEMPLATE, patterns: " " }],
  ["patterns", { ...TEMPLATE, patterns: "a-* B" }],
  ["priority", { ...TEMPLATE, priority: "high" }],
  ["retention", { ...INDEX, retention: "x" }],
  ["retention", { ...INDEX, retention: "-1" }],
  ["timestampField", { ...INDEX, timestampField: "ts" }],
  ["fields.1.name", withField(INDEX)],
  ["fields.1.name", changeField(withField(INDEX), 1, { name: "Raw" })],
  ["fields.1.type", changeField(withField(INDEX), 1, { name: "host", type: "bool" })],
];

for (const [place, draft] of FAULTS) {
  Deno.test({
    name: `judgeDraft tells ${JSON.stringify(draft).slice(0, 60)} at ${place}`,
    fn() {
      const judged = judgeDraft(draft);
      ok("fault" in judged);
      strictEqual(judged.fault.place, place);
      match(judged.fault.message, /^Cannot use /);
    },
  });
}

Deno.test({
  name: "judgeDraft refuses an update that is not additive, and takes what was taken back",
  fn() {
    const before = parseIndexConfig({
      index_id: "app",
      doc_mapping: { field_mappings: [{ name: "timestamp", type: "datetime", required: true }] },
    });
    const wider = changeField(withField(draftOf(before)), 1, { name: "n", required: true });
    const refused = judgeDraft(wider, before);
    ok("fault" in refused);
    deepStrictEqual([refused.fault.place, /as required/.test(refused.fault.message)], ["", true]);
    deepStrictEqual(judgeDraft(withoutField(wider, 1), before), { config: before });
  },
});

Deno.test({
  name: "faultOf tells at which field a delete cannot be asked",
  fn() {
    const wish = { table: "t", predicate: "true", from: "", to: "" };
    const placeOf = (change: Partial<typeof wish>) => faultOf({ ...wish, ...change })?.place;
    deepStrictEqual(
      [
        placeOf({}),
        placeOf({ predicate: " " }),
        placeOf({ from: "2026-11-20" }),
        placeOf({ to: "2026-13-20T00:00:00Z" }),
        placeOf({ from: "2026-11-21T00:00:00Z", to: "2026-11-21T00:00:00+00:00" }),
        placeOf({ from: "2026-11-20T00:00:00.123456789Z", to: "2026-11-21T00:00:00Z" }),
      ],
      [undefined, "predicate", "from", "to", "to", undefined],
    );
  },
});
