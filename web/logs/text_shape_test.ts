import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { shapedText } from "./text_shape.ts";

Deno.test({
  name: "shapedText lays JSON out as JSON.stringify does",
  fn() {
    fc.assert(
      fc.property(
        fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
        (value) => {
          // A key as __proto__ is lost by JSON.parse alone.
          const text = JSON.stringify(value);
          deepStrictEqual(shapedText(text), {
            shape: "json",
            text: JSON.stringify(value, null, 2),
          });
        },
      ),
    );
    strictEqual(
      shapedText('{"big":12345678901234567890}').text,
      '{\n  "big": 12345678901234567890\n}',
    );
  },
});

Deno.test({
  name: "shapedText breaks a stack trace whose ends of lines were written out, and no other text",
  fn() {
    deepStrictEqual(shapedText("E: no\\n\\tat a.B(C.java:1)\\n  at d"), {
      shape: "lines",
      text: "E: no\n    at a.B(C.java:1)\n  at d",
    });
    for (const text of ["C:\\new\\table", "{no json}", "[info] started", "plain"]) {
      deepStrictEqual(shapedText(text), { shape: "plain", text });
    }
  },
});
