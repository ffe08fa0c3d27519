import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseExact } from "./exact_json.ts";

Deno.test({
  name: "parseExact reads what JSON.parse reads, but for numbers that a double would change",
  fn() {
    const number = fc.oneof(fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }))
      .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value));
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(number, fc.string(), fc.boolean(), tie("list"), tie("object")),
      list: fc.array(tie("value"), { maxLength: 4 }),
      object: fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
    }));
    fc.assert(fc.property(value, (given) => {
      const json = JSON.stringify(given);
      deepStrictEqual(parseExact(json), JSON.parse(json));
    }));
    deepStrictEqual(
      parseExact(
        '[1795132800000000000,-1234567890123456,"1795132800000000001,",0.1234567890123456,' +
          "0.12345678901234567890,1.0000000000000000,1e300]",
      ),
      [
        ...["1795132800000000000", -1234567890123456, "1795132800000000001,", 0.1234567890123456],
        ...["0.12345678901234567890", 1, 1e300],
      ],
    );
  },
});
