/** What a promoted column holds of an attribute. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "./events.ts";
import {
  attributeOf,
  isUnasked,
  membersOf,
  parsePromotion,
  type PromotedType,
  promotedValue,
  seenColumns,
  unaskedColumn,
  withPromoted,
} from "./promoted.ts";
import { TRACES_SCHEMA } from "./traces.ts";

Deno.test({
  name: "membersOf finds the texts of an object's own members, as JSON.parse has their values",
  fn() {
    const names = ["a", "b", "a.b", 'q"q', "é", "x\\y"];
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...names, "c", "d"), value),
        fc.subarray(names),
        fc.constantFrom(0, 2),
        (object, wanted, space) => {
          const text = JSON.stringify(object, undefined, space);
          const found = membersOf(text, new Set(wanted));
          const expected = new Map(
            wanted.filter((name) => Object.hasOwn(object, name))
              .map((name) => [name, JSON.parse(JSON.stringify(object[name]))]),
          );
          const parsed = new Map([...found].map(([name, json]) => [name, JSON.parse(json)]));
          // In any order: two maps are equal so.
          assert.deepEqual(parsed, expected, text);
        },
      ),
      { numRuns: 500 },
    );
  },
});

Deno.test({
  name: "membersOf gives the first of two, and nothing of what is no object",
  fn() {
    assert.deepEqual([...membersOf('{"a":1,"a":2}', new Set(["a"]))], [["a", "1"]]);
    for (
      const text of ["", "[1]", '"a"', "{", '{"a"', '{"a":', '{"a" 1}', "{a:1}", '{"b":{"a":1']
    ) {
      assert.equal(membersOf(text, new Set(["a"])).size, 0, text);
    }
    const long = `{"pad":"${"\\n".repeat(500_000)}","a":"x"}`;
    assert.equal(membersOf(long, new Set(["a"])).get("a"), '"x"');
  },
});

Deno.test({
  name: "promotedValue takes what reads back as the attribute's own text, and nothing else",
  fn() {
    const cases: readonly (readonly [PromotedType, string, unknown])[] = [
      ["string", '"x"', "x"],
      ["string", '"\\u00e9\\n"', "é\n"],
      ["string", "503", "503"],
      ["string", "1.50", null],
      ["string", "true", "true"],
      ["string", "null", null],
      ["string", '{"a":1}', null],
      ["int", "503", 503n],
      ["int", "-7", -7n],
      ["int", '"503"', 503n],
      ["int", '"0503"', null],
      ["int", "-0", null],
      ["int", "5e2", null],
      ["int", "503.0", null],
      ["int", '"x"', null],
      ["int", "2147483647", 2147483647n],
      ["int", "2147483648", null],
      ["long", "9223372036854775807", 9223372036854775807n],
      ["long", "9223372036854775808", null],
      ["double", "107.5", 107.5],
      ["double", "5", 5],
      ["double", "1e400", null],
      ["double", '"1.5"', null],
      ["double", "true", null],
      ["bool", "true", true],
      ["bool", '"false"', false],
      ["bool", "1", null],
    ];
    for (const [type, json, value] of cases) {
      assert.equal(promotedValue(type, json), value, `${type} ${json}`);
    }
  },
});

Deno.test({
  name: "parsePromotion and withPromoted name what cannot be",
  fn() {
    for (const text of ["", "a", "a:", ":int", "a:text", "raw:string", "Host:string"]) {
      assert.throws(
        () => parsePromotion(text),
        (error) => isOperatingError(error, "invalid_argument"),
        text,
      );
    }
    const status = parsePromotion("http.status:int");
    const wider = withPromoted(EVENTS_SCHEMA, [status]);
    assert.deepEqual(wider.promoted, ["http.status"]);
    assert.equal(wider.columns.at(-1), status);
    assert.deepEqual(withPromoted(wider, [status]), wider);
    assert.equal(withPromoted(EVENTS_SCHEMA, []), EVENTS_SCHEMA);
    const refused = [
      () => withPromoted(wider, [parsePromotion("http.status:long")]),
      () => withPromoted(wider, [parsePromotion("HTTP.status:int")]),
      () => withPromoted(TRACES_SCHEMA, [parsePromotion("service:string")]),
    ];
    for (const act of refused) {
      assert.throws(act, (error) => isOperatingError(error, "invalid_argument"));
    }
  },
});

Deno.test({
  name:
    "a column that nobody asked for has a name of its own, and takes none from those that are asked for",
  fn() {
    const column = unaskedColumn("http.status");
    assert.ok(column !== undefined);
    assert.deepEqual([column.name, column.type], ["attributes:http.status", "string"]);
    assert.deepEqual([isUnasked(column.name), attributeOf(column.name)], [true, "http.status"]);
    assert.deepEqual([isUnasked("http.status"), attributeOf("http.status")], [
      false,
      "http.status",
    ]);
    for (const bad of ["", "1st", "a b", 'a"b', "é", "x".repeat(129)]) {
      assert.equal(unaskedColumn(bad), undefined, bad);
    }
    const both = withPromoted(EVENTS_SCHEMA, [column, parsePromotion("http.status:int")]);
    assert.deepEqual(both.promoted, ["attributes:http.status", "http.status"]);
    assert.deepEqual(
      seenColumns(both.columns).map(({ name }) => name),
      [...EVENTS_SCHEMA.columns.map(({ name }) => name), "http.status"],
    );
    assert.equal(seenColumns(EVENTS_SCHEMA.columns), EVENTS_SCHEMA.columns);
    assert.throws(
      () => parsePromotion("attributes:a:string"),
      (error) =>
        isOperatingError(error, "invalid_argument") &&
        /--attribute-columns/.test(error.message),
    );
  },
});
