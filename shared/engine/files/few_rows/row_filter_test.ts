/** What DuckDB says of a condition of a text is what the filter lets through, or less. */

import assert from "node:assert/strict";
import type { Column } from "../../../schema/schema.ts";
import { EngineLab } from "../../../testing/engine_lab.ts";
import { quoteText } from "../../duckdb/statement_text.ts";
import type { Leaf } from "../../pruning/predicate.ts";
import { conditionColumns, rowFilter, textFilter } from "./row_filter.ts";

const TEXT: Column = { id: 1, name: "t", type: "string", required: false };
const TEXTS = [
  ...["", "error", "Error: refused", "ERRORS", "terror", "an error_code", "İstanbul", "istanbul"],
  ...["straße", "STRASSE", "ΣΑΣ", "σας", "\u212Aelvin", "kelvin", "ſharp", "sharp", "a%b_c", "a-b"],
  ...["connection refused by peer", "refused connection", "x\u0000y", "cafe\u0301", "café", "é"],
];
const WORDS = ["error", "refused", "connection refused", "istanbul", "strasse", "kelvin", "sharp"]
  .concat(["σας", "café", "a b", "x", "err", "İ", "", "-"]);
const OBJECTS = [
  ...['{"a":"anna"}', '{"a":"\\u0061nna"}', '{"b":"anna"}', '{"a":200}', '{"a":2e2}'],
  ...['{"a":200.0}', '{"a":"200"}', '{"a":true}', '{"a":null}', '{"a":"null"}', '{"a":[1, 2]}'],
  ...['{"a":{"b":1}}', '{"a":"Žofie"}', '{"a":"\\u017dofie"}', '{"a":"a\\"b"}', '{"a":-0}'],
  ...['{"a":"4f2a9c0011223344"}', '{"a":4e2}', '{"a":"4e2"}', '{"a":12345678901234567890}'],
  ...['{"a":"x/y"}', '{"a":"x\\/y"}', '{"a":1.50}', '{"a":1e400}', "no object", '{"a":"NaN"}'],
];
const MEMBERS = ["anna", "200", "200.0", "true", "null", "[1,2]", "[1, 2]", '{"b":1}', "Žofie"]
  .concat(['a"b', "-0", "4f2a9c0011223344", "400.0", "4e2", "12345678901234567890", "x/y", "1.5"])
  .concat(["1.50", "NaN", "12345678901234567000", "1.2345678901234567e19", "Infinity", "inf", "0"]);

interface Case {
  readonly leaf: Leaf<Column>;
  readonly sql: string;
  readonly texts: readonly string[];
}

function cases(): Case[] {
  const leafs: Case[] = [];
  const add = (leaf: Leaf<Column>, sql: string, texts = TEXTS) => leafs.push({ leaf, sql, texts });
  for (const text of WORDS) {
    const quoted = quoteText(text);
    const like = quoteText(`%${text}%`);
    for (const ignoreCase of [false, true]) {
      const sql = `t ${ignoreCase ? "ILIKE" : "LIKE"} ${like}`;
      add({ kind: "substring", column: TEXT, text, ignoreCase }, sql);
    }
    add({ kind: "starts", column: TEXT, text }, `starts_with(t, ${quoted})`);
    add({ kind: "compare", column: TEXT, operator: "=", values: [text] }, `t = ${quoted}`);
    add({ kind: "compare", column: TEXT, operator: "<", values: [text] }, `t < ${quoted}`);
    for (
      const [mode, call] of [
        ["all", "match_terms"],
        ["any", "match_any"],
        ["phrase", "match_phrase"],
        ["prefix", "match_prefix"],
      ] as const
    ) add({ kind: "terms", column: TEXT, mode, text }, `${call}(t, ${quoted})`);
  }
  for (const value of MEMBERS) {
    add(
      { kind: "attribute", column: TEXT, name: "a", values: [value] },
      `attr_get(t, 'a') = ${quoteText(value)}`,
      OBJECTS,
    );
  }
  return leafs;
}

