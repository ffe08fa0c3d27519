import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { Leaf, Predicate } from "../pruning/predicate.ts";
import { overColumns } from "../pruning/predicate.ts";
import { frameSieve } from "./frame_sieve.ts";

const { columns } = EVENTS_SCHEMA;

function sieveOf(predicate: Predicate) {
  const table = { schema: EVENTS_SCHEMA, stemmed: new Set<string>() };
  return frameSieve(overColumns(predicate, table), columns);
}

/** Which of some texts a frame can have that holds a row of the predicate. */
function kept(predicate: Predicate, texts: readonly string[]): string[] {
  const sieve = present(sieveOf(predicate));
  return texts.filter((text) => sieve(new TextEncoder().encode(text)));
}

const attribute = (...values: string[]): Leaf => (
  { kind: "attribute", column: "attributes", name: "id", values }
);
const words = (mode: "all" | "any" | "phrase" | "prefix", text: string): Leaf => (
  { kind: "terms", column: "raw", mode, text }
);
const part = (text: string, ignoreCase: boolean): Leaf => (
  { kind: "substring", column: "raw", text, ignoreCase }
);

Deno.test("frameSieve keeps frames that write a letter of an attribute as an escape", () => {
  const texts = ['{"id":"kiosk"}', '{"id":"\\u006biosk"}', '{"id":"\\u001bkios"}', '{"id":"kios"}'];
  deepStrictEqual(kept(attribute("kiosk"), texts), texts.slice(0, 2));
  deepStrictEqual(kept(attribute("a/kiosk"), ['{"id":"a\\/kiosk"}']), ['{"id":"a\\/kiosk"}']);
  deepStrictEqual(kept(attribute("12345"), ["12345", "12346"]), ["12345"]);
});

Deno.test("frameSieve knows no text of values that JSON writes in several ways", () => {
  for (
    const value of ["1000.0", "1e500", "-0.5", "true", '{"a":"kiosk"}', '["kiosk"]', "", "a/b"]
  ) {
    strictEqual(sieveOf(attribute(value)), undefined, value);
  }
  strictEqual(sieveOf(attribute("kiosk", "true")), undefined);
});

Deno.test("frameSieve looks for words and parts in any case, and for others as they are", () => {
  const texts = ["a KIOSK", "a \u212aiosk", "a k\u0130osk", "a kiosk", "a kios"];
  for (const leaf of [words("all", "kiosk"), words("prefix", "Kiosk"), part("KiosK", true)]) {
    deepStrictEqual(kept(leaf, texts), texts.slice(0, 4));
  }
  deepStrictEqual(kept(part("kiosk", false), texts), ["a kiosk"]);
  deepStrictEqual(kept(part("é日", false), ["é日", "é"]), ["é日"]);
  deepStrictEqual(kept(words("phrase", "kiosk café"), ["kiosk", "café"]), ["kiosk"]);
});

Deno.test("frameSieve needs all of AND and one of OR, as far as it knows them", () => {
  const [one, two, unknown] = [part("one", false), part("two", false), attribute("1.5")];
  const texts = ["one", "two", "one two", "three"];
  const cases: readonly (readonly [Predicate, readonly string[]])[] = [
    [{ kind: "and", of: [one, two] }, ["one two"]],
    [{ kind: "and", of: [one, unknown] }, ["one", "one two"]],
    [{ kind: "or", of: [one, two] }, ["one", "two", "one two"]],
    [words("any", "one two"), ["one", "two", "one two"]],
  ];
  for (const [predicate, expected] of cases) deepStrictEqual(kept(predicate, texts), expected);
  strictEqual(sieveOf({ kind: "or", of: [one, unknown] }), undefined);
  strictEqual(sieveOf(words("any", "one café")), undefined);
});

Deno.test("frameSieve knows no text of a column that the rows have in another type", () => {
  const predicate = overColumns(part("one", false), {
    schema: EVENTS_SCHEMA,
    stemmed: new Set(),
  });
  const others = columns.map((column) =>
    column.name === "raw" ? { ...column, type: "long" as const } : column
  );
  strictEqual(frameSieve(predicate, others), undefined);
  strictEqual(frameSieve(predicate, []), undefined);
});
