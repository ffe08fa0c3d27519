import { strict as assert } from "node:assert";
import fc from "fast-check";
import { ExactNumber, parseExactJson } from "./exact_json.ts";

Deno.test({
  name: "parseExact keeps the text of numbers that a double would change",
  fn() {
    for (const text of ["9223372036854775807", "-9007199254740993", "1.10", "1e2", "1E400"]) {
      const parsed = parseExactJson(text);
      assert.ok(parsed instanceof ExactNumber, text);
      assert.equal(parsed.text, text);
      assert.equal(JSON.stringify({ a: [parsed] }), `{"a":[${text}]}`);
    }
    assert.equal(parseExactJson("42"), 42);
    assert.throws(() => parseExactJson("{"), SyntaxError);
  },
});

Deno.test({
  name: "parseExact and JSON.stringify give any compact JSON back unchanged",
  fn() {
    const number = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String);
    fc.assert(fc.property(fc.json(), number, (json, integer) => {
      const text = `[${JSON.stringify(JSON.parse(json))},${integer}]`;
      assert.equal(JSON.stringify(parseExactJson(text)), text);
    }));
  },
});
