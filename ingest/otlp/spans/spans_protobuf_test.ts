import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import fc from "fast-check";
import type { AnyValue } from "../../../proto/otlp_common.ts";
import { encodeTracesRequest, type Span } from "../../../proto/otlp_traces.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { type RowObject, rowsOf } from "../../../shared/columns/rows.ts";
import { mutated, mutations } from "../../../tests/otlp/mutated_bytes.ts";
import { tracesRequest } from "../../../tests/otlp/spans_arbitrary.ts";
import { decodeSpansProtobuf } from "./spans_protobuf.ts";
import { referenceRows } from "../../../tests/otlp/spans_reference.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

/** Rows, or undefined for a refusal; any other error fails the test. */
function decoded(body: Uint8Array): RowObject[] | undefined {
  try {
    return rowsOf(decodeSpansProtobuf(body, { nowNs: NOW_NS })).map(sorted);
  } catch (error) {
    assert(isOperatingError(error, "invalid_argument"), `unexpected: ${error}`);
    return undefined;
  }
}

function reference(body: Uint8Array): RowObject[] | undefined {
  try {
    return referenceRows(body, NOW_NS).map(sorted);
  } catch {
    return undefined;
  }
}

/** Columns by name: the reference has them in its own order. */
function sorted(row: RowObject): RowObject {
  return Object.fromEntries(Object.entries(row).sort(([a], [b]) => a < b ? -1 : 1));
}

Deno.test({
  name: "decodeSpansProtobuf equals the reference on random requests",
  fn() {
    fc.assert(
      fc.property(tracesRequest, (request) => {
        const body = encodeTracesRequest(request);
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS).map(sorted));
      }),
      { numRuns: 400 },
    );
  },
});

Deno.test({
  name: "decodeSpansProtobuf accepts and refuses mutated bytes as the reference does",
  fn() {
    let accepted = 0;
    let rows = 0;
    fc.assert(
      fc.property(tracesRequest, mutations, (request, all) => {
        const body = mutated(encodeTracesRequest(request), all);
        const found = decoded(body);
        assert.deepEqual(found, reference(body));
        accepted += found === undefined ? 0 : 1;
        rows += found?.length ?? 0;
      }),
      { numRuns: 1500 },
    );
    assert(accepted > 50 && accepted < 1500 && rows > 10, `${accepted} accepted, ${rows} rows`);
  },
});

/**
 * Attributes of one message: mostly those of the message before, at times with one that meets
 * another or the scope's.
 */
const alike = fc.constantFrom(
  ["http.method", "url.path", "user.id"],
  ["http.method", "url.path", "user.id"],
  ["http.method", "url.path", "user.id", "user.id"],
  ["http.method", "user.id", "url.path"],
  ["http.method", "url.path", "scope.zone"],
  ["url.path", "http.method", "url.path"],
  ["url.path", "http.method"],
).map((names) => names.map((key, i) => ({ key, value: { stringValue: `"${key} ${i}` } })));

