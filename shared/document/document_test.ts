import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { type EventFields, eventOfDocument, parseDocument } from "./document.ts";
import { DOCUMENT_BOUNDS } from "./json_bounds.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

function eventOf(text: string): EventFields {
  return eventOfDocument(parseDocument(text), { nowNs: NOW_NS });
}

const TIMES: readonly { readonly json: string; readonly ns: bigint }[] = [
  { json: `{"@timestamp":"2025-11-20T21:04:05.123456789Z"}`, ns: 1_763_672_645_123_456_789n },
  { json: `{"timestamp":"2025-11-20T22:04:05+01:00"}`, ns: 1_763_672_645_000_000_000n },
  { json: `{"@timestamp":1,"timestamp":2}`, ns: 1_000_000_000n },
  { json: `{"@timestamp":null,"timestamp":2}`, ns: 2_000_000_000n },
  { json: `{"timestamp":1763672645}`, ns: 1_763_672_645_000_000_000n },
  { json: `{"timestamp":1763672645.25}`, ns: 1_763_672_645_250_000_000n },
  { json: `{"timestamp":1763672645.1}`, ns: 1_763_672_645_100_000_000n },
  { json: `{"timestamp":1763672645.123456}`, ns: 1_763_672_645_123_456_000n },
  { json: `{"timestamp":1763672645123.456}`, ns: 1_763_672_645_123_456_000n },
  { json: `{"timestamp":"1763672645.123456789"}`, ns: 1_763_672_645_123_456_789n },
  { json: `{"timestamp":"1763672645123456.7891"}`, ns: 1_763_672_645_123_456_789n },
  { json: `{"timestamp":1763672645123}`, ns: 1_763_672_645_123_000_000n },
  { json: `{"timestamp":1763672645123456}`, ns: 1_763_672_645_123_456_000n },
  { json: `{"timestamp":1763672645123456789}`, ns: 1_763_672_645_123_456_789n },
  { json: `{"timestamp":"1763672645123456789"}`, ns: 1_763_672_645_123_456_789n },
  { json: `{"@timestamp":"2025-11-20T21:04:05.123456"}`, ns: 1_763_672_645_123_456_000n },
  { json: `{"timestamp":"2025-11-20 21:04:05,5"}`, ns: 1_763_672_645_500_000_000n },
  { json: `{"timestamp":"2025-11-20T21:04"}`, ns: 1_763_672_640_000_000_000n },
  { json: `{"timestamp":"2025-11-20"}`, ns: 1_763_596_800_000_000_000n },
  { json: `{"timestamp":"2025"}`, ns: 1_735_689_600_000_000_000n },
  { json: `{"timestamp":2025}`, ns: 2_025_000_000_000n },
  { json: `{"timestamp":1763672645.12345678900000}`, ns: 1_763_672_645_123_456_789n },
  { json: `{}`, ns: NOW_NS },
];

Deno.test({
  name: "eventOfDocument takes RFC 3339 and epoch times of every unit, exactly",
  fn() {
    for (const { json, ns } of TIMES) assert.equal(eventOf(json).timestampNs, ns, json);
  },
});

/** A document around so many arrays. */
function nested(arrays: number): string {
  return `{"a":${"[".repeat(arrays)}${"]".repeat(arrays)}}`;
}

const { depthMax, valuesMax } = DOCUMENT_BOUNDS;

