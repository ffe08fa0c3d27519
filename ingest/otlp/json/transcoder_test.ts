import fc from "fast-check";
import assert from "node:assert/strict";
import { ExportLogsServiceRequest } from "../../../proto/otlp_logs.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import type { ColumnBatch } from "../../../shared/columns/batch.ts";
import { rowsOf } from "../../../shared/columns/rows.ts";
import { jsonForm } from "../../../tests/otlp/json_form.ts";
import { LOGS_REQUEST } from "./common_messages.ts";
import { JsonTranscoder } from "./transcoder.ts";
import { logsRequest } from "../../../tests/otlp/logs_arbitrary.ts";
import { decodeLogsJson } from "../logs/logs_json.ts";
import { mutated, mutations } from "../../../tests/otlp/mutated_bytes.ts";
import { tracesRequest } from "../../../tests/otlp/spans_arbitrary.ts";
import { decodeSpansJson } from "../spans/spans_json.ts";
import { WireWriter } from "../wire/wire_writer.ts";

type Decode = (body: Uint8Array, options: { nowNs: bigint }) => ColumnBatch;

const NOW_NS = 1_763_672_645_123_456_789n;
/**
 * A member that the transcoder does not know, and that means nothing: what has it goes by
 * `JSON.parse`.
 */
const UNKNOWN = utf8(`"unknown":0,`);

/**
 * Whether the transcoder writes the request, and the `AnyValue` of the only record's body as
 * protobufjs reads it.
 */
function written(text: string): { ok: boolean; body: unknown } {
  const wire = new WireWriter();
  const ok = new JsonTranscoder(wire).write(utf8(text), LOGS_REQUEST);
  if (!ok) return { ok, body: undefined };
  const request = ExportLogsServiceRequest.decode(wire.out.take());
  const [record] = request.resourceLogs?.[0]?.scopeLogs?.[0]?.logRecords ?? [];
  return { ok, body: record?.body };
}

const ofRecord = (record: string) =>
  `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`;
const ofBody = (value: string) => ofRecord(`{"body":${value}}`);

function outcome(decode: Decode, body: Uint8Array): unknown {
  try {
    return rowsOf(decode(body, { nowNs: NOW_NS }));
  } catch (error) {
    if (isOperatingError(error, "invalid_argument")) return "refused";
    throw error;
  }
}

function withUnknown(body: Uint8Array): Uint8Array {
  return Uint8Array.from([...body.subarray(0, 1), ...UNKNOWN, ...body.subarray(1)]);
}

/** The JSON value with the members of every object the other way round. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).reverse().map(([name, member]) => [name, reversed(member)]),
  );
}

const REQUESTS = [
  { what: "decodeLogsJson", decode: decodeLogsJson, requests: logsRequest, empty: "resourceLogs" },
  {
    what: "decodeSpansJson",
    decode: decodeSpansJson,
    requests: tracesRequest,
    empty: "resourceSpans",
  },
] as const;

for (const { what, decode, requests, empty } of REQUESTS) {
  Deno.test({
    name: `${what} gives the same from bytes and through JSON.parse, in any layout, damaged or not`,
    fn() {
      const layouts = fc.record({
        spaces: fc.constantFrom("", " ", "\t", "\r\n"),
        backwards: fc.boolean(),
        damage: fc.option(mutations),
      });
      fc.assert(
        fc.property(requests, layouts, (request, { spaces, backwards, damage }) => {
          const form = JSON.parse(jsonForm({ [empty]: [], ...request }, (hex) => hex));
          const text = JSON.stringify(backwards ? reversed(form) : form, null, spaces);
          const body = damage === null ? utf8(text) : mutated(utf8(text), damage);
          fc.pre(body[0] === 0x7b);
          assert.deepEqual(outcome(decode, body), outcome(decode, withUnknown(body)));
        }),
        { numRuns: 400 },
      );
    },
  });
}

/** `body` is what protobufjs prints. */
const COMMON: readonly { readonly value: string; readonly body: unknown }[] = [
  { value: "{}", body: {} },
  { value: `{"stringValue":""}`, body: { stringValue: "" } },
  {
    value: `{"stringValue":"na\u00efve \u65e5\u672c \ud83d\ude00"}`,
    body: { stringValue: "naïve 日本 😀" },
  },
  { value: `{"stringValue":"a\\"b\\\\"}`, body: { stringValue: `a"b\\` } },
  { value: `{"stringValue":"\\ud83d\\ude00\\ud800"}`, body: { stringValue: "😀\ufffd" } },
  { value: `{"stringValue":"${"x".repeat(127)}"}`, body: { stringValue: "x".repeat(127) } },
  { value: `{"stringValue":"${"x".repeat(128)}"}`, body: { stringValue: "x".repeat(128) } },
  { value: `{"stringValue":"${"é".repeat(9000)}"}`, body: { stringValue: "é".repeat(9000) } },
  { value: `{"boolValue":true}`, body: { boolValue: true } },
  { value: ` { "boolValue" :\n\tfalse } `, body: { boolValue: false } },
  { value: `{"doubleValue":0.1}`, body: { doubleValue: 0.1 } },
  { value: `{"doubleValue":-2.5e-3}`, body: { doubleValue: -0.0025 } },
  {
    value: `{"arrayValue":{"values":[{"boolValue":true},{"kvlistValue":{"values":[]}}]}}`,
    body: { arrayValue: { values: [{ boolValue: true }, { kvlistValue: {} }] } },
  },
  {
    value: `{"kvlistValue":{"values":[{"value":{"stringValue":"v"},"key":"a\\"b"}]}}`,
    body: { kvlistValue: { values: [{ key: `a"b`, value: { stringValue: "v" } }] } },
  },
];

