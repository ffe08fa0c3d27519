import fc from "fast-check";
import assert from "node:assert/strict";
import { encodeLogsRequest } from "../../../proto/otlp_logs.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { type RowObject, rowsOf } from "../../../shared/columns/rows.ts";
import { jsonForm } from "../../../tests/otlp/json_form.ts";
import { logsRequest } from "../../../tests/otlp/logs_arbitrary.ts";
import { decodeLogsJson } from "./logs_json.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

function rowsOfJson(text: string): RowObject[] {
  return rowsOf(decodeLogsJson(utf8(text), { nowNs: NOW_NS }));
}

function rowsOfRecord(record: string): RowObject[] {
  return rowsOfJson(`{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`);
}

Deno.test({
  name: "decodeLogsJson equals decodeLogsProtobuf on the same request",
  fn() {
    fc.assert(
      fc.property(logsRequest, fc.boolean(), (request, upperCase) => {
        const json = jsonForm(request, (hex) => upperCase ? hex.toUpperCase() : hex);
        assert.deepEqual(
          rowsOfJson(json),
          rowsOf(decodeLogsProtobuf(encodeLogsRequest(request), { nowNs: NOW_NS })),
        );
      }),
      { numRuns: 300 },
    );
  },
});

const INTEGERS: readonly { readonly json: string; readonly text: string }[] = [
  { json: `"9223372036854775807"`, text: "9223372036854775807" },
  { json: "9223372036854775807", text: "9223372036854775807" },
  { json: "-9223372036854775808", text: "-9223372036854775808" },
  { json: "9007199254740993", text: "9007199254740993" },
  { json: `"0042"`, text: "42" },
  { json: "0", text: "0" },
  { json: "-7", text: "-7" },
];

Deno.test({
  name: "decodeLogsJson keeps 64-bit integers exact, as string and as number",
  fn() {
    for (const { json, text } of INTEGERS) {
      const record = `{"attributes":[{"key":"n","value":{"intValue":${json}}}]}`;
      assert.equal(rowsOfRecord(record)[0]?.attributes, `{"n":${text}}`, json);
    }
    for (const time of [`"1763672645123456789"`, "1763672645123456789"]) {
      const [row] = rowsOfRecord(`{"timeUnixNano":${time},"observedTimeUnixNano":${time}}`);
      assert.equal(row?.timestamp_ns, 1_763_672_645_123_456_789n);
      assert.equal(row?.timestamp, 1_763_672_645_123_456n);
      assert.equal(row?.attributes, `{"observed_timestamp_ns":"1763672645123456789"}`);
    }
  },
});

const ACCEPTED: readonly { readonly record: string; readonly columns: Partial<RowObject> }[] = [
  { record: "{}", columns: { raw: "", attributes: null, timestamp_ns: NOW_NS } },
  { record: `{"unknown":{"a":[1]},"body":null,"flags":null}`, columns: { raw: "" } },
  { record: `{"trace_id":"00"}`, columns: { attributes: null } },
  { record: `{"traceId":"","timeUnixNano":"0"}`, columns: { attributes: null } },
  { record: `{"traceId":"AbCd"}`, columns: { attributes: `{"trace_id":"abcd"}` } },
  { record: `{"body":{"bytesValue":"_-8"}}`, columns: { raw: `"/+8="` } },
  { record: `{"body":{"doubleValue":"-Infinity"}}`, columns: { raw: `"-Infinity"` } },
  {
    record: `{"body":{"doubleValue":12345678901234567890}}`,
    columns: { raw: "12345678901234567000" },
  },
  { record: `{"body":{"boolValue":false}}`, columns: { raw: "false" } },
  { record: `{"body":{"stringValue":"\\ud800"}}`, columns: { raw: "\ufffd" } },
  { record: `{"body":{"arrayValue":{}}}`, columns: { raw: "[]" } },
  { record: `{"severityNumber":17}`, columns: { attributes: `{"severity_number":17}` } },
  {
    record: `{"flags":"4294967295","droppedAttributesCount":"3"}`,
    columns: { attributes: `{"flags":4294967295,"dropped_attributes_count":3}` },
  },
  {
    record: `{"attributes":[{"key":"n","value":{"intValue":9007199254740993}},` +
      `{"key":"s","value":{"stringValue":"9007199254740993"}}]}`,
    columns: { attributes: `{"n":9007199254740993,"s":"9007199254740993"}` },
  },
];

Deno.test({
  name: "decodeLogsJson reads every spelling that OTLP/JSON allows",
  fn() {
    for (const { record, columns } of ACCEPTED) {
      const [row] = rowsOfRecord(record);
      for (const [name, value] of Object.entries(columns)) assert.equal(row?.[name], value, record);
    }
    for (const empty of ["{}", `{"resourceLogs":[]}`, `{"resourceLogs":null}`]) {
      assert.deepEqual(rowsOfJson(empty), []);
    }
  },
});

