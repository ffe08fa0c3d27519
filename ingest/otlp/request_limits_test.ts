import assert from "node:assert/strict";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { decodeLogsJson } from "./logs/logs_json.ts";
import { decodeLogsProtobuf } from "./logs/logs_protobuf.ts";
import {
  IRREGULAR_BYTES_MAX,
  OBJECT_NAMES_MAX,
  REQUEST_ATTRIBUTES_MAX,
  REQUEST_JSON_VALUES_MAX,
  REQUEST_RECORDS_MAX,
} from "./request_limits.ts";
import { decodeSpansProtobuf } from "./spans/spans_protobuf.ts";

/** A length-delimited field. */
function field(number: number, body: Uint8Array): Uint8Array {
  const head = [number << 3 | 2];
  let length = body.byteLength;
  for (; length > 127; length = Math.floor(length / 128)) head.push(length & 127 | 128);
  return concatBytes([new Uint8Array([...head, length]), body]);
}

/** So many empty fields. */
function empties(number: number, count: number): Uint8Array {
  const pair = new Uint8Array([number << 3 | 2, 0]);
  const fields = new Uint8Array(2 * count);
  fields.set(pair);
  for (let filled = 2; filled < fields.length; filled *= 2) fields.copyWithin(filled, 0, filled);
  return fields;
}

/** Fields that are each an attribute without a value, of so many names. */
function names(number: number, count: number): Uint8Array {
  const letters = (name: number) => utf8(name.toString(36));
  return concatBytes(Array.from({ length: count }, (_, i) => field(number, field(1, letters(i)))));
}

const SPAN_IDS = concatBytes([
  field(1, new Uint8Array(16).fill(1)),
  field(2, new Uint8Array(8).fill(1)),
]);
const TOO_MANY = REQUEST_ATTRIBUTES_MAX + 1;
const options = { nowNs: 1n };

const CASES: readonly { name: string; decode: () => unknown }[] = [
  {
    name: "records of protobuf",
    decode: () =>
      decodeLogsProtobuf(field(1, field(2, empties(2, REQUEST_RECORDS_MAX + 1))), options),
  },
  {
    name: "records of JSON",
    decode: () => {
      const records = `${"{},".repeat(REQUEST_RECORDS_MAX)}{}`;
      const text = `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records}]}]}]}`;
      return decodeLogsJson(new TextEncoder().encode(text), options);
    },
  },
  {
    name: "elements of JSON that is parsed",
    decode: () => {
      const text = `{"unknown":[${"1,".repeat(REQUEST_JSON_VALUES_MAX)}1],"resourceLogs":[]}`;
      return decodeLogsJson(new TextEncoder().encode(text), options);
    },
  },
  {
    name: "attributes of a resource",
    decode: () => decodeLogsProtobuf(field(1, field(1, empties(1, OBJECT_NAMES_MAX + 1))), options),
  },
  {
    name: "attributes of a scope",
    decode: () => {
      const scope = field(1, empties(3, OBJECT_NAMES_MAX + 1));
      return decodeLogsProtobuf(field(1, field(2, concatBytes([scope, empties(2, 1)]))), options);
    },
  },
  {
    name: "attributes of all resources",
    decode: () => {
      const resource = field(1, field(1, empties(1, OBJECT_NAMES_MAX)));
      const count = Math.ceil(TOO_MANY / OBJECT_NAMES_MAX);
      return decodeLogsProtobuf(concatBytes(Array(count).fill(resource)), options);
    },
  },
  {
    name: "names of a record's attributes",
    decode: () =>
      decodeLogsProtobuf(field(1, field(2, field(2, names(6, OBJECT_NAMES_MAX + 1)))), options),
  },
  {
    name: "names of a map in a body",
    decode: () => {
      const body = field(5, field(6, names(1, OBJECT_NAMES_MAX + 1)));
      return decodeLogsProtobuf(field(1, field(2, field(2, body))), options);
    },
  },
  {
    name: "names of a span's attributes",
    decode: () => {
      const span = concatBytes([SPAN_IDS, names(9, OBJECT_NAMES_MAX + 1)]);
      return decodeSpansProtobuf(field(1, field(2, field(2, span))), options);
    },
  },
  {
    name: "attributes of a record that have one name",
    decode: () => decodeLogsProtobuf(field(1, field(2, field(2, empties(6, TOO_MANY)))), options),
  },
  {
    name: "attributes of a span that have one name",
    decode: () => {
      const span = concatBytes([SPAN_IDS, empties(9, TOO_MANY)]);
      return decodeSpansProtobuf(field(1, field(2, field(2, span))), options);
    },
  },
];

for (const { name, decode } of CASES) {
  Deno.test({
    name: `a request of too many ${name} is too_large`,
    fn() {
      assert.throws(
        decode,
        (error) => isOperatingError(error, "too_large") && error.reason === "too_many_parts",
      );
    },
  });
}

/** A request of `bytes` that has its scope twice, and a record. */
function irregular(bytes: number): Uint8Array {
  const request = (raw: number) => {
    const body = field(5, field(1, new Uint8Array(raw)));
    return field(1, field(2, concatBytes([empties(1, 2), field(2, body)])));
  };
  return request(bytes - (request(bytes).length - bytes));
}

Deno.test({
  name:
    "a request that has a field twice is merged up to its limit in bytes, and too_large past it",
  fn() {
    const largest = irregular(IRREGULAR_BYTES_MAX);
    assert.equal(largest.length, IRREGULAR_BYTES_MAX);
    assert.equal(decodeLogsProtobuf(largest, options).rows, 1);
    assert.throws(
      () => decodeLogsProtobuf(irregular(IRREGULAR_BYTES_MAX + 1), options),
      (error) => isOperatingError(error, "too_large") && error.reason === "irregular_request",
    );
  },
});

Deno.test({
  name: "the counts of a request start anew with the next one",
  fn() {
    const body = field(1, field(2, field(2, empties(6, REQUEST_ATTRIBUTES_MAX))));
    for (let i = 0; i < 2; i += 1) assert.equal(decodeLogsProtobuf(body, options).rows, 1);
  },
});
