import assert from "node:assert/strict";
import fc from "fast-check";
import type { AnyValue } from "../../../proto/otlp_common.ts";
import { encodeLogsRequest, type LogRecord } from "../../../proto/otlp_logs.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { type RowObject, rowsOf } from "../../../shared/columns/rows.ts";
import { logsRequest } from "../../../tests/otlp/logs_arbitrary.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";
import { referenceRows } from "../../../tests/otlp/logs_reference.ts";
import { mutated, mutations } from "../../../tests/otlp/mutated_bytes.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

/** Rows, or undefined for a refusal; any other error fails the test. */
function decoded(body: Uint8Array): RowObject[] | undefined {
  try {
    return rowsOf(decodeLogsProtobuf(body, { nowNs: NOW_NS }));
  } catch (error) {
    assert(isOperatingError(error, "invalid_argument"), `unexpected: ${error}`);
    return undefined;
  }
}

function referenceOrRefusal(body: Uint8Array): RowObject[] | undefined {
  try {
    return referenceRows(body, NOW_NS);
  } catch {
    return undefined;
  }
}

Deno.test({
  name: "decodeLogsProtobuf equals the reference on random requests",
  fn() {
    fc.assert(
      fc.property(logsRequest, (request) => {
        const body = encodeLogsRequest(request);
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
      }),
      { numRuns: 500 },
    );
  },
});

