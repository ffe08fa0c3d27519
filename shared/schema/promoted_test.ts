/** What a promoted column holds of an attribute. */

import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "./events.ts";
import {
  attributeOf,
  isUnasked,
  parsePromotion,
  seenColumns,
  unaskedColumn,
  withPromoted,
} from "./promoted.ts";
import { TRACES_SCHEMA } from "./traces.ts";

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