const nested = (depth: number) =>
  `{"body":${`{"arrayValue":{"values":[`.repeat(depth)}{"intValue":1}${"]}}".repeat(depth)}}`;

const REFUSED: readonly { readonly record: string; readonly names: string }[] = [
  { record: `{"body":{"doubleValue":1e400}}`, names: `body.doubleValue is "1e400"; send a number` },
  {
    record:
      `{"attributes":[{"key":"a","value":{"arrayValue":{"values":[{"doubleValue":-1e400}]}}}]}`,
    names: `values[0].doubleValue is "-1e400"; send a number`,
  },
  { record: `{"body":{"doubleValue":"1e400"}}`, names: `body.doubleValue is "1e400"` },
  { record: `{"timeUnixNano":"-5"}`, names: `timeUnixNano is "-5"` },
  { record: `{"timeUnixNano":-5}`, names: "timeUnixNano is -5" },
  { record: `{"timeUnixNano":"9223372036854775808"}`, names: "timeUnixNano 9223372036854775808" },
  { record: `{"observedTimeUnixNano":9223372036854775808}`, names: "9223372036854775808" },
  { record: `{"timeUnixNano":"18446744073709551616"}`, names: "18446744073709551616" },
  { record: `{"timeUnixNano":1.5}`, names: "timeUnixNano is 1.5" },
  { record: `{"timeUnixNano":"now"}`, names: `timeUnixNano is "now"` },
  { record: `{"severityNumber":"SEVERITY_NUMBER_INFO"}`, names: "severityNumber" },
  { record: `{"severityText":7}`, names: "severityText is 7" },
  { record: `{"traceId":"xyz"}`, names: `traceId is "xyz"` },
  { record: `{"severityNumber":"17"}`, names: `severityNumber is "17"` },
  { record: `{"flags":-1}`, names: "flags is -1" },
  { record: `{"flags":"-1"}`, names: `flags is "-1"` },
  { record: `{"flags":""}`, names: `flags is ""` },
  { record: `{"flags":"4294967296"}`, names: "flags is 4294967296" },
  { record: `{"body":"text"}`, names: `body is "text"` },
  { record: `{"body":{"stringValue":"a","intValue":1}}`, names: "one member" },
  { record: `{"body":{"intValue":"9223372036854775808"}}`, names: "intValue" },
  { record: `{"body":{"intValue":9223372036854775808}}`, names: "intValue" },
  { record: `{"body":{"bytesValue":"*"}}`, names: `bytesValue is "*"` },
  { record: `{"attributes":{"a":1}}`, names: "attributes is an object" },
  { record: `{"attributes":[7]}`, names: "attributes[0] is 7; send an object" },
  { record: nested(33), names: "32" },
  { record: nested(5000), names: "32" },
];

/** Requests of a wrong shape, and what the refusal says. */
const MISSHAPEN: readonly [request: string, says: string][] = [
  [`{"resourceLogs":{}}`, "resourceLogs is an object; send an array"],
  [`{"resourceLogs":[null]}`, "resourceLogs[0] is null; send an object"],
  [`{"resourceLogs":[{},[]]}`, "resourceLogs[1] is an array; send an object"],
  [`{"resourceLogs":[{"resource":"r"}]}`, `resourceLogs[0].resource is "r"; send an object`],
  [
    `{"resourceLogs":[{"resource":{"attributes":{}}}]}`,
    "resourceLogs[0].resource.attributes is an object; send an array",
  ],
  [`{"resourceLogs":[{"scopeLogs":7}]}`, "resourceLogs[0].scopeLogs is 7; send an array"],
  [
    `{"resourceLogs":[{"scopeLogs":[{},{"scope":{"name":1}}]}]}`,
    "resourceLogs[0].scopeLogs[1].scope.name is 1; send a string",
  ],
  [
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{},null]}]}]}`,
    "resourceLogs[0].scopeLogs[0].logRecords[1] is null; send an object",
  ],
  [
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"attributes":[{"key":"a","value":"b"}]}]}]}]}`,
    `resourceLogs[0].scopeLogs[0].logRecords[0].attributes[0].value is "b"; send an object`,
  ],
  [
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"arrayValue":{"values":[{},null]}}}]}]}]}`,
    "logRecords[0].body.arrayValue.values[1] is null; send an object",
  ],
  [
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"kvlistValue":{"values":[{"key":7}]}}}]}]}]}`,
    "logRecords[0].body.kvlistValue.values[0].key is 7; send a string",
  ],
  [
    `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"a","intValue":1}}]}]}]}`,
    "logRecords[0].body is an object; send one member of it, such as stringValue",
  ],
];

Deno.test({
  name: "decodeLogsJson names the place of what has a wrong shape, and what belongs there",
  fn() {
    for (const [request, says] of MISSHAPEN) {
      assert.throws(() => rowsOfJson(request), (error: unknown) => {
        assert.ok(isOperatingError(error, "invalid_argument"), request);
        assert.ok(error.message.includes(says), `${error.message}, not: ${says}`);
        return true;
      });
    }
  },
});

Deno.test({
  name: "decodeLogsJson refuses what OTLP/JSON does not allow, naming member and value",
  fn() {
    assert.equal(rowsOfRecord(nested(32))[0]?.raw, `${"[".repeat(32)}1${"]".repeat(32)}`);
    for (const { record, names } of REFUSED) {
      assert.throws(
        () => rowsOfRecord(record),
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.includes(names),
        record.slice(0, 80),
      );
    }
    for (const body of ["", "{", "[]", "null", `{"resourceLogs":7}`]) {
      assert.throws(
        () => rowsOfJson(body),
        (error: unknown) => isOperatingError(error, "invalid_argument"),
        body,
      );
    }
    assert.throws(
      () => decodeLogsJson(Uint8Array.of(0x22, 0xff, 0x22), { nowNs: NOW_NS }),
      (error: unknown) => isOperatingError(error, "invalid_argument"),
    );
  },
});
