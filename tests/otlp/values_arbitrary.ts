/** Random names, texts, values and times for property tests of the decoders. */

import fc from "fast-check";
import type { AnyValue, KeyValue } from "../../proto/otlp_common.ts";

/** Names that meet one another's, a record field's or a core column's, and any other. */
const name = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("a", "b", "http.status", "k1", "k2", "naïve", "") },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      "host.name",
      "service.name",
      "sourcetype",
      "index",
      "name",
      "version",
      "scope.name",
      "scope.a",
      "resource.a",
      "severity_text",
      "trace_id",
      "flags",
    ),
  },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
);

export const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom("", '"', "\\", "\n\t\u0000\u001f\u007f", "日本語テキスト", "a".repeat(200), "😀"),
);

const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.integer().map(BigInt),
  fc.constantFrom(0n, -1n, 2n ** 53n + 1n, -(2n ** 32n), 2n ** 32n, -(2n ** 63n), 2n ** 63n - 1n),
).map(String);

const double = fc.oneof(
  fc.double(),
  fc.constantFrom(NaN, Infinity, -Infinity, -0, 0.1, 1.5, 1e21, 1e-7, 123456.000001, 99999.25),
  fc.integer().map((value) => value / 100),
);

export const { value: anyValue } = fc.letrec<{ value: AnyValue; keyValue: KeyValue }>((tie) => ({
  keyValue: fc.record({ key: name, value: tie("value") }, { requiredKeys: ["key"] }),
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small", withCrossShrink: true },
    text.map((stringValue) => ({ stringValue })),
    fc.boolean().map((boolValue) => ({ boolValue })),
    int64.map((intValue) => ({ intValue })),
    double.map((doubleValue) => ({ doubleValue })),
    fc.uint8Array({ maxLength: 10 }).map((bytesValue) => ({ bytesValue })),
    fc.constant({}),
    fc.array(tie("value"), { maxLength: 4 }).map((values) => ({ arrayValue: { values } })),
    fc.array(tie("keyValue"), { maxLength: 4 }).map((values) => ({ kvlistValue: { values } })),
  ),
}));

export const attributes = fc.array(
  fc.record({ key: name, value: anyValue }, { requiredKeys: ["key"] }),
  { maxLength: 7 },
);

export const nanos = fc.oneof(
  fc.constant("0"),
  fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
  fc.bigInt({ min: 0n, max: 2n ** 32n }).map((n) => String(1_763_000_000_000_000_000n + n)),
);
