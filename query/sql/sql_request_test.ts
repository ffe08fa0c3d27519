import assert from "node:assert/strict";
import { utf8 } from "../../shared/base/bytes.ts";
import { parseSqlRequest } from "./sql_request.ts";

const parse = (parameters: string) =>
  parseSqlRequest(utf8(`{"query":"SELECT $1","parameters":${parameters}}`)).parameters;

Deno.test({
  name: "parameters keep each digit of whole numbers",
  fn() {
    const long = "1795861725636164803"; // A `timestamp_ns` of 2026.
    const cases: readonly (readonly [string, unknown])[] = [
      [`[${long}]`, [{ type: "BIGINT", text: long }]],
      [`{"from":-${long},"rows":5}`, { from: { type: "BIGINT", text: `-${long}` }, rows: 5 }],
      ["[9223372036854775807]", [{ type: "BIGINT", text: "9223372036854775807" }]],
      ["[9223372036854775808]", [{ type: "HUGEINT", text: "9223372036854775808" }]],
      ["[9007199254740991, 1.5, -0, true, null]", [9007199254740991, 1.5, -0, true, null]],
      [`["${long}"]`, [long]],
      // No type of whole numbers has it: a statement reads a double, too.
      [`[${"9".repeat(39)}]`, [1e39]],
      ["[0.1234567890123456789]", [0.12345678901234568]],
    ];
    for (const [sent, expected] of cases) assert.deepEqual(parse(sent), expected, sent);
  },
});

Deno.test({
  name: "parameters that are none are refused with what they may be",
  fn() {
    for (const sent of ["5", '[{"type":"BIGINT","text":"1"}]', "[[1, 2]]", '{"a":{}}', "[1e400]"]) {
      assert.throws(() => parse(sent), {
        reason: "invalid_body",
        message: /^Cannot use parameters.* give a list for \? and \$1, an object for \$name/,
      }, sent);
    }
  },
});