Deno.test({
  name: "decodeLogsProtobuf equals the reference where records are named alike",
  fn() {
    // Mostly those of the record before, at times with one that fills a column, or meets another or
    // the resource's.
    const attributes = fc.constantFrom(
      ["a.name", "b.name"],
      ["a.name", "b.name"],
      ["a.name", "c.name"],
      ["sourcetype", "b.name"],
      ["sourcetype", "c.name"],
      ["index", "a.name", "b.name"],
      ["b.name", "a.name", "b.name"],
      ["a.name", "zone"],
    ).map((names) => names.map((key, i) => ({ key, value: { stringValue: `"${key} ${i}` } })));
    const resource = { attributes: [{ key: "zone", value: { stringValue: "z" } }] };
    fc.assert(
      fc.property(fc.array(fc.record({ attributes }), { maxLength: 12 }), (logRecords) => {
        const scopeLogs = [{ logRecords }, { scope: { name: "s" }, logRecords }];
        const body = encodeLogsRequest({ resourceLogs: [{ resource, scopeLogs }] });
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "decodeLogsProtobuf equals the reference where maps of records are named alike",
  fn() {
    const { value } = fc.letrec<{ value: AnyValue; map: AnyValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.constantFrom<AnyValue>(
          { stringValue: 'some "text"' },
          { intValue: "-7" },
          { doubleValue: 1.5 },
          { boolValue: true },
          {},
        ),
        tie("map"),
        fc.array(tie("map"), { maxLength: 3 }).map((values) => ({ arrayValue: { values } })),
      ),
      // Mostly the names of one list, at times fewer, more, in another order, or twice.
      map: fc.constantFrom(
        ["id", "a longer name", 'q"uote'],
        ["id", "a longer name", 'q"uote'],
        ["id", "a longer name", 'q"uote'],
        ["id", "a longer name"],
        ["id", "a longer name", 'q"uote', "ünï"],
        ["a longer name", "id"],
        ["id", "other", "id"],
        [""],
        [],
        Array.from({ length: 40 }, (_, at) => `name ${at}`),
      ).chain((names) =>
        fc.tuple(...names.map((key) => tie("value").map((value) => ({ key, value }))))
      ).map((values) => ({ kvlistValue: { values } })),
    }));
    const attributes = fc.constantFrom(["a", "b"], ["a", "b"], ["a", "flags"], ["b", "a", "b"])
      .chain((names) => fc.tuple(...names.map((key) => value.map((value) => ({ key, value })))));
    const record = fc.record({ attributes, flags: fc.constantFrom(0, 0, 1) });
    fc.assert(
      fc.property(fc.array(record, { maxLength: 12 }), (logRecords) => {
        const body = encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "decodeLogsProtobuf remembers no more maps and names than it has room for",
  fn() {
    const map = (at: number, names: number): AnyValue => ({
      kvlistValue: {
        values: Array.from({ length: names }, (_, name) => ({
          key: `${"n".repeat(3_000)}${name % 29} of ${at}`,
          value: { intValue: String(at) },
        })),
      },
    });
    const logRecords = Array.from({ length: 4 }, (_, record) => ({
      attributes: Array.from({ length: 70 }, (_, at) => ({
        key: `map ${at}`,
        value: map(at + (record === 2 ? 1 : 0), at % 31),
      })),
    }));
    const body = encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
    assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
  },
});

Deno.test({
  name:
    "decodeLogsProtobuf equals the reference where resources take names of records turn by turn",
  fn() {
    const value = { stringValue: "v" };
    const names = (all: readonly string[]) => fc.subarray([...all]);
    const part = fc.record({
      resource: names(["a.name", "b.name", "service.name", "sourcetype", "trace_id"]),
      scope: fc.constantFrom(undefined, "lib"),
      records: fc.array(names(["a.name", "b.name", "c.name", "scope.name", "sourcetype"]), {
        minLength: 1,
        maxLength: 3,
      }),
    });
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 6 }), (parts) => {
        const resourceLogs = parts.map(({ resource, scope, records }) => ({
          resource: { attributes: resource.map((key) => ({ key, value })) },
          scopeLogs: [{
            ...(scope === undefined ? {} : { scope: { name: scope } }),
            logRecords: records.map((keys) => ({
              attributes: keys.map((key, i) => ({ key, value: { stringValue: `${key} ${i}` } })),
            })),
          }],
        }));
        const body = encodeLogsRequest({ resourceLogs });
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS));
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "decodeLogsProtobuf accepts and refuses mutated bytes as the reference does",
  fn() {
    fc.assert(
      fc.property(
        logsRequest,
        mutations,
        (request, all) => {
          const body = mutated(encodeLogsRequest(request), all);
          assert.deepEqual(decoded(body), referenceOrRefusal(body));
        },
      ),
      { numRuns: 2000 },
    );
  },
});

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

interface MappedCase {
  readonly what: string;
  readonly record?: LogRecord;
  readonly resource?: Record<string, string>;
  readonly scope?: { name?: string; version?: string; attributes?: ReturnType<typeof text>[] };
  readonly columns: Partial<RowObject>;
}

/** From docs/api/tables.md, by hand. */
const MAPPED: readonly MappedCase[] = [
  {
    what: "fallbacks of an empty record",
    columns: {
      timestamp_ns: NOW_NS,
      timestamp: NOW_NS / 1000n,
      host: "unknown",
      source: "otel",
      sourcetype: "otel:logs",
      index: "main",
      raw: "",
      attributes: null,
    },
  },
  {
    what: "core columns from attributes, which are not repeated",
    resource: { "host.name": "h", "service.name": "s", "cloud": "c" },
    record: { attributes: [text("sourcetype", "t"), text("index", "i"), text("k", "v")] },
    columns: {
      host: "h",
      source: "s",
      sourcetype: "t",
      index: "i",
      attributes: '{"k":"v","cloud":"c"}',
    },
  },
  {
    what: "scope name as source, kept as attribute",
    scope: { name: "lib", version: "1", attributes: [text("x", "y")] },
    columns: {
      source: "lib",
      attributes: '{"scope.name":"lib","scope.version":"1","scope.x":"y"}',
    },
  },
  {
    what: "empty names fill nothing and stay",
    resource: { "host.name": "", "service.name": "" },
    columns: {
      host: "unknown",
      source: "otel",
      attributes: '{"host.name":"","service.name":""}',
    },
  },
  {
    what: "first nonzero time wins",
    record: { timeUnixNano: "0", observedTimeUnixNano: "1999" },
    columns: {
      timestamp_ns: 1999n,
      timestamp: 1n,
      attributes: '{"observed_timestamp_ns":"1999"}',
    },
  },
  {
    what: "record attributes before the resource's of the same name",
    resource: { k: "r", other: "o" },
    record: { attributes: [text("k", "own")] },
    columns: { attributes: '{"k":"own","resource.k":"r","other":"o"}' },
  },
  {
    what: "a resource attribute named like one that filled a column",
    resource: { index: "r" },
    record: { attributes: [text("index", "i")] },
    columns: { index: "i", attributes: '{"resource.index":"r"}' },
  },
  {
    what: "a repeated name keeps its last value",
    record: {
      attributes: [text("k", "1"), text("index", "a"), text("k", "2"), text("index", "b")],
    },
    columns: { index: "b", attributes: '{"k":"2"}' },
  },
  {
    what: "the record's own fields, in their order",
    record: {
      severityText: "WARN",
      severityNumber: 13,
      traceId: Uint8Array.of(0xab, 1),
      spanId: Uint8Array.of(0xcd),
      flags: 1,
      eventName: "e",
      observedTimeUnixNano: "9223372036854775807",
      droppedAttributesCount: 4294967295,
      timeUnixNano: "9223372036854775807",
    },
    columns: {
      timestamp_ns: 2n ** 63n - 1n,
      timestamp: 9_223_372_036_854_775n,
      attributes: '{"severity_text":"WARN","severity_number":13,"trace_id":"ab01","span_id":"cd",' +
        '"flags":1,"event_name":"e","observed_timestamp_ns":"9223372036854775807",' +
        '"dropped_attributes_count":4294967295}',
    },
  },
  {
    what: "an id of zeros is none, and hides no attribute",
    record: {
      traceId: new Uint8Array(16),
      spanId: new Uint8Array(8),
      attributes: [text("trace_id", "mine")],
    },
    columns: { attributes: '{"trace_id":"mine"}' },
  },
  {
    what: "a field of the record before an attribute named like it",
    record: { severityText: "INFO", attributes: [text("severity_text", "mine"), text("k", "v")] },
    columns: { attributes: '{"k":"v","severity_text":"INFO"}' },
  },
  {
    what: "values of every type",
    record: {
      body: { kvlistValue: { values: [{ key: "a", value: { intValue: "-9007199254740993" } }] } },
      attributes: [
        { key: "bytes", value: { bytesValue: Uint8Array.of(1, 2) } },
        { key: "nan", value: { doubleValue: NaN } },
        { key: "list", value: { arrayValue: { values: [{ boolValue: true }, {}] } } },
        { key: "none" },
        { key: 'q"\n', value: { stringValue: "\u0001" } },
      ],
    },
    columns: {
      raw: '{"a":-9007199254740993}',
      attributes: '{"bytes":"AQI=","nan":"NaN","list":[true,null],"none":null,"q\\"\\n":"\\u0001"}',
    },
  },
  {
    what: "an index that is a number",
    record: { attributes: [{ key: "index", value: { intValue: 7 } }] },
    columns: { index: "7", attributes: null },
  },
];

Deno.test({
  name: "decodeLogsProtobuf maps records as docs/api/tables.md says",
  fn() {
    for (const { what, record = {}, resource = {}, scope, columns } of MAPPED) {
      const body = encodeLogsRequest({
        resourceLogs: [{
          resource: {
            attributes: Object.entries(resource).map(([key, value]) => text(key, value)),
          },
          scopeLogs: [{ ...(scope === undefined ? {} : { scope }), logRecords: [record] }],
        }],
      });
      const [row] = decoded(body) ?? [];
      for (const [name, value] of Object.entries(columns)) {
        assert.equal(row?.[name], value, `${what}: ${name}`);
      }
    }
  },
});

const oneRecord = (record: LogRecord) =>
  encodeLogsRequest({ resourceLogs: [{ scopeLogs: [{ logRecords: [record] }] }] });

function nestedValue(depth: number): AnyValue {
  let value: AnyValue = { intValue: 1 };
  for (let i = 0; i < depth; i += 1) value = { kvlistValue: { values: [{ key: "k", value }] } };
  return value;
}

const REFUSED: readonly {
  readonly what: string;
  readonly body: Uint8Array;
  readonly names: string;
}[] = [
  {
    what: "a time past 2262",
    body: oneRecord({ timeUnixNano: "9223372036854775808" }),
    names: "timeUnixNano 9223372036854775808",
  },
  {
    what: "a time that was negative",
    body: oneRecord({ observedTimeUnixNano: "18446744073709551615" }),
    names: "observedTimeUnixNano 18446744073709551615",
  },
  { what: "33 maps", body: oneRecord({ body: nestedValue(33) }), names: "deeper than 32" },
  { what: "a group", body: Uint8Array.of(0x0b, 0x0c), names: "wire type 3" },
  { what: "wire type 7", body: Uint8Array.of(0x0f), names: "wire type 7" },
  { what: "field 0", body: Uint8Array.of(0x02, 0x00), names: "number 0" },
  { what: "a truncated length", body: Uint8Array.of(0x0a, 0x05, 0x0a), names: "byte 2 of 3" },
  { what: "text", body: new TextEncoder().encode("{}"), names: "byte" },
  {
    what: "a body that is not UTF-8",
    body: Uint8Array.of(0x0a, 9, 0x12, 7, 0x12, 5, 0x2a, 3, 0x0a, 1, 0xff),
    names: "record 0 of the request: its raw is not UTF-8",
  },
];

Deno.test({
  name: "decodeLogsProtobuf refuses with invalid_argument, naming what is wrong",
  fn() {
    const { length } = decoded(oneRecord({ body: nestedValue(32) })) ?? [];
    assert.equal(length, 1);
    for (const { what, body, names } of REFUSED) {
      assert.throws(
        () => decodeLogsProtobuf(body, { nowNs: NOW_NS }),
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.includes(names),
        what,
      );
    }
  },
});

Deno.test({
  name: "decodeLogsProtobuf leaves nothing behind after a refusal, and takes an empty request",
  fn() {
    const late = oneRecord({
      body: { stringValue: "refused" },
      timeUnixNano: "9223372036854775808",
    });
    assert.throws(() => decodeLogsProtobuf(late, { nowNs: NOW_NS }));
    assert.deepEqual(decoded(new Uint8Array(0)), []);
    assert.deepEqual(decoded(oneRecord({ body: { stringValue: "kept" } }))?.map((row) => row.raw), [
      "kept",
    ]);
  },
});

Deno.test({
  name: "decodeLogsProtobuf merges a repeated singular message, and takes fields in any order",
  fn() {
    const scopeLogs = encodeLogsRequest({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "x" } }] }] }],
    }).slice(2);
    const resource = (key: string, value: string) =>
      encodeLogsRequest({ resourceLogs: [{ resource: { attributes: [text(key, value)] } }] })
        .slice(2);
    const parts = [scopeLogs, resource("host.name", "h"), resource("k", "v")];
    const inner = parts.flatMap((part) => [...part]);
    const rows = decoded(Uint8Array.from([0x0a, inner.length, ...inner]));
    assert.deepEqual(rows?.map(({ host, raw, attributes }) => ({ host, raw, attributes })), [
      { host: "h", raw: "x", attributes: '{"k":"v"}' },
    ]);
  },
});
