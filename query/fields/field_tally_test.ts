import { deepStrictEqual } from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { ATTRIBUTES_NAME } from "../../shared/search/search_fields.ts";
import { tally } from "./field_tally.ts";

const COLUMNS = EVENTS_SCHEMA.columns.filter(({ name }) => name === ATTRIBUTES_NAME);

for (
  const [what, type, texts, distinct] of [
    ["integers beyond 2^53", "integer", ["9007199254740993", "9007199254740992"], 2],
    ["numbers as they were sent", "integer", ["1", "1.0", "1"], 2],
    ["fractions", "number", ["1", "2.5", "2.5"], 2],
    ["texts and numbers alike", "text", ['"7"', "7"], 1],
    ["lists with numbers", "text", ["[1]", "[1.0]"], 2],
    ["truth values", "bool", ["true", "false", "true"], 2],
  ] as const
) {
  Deno.test(`tally counts the values that attr_get tells apart: ${what}`, () => {
    const rows = texts.map((text) => [`{"a":${text},"none":null}`]);
    const fields = tally({ columns: COLUMNS, texts: [] }, rows);
    deepStrictEqual(
      fields.map(({ name, type, rows, values }) => ({ name, type, rows, distinct: values.size })),
      [{ name: "a", type, rows: texts.length, distinct }],
    );
  });
}
