import assert from "node:assert/strict";
import fc from "fast-check";
import { losslessJson, parseLosslessJson } from "./lossless_json.ts";

Deno.test({
  name: "parseLosslessJson keeps the digits of every 64-bit integer",
  fn() {
    const cases: [text: string, value: unknown][] = [
      ["9007199254740991", 9007199254740991],
      ["9007199254740993", 9007199254740993n],
      ["-9223372036854775808", -9223372036854775808n],
      ["9223372036854775807", 9223372036854775807n],
      ["1.5", 1.5],
      ["1e400", Infinity],
      ['"9223372036854775807"', "9223372036854775807"],
      ["[null,true,{}]", [null, true, {}]],
    ];
    for (const [text, value] of cases) assert.deepEqual(parseLosslessJson(text), value, text);
  },
});

Deno.test({
  name: "losslessJson writes what parseLosslessJson reads",
  fn() {
    fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), (id) => {
      const text = losslessJson({ id, list: [id] });
      assert.equal(text, `{"id":${id},"list":[${id}]}`);
      const back = parseLosslessJson(text) as { id: number | bigint };
      assert.equal(BigInt(back.id), id);
    }));
  },
});

Deno.test({
  name: "parseLosslessJson refuses what is no JSON",
  fn() {
    assert.throws(() => parseLosslessJson('{"a":'), SyntaxError);
  },
});
