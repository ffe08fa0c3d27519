import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { completeSql, type SqlNames } from "./complete_sql.ts";

const NAMES: SqlNames = {
  tables: [
    {
      name: "events",
      detail: "on the server",
      columns: [{ name: "raw", type: "VARCHAR" }, { name: "Odd name", type: "BIGINT" }],
      attributes: [{ name: "it's", type: "text" }, { name: "$.cart.id", type: "text" }],
    },
    { name: "traces", detail: "", columns: [{ name: "span_id", type: "VARCHAR" }], attributes: [] },
    { name: "local.hits", detail: "", columns: [{ name: "code", type: "BIGINT" }], attributes: [] },
  ],
  functions: [{ name: "log_pattern", calls: ["text"], text: "The shape." }],
};

/** Completes at `|`; options as what they write. */
function complete(text: string): readonly string[] | undefined {
  const at = text.indexOf("|");
  const found = completeSql(text.replace("|", ""), at, NAMES);
  return found?.options.map(({ apply }) =>
    `${text.slice(0, found.from)}${apply}`.slice(found.from)
  );
}

const ATTRIBUTE = "attr_get(attributes, 'it''s')";

Deno.test("completeSql offers what fits the place", () => {
  const tables = ["events", "traces", "local.hits"];
  const nested = "(attributes ->> '$.cart.id')";
  const ofEvents = ["raw", '"Odd name"', ATTRIBUTE, nested, "log_pattern("];
  const cases: readonly (readonly [string, readonly string[] | undefined])[] = [
    ["SELECT * FROM |", tables],
    ["SELECT * FROM ev|", tables],
    ["SELECT * FROM events, |", tables],
    ["SELECT * FROM events e JOIN | ON true", tables],
    ["SELECT | FROM events", ofEvents],
    ["SELECT a, r|", ofEvents],
    ["SELECT | FROM traces", ["span_id", "log_pattern("]],
    ["SELECT e.| FROM events AS e", ["raw", '"Odd name"']],
    ["SELECT * FROM local.|", ["hits"]],
    ["SELECT hits.| FROM local.hits AS hits", ["code"]],
    ["SELECT attr_get(attributes, '|') FROM events", ["it''s"]],
    ["SELECT attr_get(attributes, 'i|", ["it''s"]],
    ["SELECT 'te|xt' FROM events", undefined],
    ["SELECT raw -- comm|", undefined],
    ["SELECT raw AS n|", undefined],
  ];
  for (const [text, options] of cases) deepStrictEqual(complete(text), options, text);
});

Deno.test("completeSql replaces the word that is begun", () => {
  const found = completeSql("SELECT log_p", 12, NAMES);
  strictEqual(found?.from, 7);
  ok(found.options.some((option) => option.function?.text === "The shape."));
});