Deno.test({
  name: "decodeSpansProtobuf equals the reference where spans, events and links are named alike",
  fn() {
    const span = fc.record({
      traceId: fc.constant(TRACE_ID),
      spanId: fc.constant(SPAN_ID),
      attributes: alike,
      events: fc.array(fc.record({ name: fc.constant("e"), attributes: alike }), { maxLength: 3 }),
      links: fc.array(fc.record({ attributes: alike }), { maxLength: 3 }),
    });
    const scope = { name: "s", attributes: [{ key: "zone", value: { stringValue: "z" } }] };
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 8 }), (spans) => {
        const resourceSpans = [{ scopeSpans: [{ scope, spans }, { spans }] }];
        const body = encodeTracesRequest({ resourceSpans });
        assert.deepEqual(decoded(body), referenceRows(body, NOW_NS).map(sorted));
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test("decodeSpansProtobuf takes the last of a name that two messages before had in two places", () => {
  const none = (key: string) => ({ key, value: { stringValue: "" } });
  // The name of no bytes is not remembered; behind it stood what was known of the first event.
  const named = [["a"], ["", "k", "a"], ["a", "k", "a"], ["a", "k"]];
  const events = named.map((names) => ({ name: "e", attributes: names.map(none) }));
  const spans = [{ traceId: TRACE_ID, spanId: SPAN_ID, events }];
  const body = encodeTracesRequest({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
  assert.deepEqual(decoded(body), referenceRows(body, NOW_NS).map(sorted));
});

const TRACE_ID = Uint8Array.from({ length: 16 }, (_, i) => 0xa0 + i);
const TRACE_HEX = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf";
const SPAN_ID = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });

interface MappedCase {
  readonly what: string;
  readonly span?: Span;
  readonly resource?: Record<string, string>;
  readonly scope?: { name?: string; version?: string; attributes?: ReturnType<typeof text>[] };
  readonly columns: Partial<RowObject>;
}

/** From docs/api/tables.md#traces and the decisions in `spans_protobuf.ts`, by hand. */
const MAPPED: readonly MappedCase[] = [
  {
    what: "an empty span",
    columns: {
      timestamp_ns: NOW_NS,
      timestamp: NOW_NS / 1000n,
      trace_id: TRACE_HEX,
      span_id: "0102030405060708",
      parent_span_id: null,
      service: "unknown",
      name: "",
      kind: "SPAN_KIND_UNSPECIFIED",
      status_code: "STATUS_CODE_UNSET",
      status_message: null,
      duration_nanos: 0n,
      trace_state: null,
      scope_name: null,
      scope_version: null,
      attributes: null,
      resource_attributes: null,
      events: null,
      links: null,
    },
  },
  {
    what: "a span with everything",
    resource: { "service.name": "shop", "host.name": "h" },
    scope: { name: "lib", version: "2", attributes: [text("x", "y")] },
    span: {
      parentSpanId: Uint8Array.of(9, 9, 9, 9, 9, 9, 9, 9),
      name: "GET /",
      kind: 2,
      startTimeUnixNano: "1763672645000000001",
      endTimeUnixNano: "1763672649500000000",
      traceState: "a=b",
      attributes: [text("k", "v")],
      droppedAttributesCount: 1,
      droppedEventsCount: 2,
      droppedLinksCount: 3,
      flags: 257,
      status: { code: 2, message: "boom" },
      events: [
        {
          timeUnixNano: "5",
          name: "exception",
          attributes: [text("t", "E")],
          droppedAttributesCount: 4,
        },
        {},
      ],
      links: [{
        traceId: TRACE_ID,
        spanId: SPAN_ID,
        traceState: "c=d",
        attributes: [text("l", "m")],
        droppedAttributesCount: 5,
        flags: 1,
      }, {}],
    },
    columns: {
      timestamp_ns: 1_763_672_645_000_000_001n,
      timestamp: 1_763_672_645_000_000n,
      parent_span_id: "0909090909090909",
      service: "shop",
      name: "GET /",
      kind: "SPAN_KIND_SERVER",
      status_code: "STATUS_CODE_ERROR",
      status_message: "boom",
      duration_nanos: 4_499_999_999n,
      trace_state: "a=b",
      scope_name: "lib",
      scope_version: "2",
      attributes: '{"k":"v","scope.x":"y","flags":257,"dropped_attributes_count":1,' +
        '"dropped_events_count":2,"dropped_links_count":3}',
      resource_attributes: '{"host.name":"h"}',
      events: '[{"time_unix_nano":"5","name":"exception","attributes":{"t":"E"},' +
        '"dropped_attributes_count":4},{"time_unix_nano":"0","name":"","attributes":{}}]',
      links: `[{"trace_id":"${TRACE_HEX}","span_id":"0102030405060708","trace_state":"c=d",` +
        '"attributes":{"l":"m"},"dropped_attributes_count":5,"flags":1},' +
        '{"trace_id":"","span_id":"","attributes":{}}]',
    },
  },
  {
    what: "an end before the start takes no time",
    span: { startTimeUnixNano: "1763672645000000001", endTimeUnixNano: "1763672645000000000" },
    columns: { timestamp_ns: 1_763_672_645_000_000_001n, duration_nanos: 0n },
  },
  {
    what: "a start without an end takes no time",
    span: { startTimeUnixNano: "7" },
    columns: { timestamp_ns: 7n, duration_nanos: 0n },
  },
  {
    what: "an end without a start is the time",
    span: { endTimeUnixNano: "1763672645000000000" },
    columns: { timestamp_ns: 1_763_672_645_000_000_000n, duration_nanos: 0n },
  },
  {
    what: "the longest span",
    span: { startTimeUnixNano: "1", endTimeUnixNano: "9223372036854775807" },
    columns: { timestamp_ns: 1n, timestamp: 0n, duration_nanos: 2n ** 63n - 2n },
  },
  {
    what: "a parent of zeros is none; unknown enum numbers stay numbers",
    span: { parentSpanId: new Uint8Array(8), kind: 9, status: { code: -1 } },
    columns: { parent_span_id: null, kind: "9", status_code: "-1" },
  },
  {
    what: "repeated names keep the last, fields of the span stand before attributes",
    span: { flags: 1, attributes: [text("k", "1"), text("flags", "mine"), text("k", "2")] },
    columns: { attributes: '{"k":"2","flags":1}' },
  },
  {
    what: "an attribute named like a field that is not set",
    span: { attributes: [text("flags", "mine"), text("k", "v")] },
    columns: { attributes: '{"flags":"mine","k":"v"}' },
  },
];

Deno.test({
  name: "decodeSpansProtobuf maps spans as docs/api/tables.md says",
  fn() {
    for (const { what, span = {}, resource = {}, scope, columns } of MAPPED) {
      const body = encodeTracesRequest({
        resourceSpans: [{
          resource: {
            attributes: Object.entries(resource).map(([key, value]) => text(key, value)),
          },
          scopeSpans: [{
            ...(scope === undefined ? {} : { scope }),
            spans: [{ traceId: TRACE_ID, spanId: SPAN_ID, ...span }],
          }],
        }],
      });
      const [row] = decoded(body) ?? [];
      for (const [name, value] of Object.entries(columns)) {
        assert.equal(row?.[name], value, `${what}: ${name}`);
      }
    }
  },
});

const oneSpan = (span: Span) =>
  encodeTracesRequest({
    resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE_ID, spanId: SPAN_ID, ...span }] }] }],
  });

