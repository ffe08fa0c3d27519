import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeTracesRequest } from "../../../proto/otlp_traces.ts";
import { utf8 } from "../../../shared/base/bytes.ts";
import { isOperatingError } from "../../../shared/base/errors.ts";
import { type RowObject, rowsOf } from "../../../shared/columns/rows.ts";
import { jsonForm } from "../../../tests/otlp/json_form.ts";
import { tracesRequest } from "../../../tests/otlp/spans_arbitrary.ts";
import { decodeSpansJson } from "./spans_json.ts";
import { decodeSpansProtobuf } from "./spans_protobuf.ts";

const NOW_NS = 1_763_672_645_123_456_789n;

function rowsOfJson(text: string): RowObject[] {
  return rowsOf(decodeSpansJson(utf8(text), { nowNs: NOW_NS }));
}

const IDS = `"traceId":"A0A1A2A3A4A5A6A7A8A9AAABACADAEAF","spanId":"0102030405060708"`;

function rowsOfSpan(members: string): RowObject[] {
  const span = members === "" ? IDS : `${IDS},${members}`;
  return rowsOfJson(`{"resourceSpans":[{"scopeSpans":[{"spans":[{${span}}]}]}]}`);
}

Deno.test({
  name: "decodeSpansJson equals decodeSpansProtobuf on the same request",
  fn() {
    fc.assert(
      fc.property(tracesRequest, fc.boolean(), (request, upperCase) => {
        const json = jsonForm(request, (hex) => upperCase ? hex.toUpperCase() : hex);
        assert.deepEqual(
          rowsOfJson(json),
          rowsOf(decodeSpansProtobuf(encodeTracesRequest(request), { nowNs: NOW_NS })),
        );
      }),
      { numRuns: 250 },
    );
  },
});

const ACCEPTED: readonly { readonly span: string; readonly columns: Partial<RowObject> }[] = [
  { span: "", columns: { trace_id: "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf", name: "", events: null } },
  {
    span: `"status":{},"events":[],"links":null,"kind":null`,
    columns: { kind: "SPAN_KIND_UNSPECIFIED" },
  },
  {
    span: `"startTimeUnixNano":1763672645123456789,"endTimeUnixNano":"1763672645123456799"`,
    columns: { timestamp_ns: 1_763_672_645_123_456_789n, duration_nanos: 10n },
  },
  {
    span: `"startTimeUnixNano":1763672645123456789,"endTimeUnixNano":1763672645123456791`,
    columns: { timestamp_ns: 1_763_672_645_123_456_789n, duration_nanos: 2n },
  },
  {
    span: `"kind":3,"status":{"code":1},"parentSpanId":"","flags":4294967295`,
    columns: {
      kind: "SPAN_KIND_CLIENT",
      status_code: "STATUS_CODE_OK",
      parent_span_id: null,
      attributes: `{"flags":4294967295}`,
    },
  },
  {
    span: `"events":[{"timeUnixNano":1763672645123456789,"name":"e","unknown":1}]`,
    columns: {
      events: `[{"time_unix_nano":"1763672645123456789","name":"e","attributes":{}}]`,
    },
  },
];

const REFUSED: readonly { readonly span: string; readonly names: string }[] = [
  { span: `"kind":"SPAN_KIND_SERVER"`, names: "kind" },
  { span: `"status":7`, names: "spans[0].status is 7; send an object" },
  {
    span: `"events":[7]`,
    names: "resourceSpans[0].scopeSpans[0].spans[0].events[0] is 7; send an object",
  },
  { span: `"links":{}`, names: "links is an object" },
  { span: `"parentSpanId":"xy"`, names: `parentSpanId is "xy"` },
  { span: `"parentSpanId":"07"`, names: `parentSpanId "07" of 1 bytes` },
  { span: `"startTimeUnixNano":"-1"`, names: `startTimeUnixNano is "-1"` },
  { span: `"endTimeUnixNano":1.5`, names: "endTimeUnixNano is 1.5" },
  { span: `"events":[{"timeUnixNano":"9223372036854775808"}]`, names: "9223372036854775808" },
  { span: `"droppedEventsCount":-1`, names: "droppedEventsCount is -1" },
];

Deno.test({
  name: "decodeSpansJson reads what OTLP/JSON allows and refuses what it does not, naming it",
  fn() {
    for (const { span, columns } of ACCEPTED) {
      const [row] = rowsOfSpan(span);
      for (const [name, value] of Object.entries(columns)) assert.equal(row?.[name], value, span);
    }
    for (const { span, names } of REFUSED) {
      assert.throws(
        () => rowsOfSpan(span),
        (error: unknown) =>
          isOperatingError(error, "invalid_argument") && error.message.includes(names),
        span,
      );
    }
  },
});