Deno.test("rowFilter lets through every text that meets a condition", async () => {
  await using lab = await EngineLab.open();
  let out = 0;
  for (const { leaf, sql, texts } of cases()) {
    const rows = texts.map((text, at) => `(${at}, ${quoteText(text.replaceAll("\0", ""))})`);
    const { rows: met } = await lab.query(
      `SELECT i FROM (VALUES ${rows.join(", ")}) AS v(i, t) WHERE ${sql} ORDER BY i`,
    );
    const mayMeet = rowFilter(leaf);
    const through = texts.flatMap((text, at) =>
      mayMeet(() => text.replaceAll("\0", "")) ? [at] : []
    );
    out += texts.length - through.length;
    const lost = met.map(([at]) => Number(at)).filter((at) => !through.includes(at));
    assert.deepEqual(lost.map((at) => texts[at]), [], sql);
  }
  assert(out > 1_000, `${out} texts were left out`);
});

Deno.test("textFilter is true for a text with a part that may meet a condition", () => {
  const told = cases().flatMap(({ leaf, texts }) => {
    const mayMeet = textFilter(leaf, TEXT);
    return mayMeet === undefined ? [] : [{ leaf, texts, mayMeet }];
  });
  let out = 0;
  for (const { leaf, texts, mayMeet } of told) {
    for (const text of texts.filter((one) => !/[^\0-\x7f]/.test(one))) {
      if (!mayMeet(text)) out += 1;
      // What is left out by the whole is left out by itself.
      if (rowFilter(leaf)(() => text)) {
        for (const whole of [text, `${text}, ${text}`, `z${text}`, `${text}7`]) {
          assert(mayMeet(whole), `${JSON.stringify(leaf)} of ${whole}`);
        }
      }
    }
  }
  assert(out > 500, `${out} texts were left out`);
});

Deno.test("textFilter tells of AND what one side tells, of OR what both do", () => {
  const has = (text: string, column = TEXT): Leaf<Column> => ({
    ...{ kind: "substring", column, text, ignoreCase: false },
  });
  const other = has("b", { ...TEXT, id: 2 });
  const told = (kind: "and" | "or", ...of: readonly Leaf<Column>[]) => {
    const mayMeet = textFilter({ kind, of }, TEXT);
    return mayMeet && ["a", "c", "d"].map(mayMeet);
  };
  assert.deepEqual(told("and", has("a"), other), [true, false, false]);
  assert.equal(told("or", has("a"), other), undefined);
  assert.deepEqual(told("or", has("a"), has("c")), [true, true, false]);
  assert.equal(textFilter({ kind: "starts", column: TEXT, text: "a" }, TEXT), undefined);
});

Deno.test("rowFilter lets no NULL through, and all that was not read", () => {
  const leaf: Leaf<Column> = { kind: "starts", column: TEXT, text: "a" };
  assert.equal(rowFilter(leaf)(() => null), false);
  assert.equal(rowFilter(leaf)(() => undefined), true);
  assert.equal(rowFilter({ kind: "or", of: [leaf, { kind: "all" }] })(() => null), true);
  assert.equal(rowFilter({ kind: "and", of: [leaf, { kind: "all" }] })(() => "b"), false);
  assert.deepEqual(conditionColumns({ kind: "and", of: [leaf, leaf] }), [TEXT, TEXT]);
});

Deno.test("rowFilter compares integers as integers", () => {
  const column: Column = { id: 2, name: "n", type: "long", required: false };
  const of = (operator: "=" | "<" | "<=" | ">" | ">=", value: bigint) =>
    rowFilter({ kind: "compare", column, operator, values: [value] });
  const large = 9_007_199_254_740_993n;
  assert.deepEqual(
    [of("=", large)(() => large), of("=", large)(() => large - 1n), of("=", 7n)(() => 7)],
    [true, false, true],
  );
  assert.deepEqual(
    [of("<", 7n)(() => 7n), of("<=", 7n)(() => 7n), of(">", 7n)(() => 8n), of(">=", 7n)(() => 6n)],
    [false, true, true, false],
  );
});