const REFUSED = [
  { json: nested(depthMax), names: "it nests deeper than 1000 objects and arrays" },
  { json: nested(5_000_000), names: "it nests deeper than 1000 objects and arrays" },
  {
    json: `{"a":[${"1,".repeat(valuesMax)}1]}`,
    names: "it holds more than 50000 members and elements",
  },
  { json: `{"timestamp":"yesterday"}`, names: `timestamp is "yesterday"` },
  { json: `{"@timestamp":"2025-11-31"}`, names: `@timestamp is "2025-11-31"` },
  { json: `{"timestamp":"1969-12-31T23:59:59"}`, names: `timestamp is "1969-12-31T23:59:59"` },
  { json: `{"a":1e400}`, names: "a is 1e400, greater than any double; send it as a string" },
  { json: `{"a":-1e400}`, names: "a is -1e400, greater" },
  { json: `{"message":2.5E+308}`, names: "message is 2.5E+308, greater" },
  { json: `{"host":1e309}`, names: "host is 1e309, greater" },
  { json: `{"a":{"b":[1,{"c d":1e0400}]}}`, names: "a.b[1].c d is 1e0400, greater" },
  { json: `[1e400]`, names: "[0] is 1e400, greater" },
  { json: `{"a":${"9".repeat(310)}.5}`, names: `a is ${"9".repeat(100)}…, greater` },
  { json: `{"timestamp":-1}`, names: "timestamp is -1" },
  { json: `{"timestamp":-0.5}`, names: "timestamp is -0.5" },
  { json: `{"timestamp":1e300}`, names: "timestamp is 1e+300" },
  { json: `{"timestamp":99999999999}`, names: "timestamp is 99999999999" },
  { json: `{"timestamp":9223372036854775808}`, names: "timestamp is 9223372036854775808" },
  { json: `{"timestamp":true}`, names: "timestamp is true" },
  { json: `[1]`, names: "it is [1]" },
  { json: `{"a":`, names: "JSON" },
];

Deno.test({
  name: "eventOfDocument refuses what cannot be stored, naming it",
  fn() {
    for (const { json, names } of REFUSED) {
      assert.throws(
        () => eventOf(json),
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.includes(names),
        json.slice(0, 100),
      );
    }
    assert.equal(eventOf(nested(depthMax - 1)).raw, nested(depthMax - 1));
  },
});

const MAPPED: readonly { readonly json: string; readonly event: Partial<EventFields> }[] = [
  {
    json: `{}`,
    event: {
      host: "unknown",
      source: "bulk",
      sourcetype: "bulk:doc",
      index: "main",
      raw: "{}",
      attributes: null,
    },
  },
  {
    json: `{"message":"hi","host.name":"h","service.name":"s","sourcetype":"t","index":"i","a":1}`,
    event: {
      host: "h",
      source: "s",
      sourcetype: "t",
      index: "i",
      raw: "hi",
      attributes: `{"a":1}`,
    },
  },
  {
    json: `{"message":"m","host":{"name":"h","ip":"::1"},"service":{"name":"s"}}`,
    event: { host: "h", source: "s", attributes: `{"host":{"ip":"::1"}}` },
  },
  {
    json: `{"message":"m","host":"h","source":"s"}`,
    event: { host: "h", source: "s", attributes: null },
  },
  {
    json: `{"message":"m","host.name":"a","host":"b"}`,
    event: { host: "a", attributes: `{"host":"b"}` },
  },
  {
    json: `{"message":"m","host":"","service.name":null,"sourcetype":7}`,
    event: {
      host: "unknown",
      source: "bulk",
      sourcetype: "7",
      attributes: `{"host":"","service.name":null}`,
    },
  },
  {
    json: `{"message":"m","__proto__":{"x":1},"constructor":2}`,
    event: { attributes: `{"__proto__":{"x":1},"constructor":2}` },
  },
  {
    json:
      `{"message":"m","n": 12345678901234567890,"l":[ -1234567890123456789 ],"e":1234567890123456e1}`,
    event: {
      attributes: `{"n":12345678901234567890,"l":[-1234567890123456789],"e":12345678901234560}`,
    },
  },
  {
    json: String.raw`{"s":"\ud800 \\ud800 \ud83d\ude00","k\udfff":["\udc00"]}`,
    event: {
      raw: '{"s":"\ufffd \\\\ud800 😀","k\ufffd":["\ufffd"]}',
      attributes: '{"s":"\ufffd \\\\ud800 😀","k\ufffd":["\ufffd"]}',
    },
  },
  { json: `{"message":"","a":"b"}`, event: { raw: "", attributes: `{"a":"b"}` } },
  { json: `{"message":{"k":[1]}}`, event: { raw: `{"k":[1]}`, attributes: null } },
  {
    json: `{"n":12345678901234567890,"d":{"x":"é"}}`,
    event: {
      raw: `{"n":12345678901234567890,"d":{"x":"é"}}`,
      attributes: `{"n":12345678901234567890,"d":{"x":"é"}}`,
    },
  },
];

