import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import { textOf, utf8 } from "../base/bytes.ts";
import type { ColumnType } from "../schema/schema.ts";
import {
  decodeSingleValue,
  encodeSingleValue,
  shortenLowerBound,
  shortenUpperBound,
  type SingleValue,
} from "./single_value.ts";

Deno.test({
  name: "encodeSingleValue gives the bytes of the table specification, appendix D",
  fn() {
    const cases: [type: ColumnType, value: SingleValue, bytes: number[]][] = [
      ["bool", false, [0]],
      ["bool", true, [1]],
      ["int", 34, [34, 0, 0, 0]],
      ["int", -2, [254, 255, 255, 255]],
      ["long", 34n, [34, 0, 0, 0, 0, 0, 0, 0]],
      ["timestamptz", -1n, [255, 255, 255, 255, 255, 255, 255, 255]],
      ["long", 0x0102030405060708n, [8, 7, 6, 5, 4, 3, 2, 1]],
      ["double", 1, [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]],
      ["string", "é", [0xc3, 0xa9]],
    ];
    for (const [type, value, bytes] of cases) {
      assert.deepEqual([...encodeSingleValue(type, value)], bytes, `${type} ${value}`);
      assert.equal(decodeSingleValue(type, Uint8Array.from(bytes)), value);
    }
  },
});

Deno.test({
  name: "decodeSingleValue reads bounds of promoted columns and refuses other sizes",
  fn() {
    assert.equal(decodeSingleValue("long", Uint8Array.of(5, 0, 0, 0)), 5n);
    assert.equal(decodeSingleValue("double", Uint8Array.of(0, 0, 0x80, 0x3f)), 1);
    assert.throws(() => decodeSingleValue("long", Uint8Array.of(1, 2)), { code: "corrupt" });
    assert.throws(() => decodeSingleValue("int", Uint8Array.of(1)), { code: "corrupt" });
  },
});

Deno.test({
  name: "shortenUpperBound raises the last code point that has a successor",
  fn() {
    const a15 = "a".repeat(15);
    const cases: [text: string, bound: string | undefined][] = [
      ["short", "short"],
      [a15 + "b", a15 + "b"],
      [a15 + "bc", a15 + "c"],
      [a15 + "\ud7ffx", a15 + "\ue000"],
      [a15 + "😀x", a15 + "😁"],
      [a15 + "\u{10ffff}x", "a".repeat(14) + "b"],
      ["\u{10ffff}".repeat(17), undefined],
    ];
    for (const [text, bound] of cases) {
      const shortened = shortenUpperBound(utf8(text));
      assert.equal(shortened === undefined ? undefined : textOf(shortened), bound, text);
    }
  },
});

Deno.test({
  name: "shortened bounds enclose the value in UTF-8 order within 16 code points",
  fn() {
    const point = fc.oneof(
      fc.integer({ min: 0, max: 0xd7ff }),
      fc.integer({ min: 0xe000, max: 0x10ffff }),
      fc.constantFrom(0xd7ff, 0x10ffff),
    );
    const text = fc.array(point, { maxLength: 40 }).map((points) =>
      String.fromCodePoint(...points)
    );
    fc.assert(fc.property(text, (value) => {
      const bytes = utf8(value);
      const lower = shortenLowerBound(bytes);
      const upper = shortenUpperBound(bytes);
      assert.ok(lower !== undefined && Buffer.compare(lower, bytes) <= 0);
      assert.ok(upper === undefined || Buffer.compare(upper, bytes) >= 0);
      for (const bound of [lower, upper]) {
        assert.ok(bound === undefined || [...textOf(bound)].length <= 16);
      }
    }));
  },
});

Deno.test({
  name: "shortened bounds are absent for bytes that are not UTF-8",
  fn() {
    assert.equal(shortenLowerBound(Uint8Array.of(0xff)), undefined);
    assert.equal(shortenUpperBound(Uint8Array.of(0xc3)), undefined);
  },
});