function nestedValue(depth: number): AnyValue {
  let value: AnyValue = { intValue: 1 };
  for (let i = 0; i < depth; i += 1) value = { kvlistValue: { values: [{ key: "k", value }] } };
  return value;
}

const deep = (depth: number) => [{ key: "k", value: nestedValue(depth) }];
const LATE = "9223372036854775808";

const REFUSED: readonly { readonly span: Span; readonly names: string }[] = [
  { span: { traceId: new Uint8Array(0) }, names: 'traceId "" of 0 bytes' },
  { span: { traceId: Uint8Array.of(0xab, 1) }, names: 'traceId "ab01" of 2 bytes: send 16' },
  { span: { traceId: new Uint8Array(16) }, names: `traceId "${"00".repeat(16)}"` },
  { span: { traceId: new Uint8Array(1000).fill(1) }, names: "of 1000 bytes" },
  { span: { spanId: new Uint8Array(8) }, names: 'spanId "0000000000000000"' },
  { span: { spanId: TRACE_ID }, names: `spanId "${TRACE_HEX}" of 16 bytes: send 8` },
  { span: { parentSpanId: Uint8Array.of(7) }, names: 'parentSpanId "07" of 1 bytes' },
  { span: { links: [{ traceId: SPAN_ID }] }, names: 'link\'s traceId "0102030405060708"' },
  { span: { links: [{ spanId: TRACE_ID }] }, names: "link's spanId" },
  { span: { startTimeUnixNano: LATE }, names: `startTimeUnixNano ${LATE}` },
  { span: { endTimeUnixNano: LATE }, names: `endTimeUnixNano ${LATE}` },
  { span: { events: [{ timeUnixNano: LATE }] }, names: `timeUnixNano ${LATE}` },
  { span: { attributes: deep(33) }, names: "deeper than 32" },
  { span: { events: [{ attributes: deep(33) }] }, names: "deeper than 32" },
  { span: { links: [{ attributes: deep(33) }] }, names: "deeper than 32" },
];

Deno.test({
  name: "decodeSpansProtobuf refuses with invalid_argument, naming what is wrong",
  fn() {
    for (const span of [{ attributes: deep(32) }, { events: [{ attributes: deep(32) }] }]) {
      assert.equal(decoded(oneSpan(span))?.length, 1);
    }
    for (const { span, names } of REFUSED) {
      assert.throws(
        () => decodeSpansProtobuf(oneSpan(span), { nowNs: NOW_NS }),
        (error: unknown) => {
          assert(isOperatingError(error, "invalid_argument"), `${error}`);
          assert(error.message.includes(names), `${error.message} names ${names}`);
          return true;
        },
      );
    }
  },
});

