import fc from "fast-check";
import assert from "node:assert/strict";
import { textOf, utf8, viewOf } from "../base/bytes.ts";
import { ByteBuilder } from "./byte_builder.ts";
import {
  writeBase64,
  writeCount,
  writeDouble,
  writeHex,
  writeInt64,
  writeJsonName,
  writeJsonString,
} from "./json_writer.ts";

function written(write: (out: ByteBuilder) => void): string {
  const out = new ByteBuilder(1);
  write(out);
  return textOf(out.take());
}

const ESCAPED = fc.constantFrom(
  '"',
  "\\",
  "\u0000",
  "\b",
  "\t",
  "\n",
  "\f",
  "\r",
  "\u001f",
  "\u007f",
);
const text = fc.array(fc.oneof(ESCAPED, fc.string({ unit: "binary" })), { maxLength: 6 })
  .map((parts) => parts.join("").toWellFormed());

Deno.test({
  name: "writeJsonString equals JSON.stringify, at any place of the source",
  fn() {
    fc.assert(
      fc.property(text, fc.nat(7), (value, shift) => {
        const bytes = utf8(`${"#".repeat(shift)}${value}#`);
        assert.equal(
          written((out) => writeJsonString(out, viewOf(bytes), shift, bytes.length - 1)),
          JSON.stringify(value),
        );
      }),
      { numRuns: 2000 },
    );
  },
});

Deno.test({
  name:
    "writeJsonString escapes every byte below 0x80 as JSON.stringify does, in each place of a word",
  fn() {
    for (let code = 0; code < 0x80; code += 1) {
      for (let place = 0; place < 9; place += 1) {
        const value = `${"x".repeat(place)}${String.fromCharCode(code)}${"y".repeat(8 - place)}`;
        const bytes = utf8(value);
        const found = written((out) => writeJsonString(out, viewOf(bytes), 0, bytes.length));
        assert.equal(found, JSON.stringify(value));
      }
    }
  },
});

Deno.test({
  name: "writeJsonName puts a comma before every member but the first",
  fn() {
    const name = viewOf(utf8('a"b'));
    const found = written((out) => {
      out.text("{");
      writeJsonName(out, name, 0, 3);
      writeCount(out, 1);
      writeJsonName(out, name, 0, 1);
      writeCount(out, 2);
      out.text("}");
    });
    assert.equal(found, '{"a\\"b":1,"a":2}');
  },
});

const INT64_EDGES = [
  0n,
  -1n,
  9n,
  10n,
  99n,
  100n,
  999_999n,
  1_000_000n,
  -(2n ** 63n),
  2n ** 63n - 1n,
]
  .concat(Array.from({ length: 62 }, (_, i) => 2n ** BigInt(i + 1)))
  .concat(Array.from({ length: 19 }, (_, i) => 10n ** BigInt(i)));

Deno.test({
  name: "writeInt64 equals bigint's decimal text",
  fn() {
    const check = (value: bigint) => {
      const low = Number(BigInt.asIntN(32, value));
      const high = Number(BigInt.asIntN(32, value >> 32n));
      assert.equal(written((out) => writeInt64(out, low, high)), String(value));
    };
    for (const value of INT64_EDGES) {
      [value, -value, value - 1n].forEach((edge) => {
        if (edge >= -(2n ** 63n) && edge < 2n ** 63n) check(edge);
      });
    }
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), check),
      { numRuns: 2000 },
    );
  },
});

Deno.test({
  name: "writeDouble equals JSON.stringify, NaN and infinities as strings",
  fn() {
    const check = (value: number) => {
      const expected = Number.isFinite(value) ? JSON.stringify(value) : `"${value}"`;
      assert.equal(written((out) => writeDouble(out, value)), expected);
    };
    [0, -0, 1, -1, 0.1, 0.000001, 0.0000005, 999999999.999999, 1e9, 1e21, 5e-324, NaN, Infinity]
      .forEach((value) => {
        check(value);
        check(-value);
      });
    fc.assert(fc.property(fc.double(), check), { numRuns: 2000 });
    fc.assert(
      fc.property(fc.integer(), fc.nat(8), (value, digits) => check(value / 10 ** digits)),
      { numRuns: 2000 },
    );
  },
});

Deno.test({
  name: "writeBase64 and writeHex equal Buffer's texts",
  fn() {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(3), (bytes, cut) => {
        const start = Math.min(cut, bytes.length);
        const expected = Buffer.from(bytes.slice(start));
        const view = viewOf(bytes);
        assert.equal(
          written((out) => writeBase64(out, view, start, bytes.length)),
          `"${expected.toString("base64")}"`,
        );
        assert.equal(
          written((out) => writeHex(out, view, start, bytes.length)),
          `"${expected.toString("hex")}"`,
        );
      }),
    );
  },
});