Deno.test({
  name: "eventOfDocument fills core columns and keeps the rest as attributes",
  fn() {
    for (const { json, event } of MAPPED) {
      const found = eventOf(json);
      for (const [name, value] of Object.entries(event)) {
        assert.equal(found[name as keyof EventFields], value, `${json} ${name}`);
      }
    }
  },
});

Deno.test({
  name: "eventOfDocument lets the caller's defaults stand in",
  fn() {
    const defaults = { nowNs: 5n, host: "h", source: "s", sourcetype: "t", index: "i" };
    assert.deepEqual(eventOfDocument({ message: "m" }, defaults), {
      timestampNs: 5n,
      host: "h",
      source: "s",
      sourcetype: "t",
      index: "i",
      raw: "m",
      attributes: null,
    });
  },
});

Deno.test({
  name: "eventOfDocument keeps the sender's id as attribute _id",
  fn() {
    const defaults = { nowNs: 5n, id: "7" };
    const attributes = (document: Record<string, unknown>) =>
      eventOfDocument(document, defaults).attributes;
    assert.equal(attributes({ message: "m" }), `{"_id":"7"}`);
    assert.equal(attributes({ message: "m", a: 1 }), `{"_id":"7","a":1}`);
    assert.equal(eventOfDocument({ a: 1 }, defaults).raw, `{"a":1}`);
  },
});

const EXACT: readonly string[] = [
  "12345678901234567890",
  "0.1234567890123456789",
  "-12345678.12345678901234",
  "1.0000000000000000000001",
  "9007199254740993.0",
  "9007199254740992.5",
  "1e-400",
  "-4.9e-324",
  `${"9".repeat(400)}`,
];
const HELD: readonly (readonly [sent: string, kept: string])[] = [
  ["0.30000000000000004", "0.30000000000000004"],
  ["1.50000000000000000000", "1.5"],
  ["5e-324", "5e-324"],
  ["1.7976931348623157e308", "1.7976931348623157e+308"],
  ["100000000000000000000000.0", "1e+23"],
  ["0e999", "0"],
  ["1e2", "100"],
  ["-0.0", "0"],
];

Deno.test({
  name: "eventOfDocument keeps all digits of numbers that no double holds, wherever they stand",
  fn() {
    for (const [sent, kept] of [...EXACT.map((text) => [text, text] as const), ...HELD]) {
      const { raw, attributes } = eventOf(`{"a":${sent},"b":[{"c": ${sent}}]}`);
      assert.equal(attributes, `{"a":${kept},"b":[{"c":${kept}}]}`);
      assert.equal(raw, attributes);
      assert.equal(eventOf(`{"message":${sent}}`).raw, kept);
    }
    assert.equal(
      eventOf(`{"a":"1e400 ,1e400","b":":1e400"}`).raw,
      `{"a":"1e400 ,1e400","b":":1e400"}`,
    );
  },
});

Deno.test({
  name: "eventOfDocument refuses an _id that says otherwise than the action, and no other",
  fn() {
    const attributesOf = (text: string) =>
      eventOfDocument(parseDocument(text), { nowNs: NOW_NS, id: "7" }).attributes;
    for (const same of [`{"_id":"7"}`, `{"_id":7}`, `{"_id":null}`, "{}"]) {
      assert.equal(attributesOf(same), `{"_id":"7"}`);
    }
    assert.equal(eventOf(`{"_id":"own"}`).attributes, `{"_id":"own"}`);
    for (const other of [`"8"`, "8", `{"a":1}`, `""`, "[]", "false", "7.5"]) {
      assert.throws(
        () => attributesOf(`{"_id":${other}}`),
        /_id is .+, and its action says "7": field \[_id\] is a metadata field and cannot be added/,
        other,
      );
    }
  },
});