Deno.test({
  name: "JsonTranscoder writes values in the common form",
  fn() {
    for (const { value, body } of COMMON) {
      const result = written(ofBody(value));
      assert.equal(result.ok, true, value);
      assert.deepEqual(JSON.parse(JSON.stringify(result.body)), body, value);
    }
    for (
      const text of [
        "{}",
        `{"resourceLogs":[]}`,
        `{"resourceLogs":[{"schemaUrl":"u","resource":{"droppedAttributesCount":0}}]}`,
        ofRecord(`{"traceId":"","timeUnixNano":"0","severityNumber":9,"flags":4294967295}`),
      ]
    ) assert.equal(written(text).ok, true, text);
  },
});

Deno.test({
  name: "JsonTranscoder keeps integers and doubles exact",
  fn() {
    const integers = fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n });
    const magnitudes = fc.nat(62).chain((bits) => fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) }));
    fc.assert(
      fc.property(fc.oneof(integers, magnitudes), fc.boolean(), (integer, quoted) => {
        const { body } = written(ofBody(`{"intValue":${quoted ? `"${integer}"` : integer}}`));
        assert.equal(String((body as { intValue: unknown }).intValue), String(integer));
      }),
    );
    const digits = fc.stringMatching(
      /^-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,16})?([eE][+-]?[0-9]{1,3})?$/,
    );
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true }).map(String);
    const nearlyExact = fc.tuple(
      fc.bigInt({ min: 10n ** 13n, max: 10n ** 18n }),
      fc.integer({ min: 1, max: 12 }),
    )
      .map(([all, places]) => `${String(all).slice(0, -places)}.${String(all).slice(-places)}`);
    fc.assert(
      fc.property(fc.oneof(digits, doubles, nearlyExact), (text) => {
        const { ok, body } = written(ofBody(`{"doubleValue":${text}}`));
        assert.equal(ok, Number.isFinite(JSON.parse(text)), text);
        if (!ok) return;
        assert.ok(
          Object.is((body as { doubleValue: unknown }).doubleValue, JSON.parse(text)),
          text,
        );
      }),
      { numRuns: 500 },
    );
  },
});

const deep = `${`{"arrayValue":{"values":[`.repeat(20)}{}${"]}}".repeat(20)}`;

/** What JSON refuses, and what is left to `JSON.parse` to judge. */
const UNCOMMON: readonly string[] = [
  ofBody(`{"doubleValue":1e400}`),
  ofBody(`{"doubleValue":-1e309}`),
  "",
  "[]",
  "{} {}",
  `{"resourceLogs":[]`,
  `{"resourceLogs":[],}`,
  `{"resourceLogs":[{},]}`,
  `{"resourceLogs":null}`,
  `{"resourceLogs":[],"resourceLogs":[]}`,
  `{"resource\\u004cogs":[]}`,
  `{"unknown":1}`,
  ofRecord(`{"traceId":"0"}`),
  ofRecord(`{"traceId":"é"}`),
  ofRecord(`{"timeUnixNano":"-1"}`),
  ofRecord(`{"timeUnixNano":1.5}`),
  ofRecord(`{"severityNumber":"9"}`),
  ofRecord(`{"severityNumber":2147483648}`),
  ofRecord(`{"flags":-1}`),
  ...[
    `{"stringValue":"a","intValue":1}`,
    `{"stringValue":"a","stringValue":"b"}`,
    `{"stringValue":null}`,
    `{"stringValue":"a\tb"}`,
    `{"stringValue":"\\x"}`,
    `{"stringValue":"a\\"}`,
    `{"boolValue":tru}`,
    `{"boolValue":"true"}`,
    `{"intValue":01}`,
    `{"intValue":-}`,
    `{"intValue":"+1"}`,
    `{"intValue":"9223372036854775808"}`,
    `{"intValue":1e3}`,
    `{"doubleValue":"NaN"}`,
    `{"doubleValue":01.5}`,
    `{"doubleValue":1.}`,
    `{"doubleValue":.5}`,
    `{"doubleValue":1.5.5}`,
    `{"doubleValue":1e}`,
    `{"doubleValue":12345678901234567890-}`,
    `{"bytesValue":"AA=="}`,
    deep,
  ].map(ofBody),
];

Deno.test({
  name: "JsonTranscoder writes nothing but the common form",
  fn() {
    for (const text of UNCOMMON) assert.equal(written(text).ok, false, text);
    const notUtf8 = utf8(ofBody(`{"stringValue":"?"}`));
    notUtf8[notUtf8.indexOf(0x3f)] = 0xff;
    assert.equal(new JsonTranscoder(new WireWriter()).write(notUtf8, LOGS_REQUEST), false);
  },
});