Deno.test({
  name: "decodeSpansProtobuf leaves nothing behind after a refusal, and takes an empty request",
  fn() {
    const refused = oneSpan({
      name: "refused",
      events: [{ name: "e" }],
      links: [{ spanId: Uint8Array.of(1) }],
    });
    assert.throws(() => decodeSpansProtobuf(refused, { nowNs: NOW_NS }));
    assert.deepEqual(decoded(new Uint8Array(0)), []);
    const kept = decoded(oneSpan({ name: "kept" }))?.map(({ name, events }) => ({ name, events }));
    assert.deepEqual(kept, [{ name: "kept", events: null }]);
  },
});

/** A length-delimited field. */
const field = (number: number, ...content: readonly number[]) => [
  (number << 3) | 2,
  content.length,
  ...content,
];
const ID_FIELDS = [...field(1, ...TRACE_ID), ...field(2, ...SPAN_ID)];
/** A string value. */
const TEXT_X = field(1, 0x78);

/** Fields of a span by hand, and the columns they must become. */
const IRREGULAR: readonly {
  readonly what: string;
  readonly fields: readonly number[];
  readonly columns: Partial<RowObject>;
}[] = [
  {
    what: "a name twice",
    fields: [...field(5, 0x61), ...field(5, 0x62)],
    columns: { name: "b" },
  },
  {
    what: "a status in two parts",
    fields: [...field(15, 0x18, 2), ...field(15, ...field(2, 0x78))],
    columns: { status_code: "STATUS_CODE_ERROR", status_message: "x" },
  },
  {
    what: "an event's name twice",
    fields: field(11, ...field(2, 0x61), ...field(2, 0x62)),
    columns: { events: '[{"time_unix_nano":"0","name":"b","attributes":{}}]' },
  },
  {
    what: "an id twice: the last stands",
    fields: field(2, 8, 8, 8, 8, 8, 8, 8, 8),
    columns: { span_id: "0808080808080808" },
  },
  {
    what: "attributes apart from one another, before and after other fields",
    fields: [
      ...field(9, ...field(1, 0x61), ...field(2, ...TEXT_X)),
      ...field(5, 0x6e),
      ...field(11, ...field(3, ...field(1, 0x6b), ...field(2, ...TEXT_X)), ...field(2, 0x65)),
      ...field(9, ...field(1, 0x62), ...field(2, ...TEXT_X)),
      ...field(9, ...field(1, 0x61), ...field(2, ...field(1, 0x79))),
    ],
    columns: {
      name: "n",
      attributes: '{"b":"x","a":"y"}',
      events: '[{"time_unix_nano":"0","name":"e","attributes":{"k":"x"}}]',
    },
  },
];

Deno.test({
  name: "decodeSpansProtobuf merges repeated singular fields, and takes fields in any order",
  fn() {
    for (const { what, fields, columns } of IRREGULAR) {
      const span = field(2, ...ID_FIELDS, ...fields);
      const [row] = decoded(Uint8Array.from(field(1, ...field(2, ...span)))) ?? [];
      for (const [name, value] of Object.entries(columns)) {
        assert.equal(row?.[name], value, `${what}: ${name}`);
      }
    }
  },
});

Deno.test({
  name:
    "decodeSpansProtobuf keeps what spans share when the body is given back, also that of a Buffer",
  fn() {
    const request = {
      resourceSpans: [{
        resource: { attributes: [text("service.name", "cart"), text("zone", "a")] },
        scopeSpans: [{
          scope: { name: "shop", version: "1", attributes: [text("kind", "b")] },
          spans: [{ traceId: TRACE_ID, spanId: SPAN_ID, attributes: [text("own", "c")] }],
        }],
      }],
    };
    const bodies = Array.from({ length: 2 }, () => {
      const bytes = Uint8Array.from(encodeTracesRequest(request));
      return Buffer.from(bytes.buffer);
    });
    const rows = bodies.map((body) => {
      const found = decoded(body);
      body.buffer.transfer(0);
      return found;
    });
    assert.deepEqual(rows[1], rows[0]);
    assert.equal(rows[0]?.[0]?.["scope_name"], "shop");
  },
});
