/** The rules of docs/api/query.md#index-configuration, one line each. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "./events.ts";
import { type DocMapping, FIELDS_MAX } from "./doc_mapping.ts";
import { ConfigRefusal, parseIndexConfig } from "./index_config.ts";
import { checkUpdate, indexSchema } from "./index_schema.ts";
import { matchesPattern, parseIndexTemplate, templateFor } from "./index_template.ts";

const TIME = { name: "timestamp", type: "datetime", required: true };

const GIVEN = {
  index_id: "app-logs",
  doc_mapping: {
    mode: "strict",
    timestamp_field: "timestamp",
    field_mappings: [
      TIME,
      { name: "status", type: "long" },
      { name: "message", type: "text", tokenizer: "stem", required: true },
    ],
    tag_fields: ["status"],
    default_search_fields: ["message"],
  },
  retention: { period_secs: 86_400, exact: true },
  index_at_flush: false,
};

Deno.test({
  name: "parseIndexConfig takes a whole configuration and fills what may be left out",
  fn() {
    const parsed = parseIndexConfig(GIVEN);
    assert.equal(parsed.doc_mapping.mode, "strict");
    assert.deepEqual(parsed.retention, { period_secs: 86_400, exact: true });
    assert.deepEqual(parsed.doc_mapping.field_mappings[1], {
      name: "status",
      type: "long",
      required: false,
    });
    const least = parseIndexConfig({ index_id: "a", doc_mapping: { field_mappings: [TIME] } });
    assert.deepEqual(least, {
      index_id: "a",
      doc_mapping: {
        mode: "dynamic",
        timestamp_field: "timestamp",
        field_mappings: [TIME],
        tag_fields: [],
        default_search_fields: [],
      },
      index_at_flush: true,
    });
    assert.deepEqual(parseIndexConfig(parsed), parsed, "what is answered can be sent back");
  },
});

type Change = Record<string, unknown>;

const mapping = (change: Change): Change => ({
  doc_mapping: { ...GIVEN.doc_mapping, ...change },
});
const field = (added: Change): Change =>
  mapping({ field_mappings: [...GIVEN.doc_mapping.field_mappings, added] });

const PLACES: [change: Change, place: string][] = [
  [{ index_id: "App" }, "index_id"],
  [{ index_id: "events" }, "index_id"],
  [{ retention: { period_secs: 0 } }, "retention.period_secs"],
  [mapping({ timestamp_field: "ts" }), "doc_mapping.timestamp_field"],
  [mapping({ tag_fields: ["none"] }), "doc_mapping.tag_fields"],
  [mapping({ default_search_fields: ["status"] }), "doc_mapping.default_search_fields"],
  [field({ name: "a-b", type: "text" }), "doc_mapping.field_mappings.3.name"],
  [field({ name: "STATUS", type: "long" }), "doc_mapping.field_mappings.3.name"],
  [field({ name: "host", type: "long" }), "doc_mapping.field_mappings.3.type"],
  [
    field({ name: "n", type: "long", tokenizer: "stem" }),
    "doc_mapping.field_mappings.3.tokenizer",
  ],
];

for (const [change, place] of PLACES) {
  Deno.test({
    name: `parseIndexConfig refuses ${JSON.stringify(change).slice(0, 80)} at ${place}`,
    fn() {
      const refusal = (thrown: unknown) =>
        thrown instanceof ConfigRefusal && thrown.path.map(String).join(".") === place;
      assert.throws(() => parseIndexConfig({ ...GIVEN, ...change }), refusal);
    },
  });
}

const REFUSED: [change: Change, message: RegExp][] = [
  [{ index_id: "App" }, /index_id "App": it must match/],
  [{ index_id: "a.b" }, /must match/],
  [{ index_id: "x".repeat(129) }, /must match/],
  [{ index_id: "events" }, /the service has a table of that name/],
  [{ index_id: 5 }, /index_id of the index configuration, which is 5: expected string/],
  [{ colour: 1 }, /the index configuration: .*colour/],
  [mapping({ mode: "loose" }), /doc_mapping.mode of .*, which is "loose": expected one of/],
  [
    mapping({ timestamp_field: "ts" }),
    /timestamp_field "ts": it is not declared; add \{"name":"ts"/,
  ],
  [
    mapping({ field_mappings: [{ name: "timestamp", type: "datetime" }] }),
    /timestamp_field "timestamp": it is not required/,
  ],
  [mapping({ timestamp_field: "status" }), /timestamp_field "status": it is long/],
  [mapping({ tag_fields: ["none"] }), /tag_fields with "none"/],
  [mapping({ default_search_fields: ["none"] }), /default_search_fields with "none"/],
  [mapping({ default_search_fields: ["status"] }), /it is long, not text/],
  [field({ name: "a-b", type: "text" }), /field name "a-b"/],
  [field({ name: "1a", type: "text" }), /field name "1a"/],
  [field({ name: "a".repeat(256), type: "text" }), /at most 255/],
  [field({ name: "STATUS", type: "long" }), /field "STATUS" twice/],
  [field({ name: "ip", type: "ip" }), /field_mappings.3.type of .*, which is "ip"/],
  [
    field({ name: "n", type: "long", tokenizer: "raw" }),
    /tokenizer "raw" of field "n": it is long/,
  ],
  [field({ name: "attributes", type: "text" }), /the service fills a column of that name/],
  [field({ name: "raw", type: "text" }), /the service fills a column of that name/],
  [field({ name: "timestamp_ns", type: "long" }), /the service fills a column of that name/],
  [field({ name: "host", type: "long" }), /type long of field "host": every index has it as text/],
  [field({ name: "Host", type: "text" }), /every index has a column host; write it so/],
  [{ retention: { period_secs: 0 } }, /retention.period_secs of .*, which is 0/],
  [{ retention: { period_secs: 60, exact: "yes" } }, /retention.exact/],
  [
    mapping({
      field_mappings: [
        TIME,
        ...Array.from({ length: FIELDS_MAX }, (_, i) => ({ name: `f${i}`, type: "long" })),
      ],
    }),
    /with 257 fields: 256 are allowed/,
  ],
];

for (const [change, message] of REFUSED) {
  Deno.test({
    name: `parseIndexConfig refuses ${JSON.stringify(change).slice(0, 90)}`,
    fn() {
      assert.throws(() => parseIndexConfig({ ...GIVEN, ...change }), (error) => {
        assert.ok(isOperatingError(error, "invalid_argument"));
        assert.equal(error.reason, "invalid_index");
        assert.match(error.message, message);
        return true;
      });
    },
  });
}

Deno.test({
  name: "indexSchema has the columns of events, then one that may be null for each other field",
  fn() {
    const { doc_mapping } = parseIndexConfig(GIVEN);
    const schema = indexSchema(doc_mapping);
    assert.deepEqual(schema.columns.slice(0, 8), EVENTS_SCHEMA.columns);
    assert.deepEqual(
      schema.columns.slice(8).map(({ name, type, required }) => [name, type, required]),
      [["status", "long", false], ["message", "string", false]],
    );
    assert.deepEqual(schema.tags, ["host", "source", "sourcetype", "index", "status"]);
  },
});

Deno.test({
  name: "indexSchema gives a name the same id whatever stands beside it, and keeps the table's",
  fn() {
    const { doc_mapping } = parseIndexConfig(GIVEN);
    const reversed: DocMapping = {
      ...doc_mapping,
      field_mappings: doc_mapping.field_mappings.toReversed(),
    };
    const ids = (mapping: DocMapping) =>
      new Map(indexSchema(mapping).columns.map(({ name, id }) => [name, id]));
    assert.deepEqual(ids(reversed), ids(doc_mapping));
    const foreign = {
      columns: [
        ...EVENTS_SCHEMA.columns,
        { id: 9, name: "status", type: "long" as const, required: true },
      ],
      tags: [],
    };
    assert.deepEqual(indexSchema(doc_mapping, foreign).columns[8], foreign.columns[8]);
    const clash = {
      ...foreign,
      columns: foreign.columns.with(8, { ...foreign.columns[8], type: "string" } as never),
    };
    assert.throws(() => indexSchema(doc_mapping, clash), /"status" as string/);
  },
});

Deno.test({
  name: "indexSchema refuses two names that lead to one id",
  fn() {
    // Found by trying f0, f1, … in turn; without the check both would be one Iceberg column.
    const names = ["f6059", "f264602"];
    const fields = names.map((name) => ({ name, type: "long" as const, required: false }));
    const ids = fields.map((field) => indexSchema(mappingOf([field])).columns.at(-1)?.id);
    assert.equal(ids[0], ids[1]);
    assert.throws(() => indexSchema(mappingOf(fields)), { message: /both names lead to one/ });
  },
});

function mappingOf(fields: DocMapping["field_mappings"]): DocMapping {
  return {
    mode: "dynamic",
    timestamp_field: "timestamp",
    field_mappings: fields,
    tag_fields: [],
    default_search_fields: [],
  };
}

const UPDATES: [change: Change, message: RegExp | undefined][] = [
  [{}, undefined],
  [{ mode: "lenient", tag_fields: [] }, undefined],
  [field({ name: "added", type: "double" }).doc_mapping as Change, undefined],
  [field({ name: "added", type: "double", required: true }).doc_mapping as Change, /as required/],
  [{ field_mappings: [TIME], tag_fields: [], default_search_fields: [] }, /without field "status"/],
  [
    {
      field_mappings: GIVEN.doc_mapping.field_mappings.with(1, { name: "status", type: "double" }),
    },
    /type double of field "status": it is long/,
  ],
  [
    {
      field_mappings: GIVEN.doc_mapping.field_mappings.with(2, {
        name: "message",
        type: "text",
        required: true,
      }),
    },
    /tokenizer unset of field "message": it is stem/,
  ],
];

for (const [change, message] of UPDATES) {
  Deno.test({
    name: `checkUpdate ${message === undefined ? "allows" : "refuses"} ${JSON.stringify(change)}`
      .slice(0, 110),
    fn() {
      const before = parseIndexConfig(GIVEN).doc_mapping;
      const after = parseIndexConfig({ ...GIVEN, ...mapping(change) }).doc_mapping;
      if (message === undefined) checkUpdate(before, after);
      else assert.throws(() => checkUpdate(before, after), { message, reason: "not_additive" });
    },
  });
}

const TEMPLATE = {
  template_id: "apps",
  index_id_patterns: ["app-*", "web?"],
  priority: 5,
  doc_mapping: { field_mappings: [TIME] },
};

Deno.test({
  name: "templateFor takes the highest priority, then the first id",
  fn() {
    const make = (template_id: string, priority: number, pattern: string) =>
      parseIndexTemplate({ ...TEMPLATE, template_id, priority, index_id_patterns: [pattern] });
    const templates = [make("b", 1, "*"), make("a", 1, "app-*"), make("c", 2, "app-x*")];
    assert.equal(templateFor(templates, "app-xy")?.template_id, "c");
    assert.equal(templateFor(templates, "app-y")?.template_id, "a");
    assert.equal(templateFor(templates, "other")?.template_id, "b");
    assert.equal(templateFor(templates.slice(1), "other"), undefined);
  },
});

const BAD_TEMPLATES: [change: Change, message: RegExp][] = [
  [{ template_id: "A" }, /template_id "A"/],
  [{ index_id_patterns: [] }, /index_id_patterns/],
  [{ index_id_patterns: ["A*"] }, /pattern "A\*"/],
  [{ priority: -1 }, /priority/],
  [{ colour: 1 }, /colour/],
  [{ doc_mapping: {} }, /timestamp_field "timestamp": it is not declared/],
];

for (const [change, message] of BAD_TEMPLATES) {
  Deno.test({
    name: `parseIndexTemplate refuses ${JSON.stringify(change)}`,
    fn: () => assert.throws(() => parseIndexTemplate({ ...TEMPLATE, ...change }), { message }),
  });
}

Deno.test({
  name: "matchesPattern agrees with a regular expression",
  fn() {
    const pattern = fc.string({ unit: fc.constantFrom("a", "b", "*", "?"), maxLength: 8 });
    const name = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(pattern, name, (glob, text) => {
        const source = glob.replaceAll("?", ".").replaceAll("*", ".*");
        assert.equal(matchesPattern(glob, text), new RegExp(`^${source}$`).test(text));
      }),
      { numRuns: 2_000 },
    );
  },
});
