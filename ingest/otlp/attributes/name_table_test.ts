import assert from "node:assert/strict";
import fc from "fast-check";
import { concatBytes, utf8, viewOf } from "../../../shared/base/bytes.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { NameTable, nameTableOf } from "./name_table.ts";
import { OBJECT_NAMES_MAX } from "../request_limits.ts";

/** Names one after the other, and where each begins and ends. */
function laidOut(names: readonly string[]): { view: DataView; spans: [number, number][] } {
  const parts = names.map(utf8);
  const bytes = concatBytes(parts);
  let at = 0;
  const spans = parts.map(({ length }): [number, number] => [at, at += length]);
  return { view: viewOf(bytes), spans };
}

/** What `put` gives for each of `names`. */
function before(table: NameTable, names: readonly string[]): number[] {
  const { view, spans } = laidOut(names);
  table.start(view);
  return spans.map(([start, end]) => table.put(start, end));
}

const NAME = fc.oneof(
  fc.constantFrom("", "a", "b", "ab", "abcd", "abce", "abcde", "http.status", "http.statut", "é"),
  fc.string({ maxLength: 3 }),
  fc.string({ unit: "binary", maxLength: 12 }),
);

Deno.test({
  name: "NameTable.put() and find() give the last name that is the same, as a map of strings does",
  fn() {
    const table = new NameTable();
    const names = fc.array(NAME, { maxLength: 200 });
    fc.assert(fc.property(names, fc.array(NAME, { maxLength: 20 }), (put, sought) => {
      const model = new Map<string, number>();
      const expected = put.map((name, number) => {
        const last = model.get(name) ?? -1;
        model.set(name, number);
        return last;
      });
      assert.deepEqual(before(table, put), expected);
      for (const name of [...put, ...sought]) {
        const key = new DataView(utf8(name).slice().buffer);
        assert.equal(table.find(key, 0, key.byteLength), model.get(name) ?? -1);
      }
    }));
  },
});

Deno.test({
  name: "NameTable.start() forgets many names, and all of them",
  fn() {
    const table = new NameTable();
    const many = Array.from({ length: OBJECT_NAMES_MAX }, (_, i) => `name ${i}`);
    for (let times = 0; times < 3; times += 1) {
      assert(before(table, many).every((number) => number === -1));
      assert.deepEqual(before(table, ["name 7", "name 7"]), [-1, 0]);
    }
  },
});

Deno.test({
  name: "nameTableOf() finds its names in any other bytes",
  fn() {
    const table = nameTableOf(utf8("asourcetype"), [1, 11, 11]);
    const { view, spans } = laidOut(["x", "sourcetype", "sourcetypo", "", "a"]);
    const found = spans.map(([start, end]) => table.find(view, start, end));
    assert.deepEqual(found, [-1, 1, -1, 2, 0]);
  },
});

function refused(put: () => unknown): void {
  assert.throws(
    put,
    (error) => isOperatingError(error, "too_large") && error.reason === "too_many_parts",
  );
}

Deno.test({
  name: "NameTable.put() refuses many names that share one place, soon, and no few",
  fn() {
    const table = new NameTable({ hashOf: () => 1 });
    const names = Array.from({ length: 20_000 }, (_, i) => `name ${i}`);
    before(table, names.slice(0, 40));
    refused(() => before(table, names));
    assert(table.puts < 100, `${table.puts} were put`);
  },
});

Deno.test({
  name: "NameTable.put() refuses more different names than one object may have",
  fn() {
    const view = new DataView(new ArrayBuffer(4 * (OBJECT_NAMES_MAX + 1)));
    for (let number = 0; number <= OBJECT_NAMES_MAX; number += 1) {
      view.setUint32(4 * number, number);
    }
    const table = new NameTable();
    table.start(view);
    for (let number = 0; number < OBJECT_NAMES_MAX; number += 1) {
      table.put(4 * number, 4 * number + 4);
    }
    assert.equal(table.put(0, 4), 0);
    refused(() => table.put(4 * OBJECT_NAMES_MAX, 4 * OBJECT_NAMES_MAX + 4));
  },
});
