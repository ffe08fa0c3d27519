import assert from "node:assert/strict";
import { present } from "../base/assert.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { parsePromotion, unaskedColumn, withPromoted } from "../schema/promoted.ts";
import type { Column, TableSchema } from "../schema/schema.ts";
import { planAttributeColumns, roomForAttributes } from "./attribute_columns.ts";
import type { AttributeCount } from "./count_attributes.ts";

/** Counts of 100 rows. */
function counted(name: string, count: Partial<AttributeCount>): AttributeCount {
  const { texts = 0 } = count;
  return {
    name,
    texts: 0,
    integers: 0,
    numbers: 0,
    textBytes: 8 * texts,
    distinctTexts: 4,
    ...count,
  };
}

const A_TEXT = present(unaskedColumn("a"));
const A_INTEGER = present(unaskedColumn("a", "integer"));
const A_NUMBER = present(unaskedColumn("a", "number"));

const CASES: readonly {
  readonly what: string;
  readonly has?: readonly Column[];
  readonly counts: readonly AttributeCount[];
  readonly max?: number;
  readonly wanted: readonly string[];
}[] = [
  {
    what: "the kind holds all values",
    counts: [
      counted("i", { integers: 9 }),
      counted("n", { integers: 4, numbers: 5 }),
      counted("t", { integers: 8, texts: 1 }),
    ],
    wanted: ["attributes.integer:i", "attributes.number:n", "attributes:t"],
  },
  {
    what: "a twentieth of the rows",
    counts: [counted("often", { texts: 5 }), counted("seldom", { texts: 4 })],
    wanted: ["attributes:often"],
  },
  {
    what: "one within objects beside one called alike",
    counts: [
      counted("user.id", { texts: 7 }),
      counted("$.user.id", { integers: 9 }),
      counted("$.user", { texts: 9 }),
      counted("$.user.two words", { texts: 9 }),
      counted(`$.${"long.".repeat(30)}er`, { texts: 9 }),
    ],
    wanted: ["attributes.integer:$.user.id", "attributes:user.id"],
  },
  {
    what: "the severity at once, ids never",
    counts: [
      counted("often", { texts: 99 }),
      ...["severity_text", "trace_id", "span_id"].map((name) => counted(name, { texts: 1 })),
    ],
    wanted: ["attributes:severity_text", "attributes:often"],
  },
  {
    what: "the most frequent first, as many as there is room for",
    counts: ["x", "z", "y"].map((name, at) => counted(name, { integers: 50 + at })),
    max: 2,
    wanted: ["attributes.integer:y", "attributes.integer:z"],
  },
  { what: "none", counts: [counted("x", { texts: 99 })], max: 0, wanted: [] },
  {
    what: "no long texts, no ids of single rows",
    counts: [
      counted("stack", { texts: 50, textBytes: 50 * 257 }),
      counted("request", { texts: 64, textBytes: 64 * 16, distinctTexts: 60 }),
      counted("user", { texts: 64, textBytes: 64 * 16, distinctTexts: 59 }),
      counted("short", { texts: 64, textBytes: 64 * 15, distinctTexts: 64 }),
    ],
    wanted: ["attributes:short", "attributes:user"],
  },
  {
    what: "names that are no good, and one in other letters",
    counts: ["", "é", 'q"', "a b", "User", "user"].map((name, at) =>
      counted(name, { texts: 90 - at })
    ),
    wanted: ["attributes:User"],
  },
  {
    what: "a text column holds every kind",
    has: [A_TEXT],
    counts: [counted("a", { texts: 9, integers: 50, numbers: 20 })],
    wanted: [],
  },
  {
    what: "numbers hold integers",
    has: [A_NUMBER],
    counts: [counted("a", { integers: 50, numbers: 20, texts: 4 })],
    wanted: [],
  },
  {
    what: "what does not fit gets a second one",
    has: [A_INTEGER],
    counts: [counted("a", { integers: 50, numbers: 5 })],
    wanted: ["attributes.number:a"],
  },
  {
    what: "what an operator asked for serves",
    has: [parsePromotion("a:string")],
    counts: [counted("a", { texts: 50 })],
    wanted: [],
  },
];

for (const { what, has = [], counts, max = 64, wanted } of CASES) {
  Deno.test(`planAttributeColumns: ${what}`, () => {
    const schema = withPromoted(EVENTS_SCHEMA, has);
    const columns = planAttributeColumns(schema, { rows: 100, attributes: counts }, max);
    assert.deepEqual(columns.map(({ name }) => name), wanted);
  });
}

Deno.test("roomForAttributes counts no column that an operator asked for, and none without attributes", () => {
  const schema = withPromoted(EVENTS_SCHEMA, [A_TEXT, parsePromotion("b:int")]);
  assert.deepEqual([3, 1, 0].map((max) => roomForAttributes(schema, max)), [2, 0, 0]);
  const bare: TableSchema = {
    columns: EVENTS_SCHEMA.columns.filter(({ name }) => name !== "attributes"),
    tags: [],
  };
  assert.equal(roomForAttributes(bare, 64), 0);
});
