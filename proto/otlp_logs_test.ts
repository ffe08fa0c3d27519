import assert from "node:assert/strict";
import {
  encodeExportLogsResponseProtobuf,
  encodeLogsRequest,
  encodeStatusProtobuf,
  exportLogsResponseJson,
  regularLogsRequest,
  requestViolation,
  statusJson,
} from "./otlp_logs.ts";

const ascii = (text: string) => [...new TextEncoder().encode(text)];

/** Bytes by hand from the wire format: tag, length, value. */
const ENCODED: readonly { what: string; found: Uint8Array; bytes: number[] }[] = [
  { what: "full success", found: encodeExportLogsResponseProtobuf(), bytes: [] },
  {
    what: "partial success",
    found: encodeExportLogsResponseProtobuf({ rejected: 3, message: "why" }),
    bytes: [0x0a, 7, 0x08, 3, 0x12, 3, ...ascii("why")],
  },
  {
    what: "a warning",
    found: encodeExportLogsResponseProtobuf({ message: "why" }),
    bytes: [0x0a, 5, 0x12, 3, ...ascii("why")],
  },
  {
    what: "a status",
    found: encodeStatusProtobuf({ code: 14, message: "later" }),
    bytes: [0x08, 14, 0x12, 5, ...ascii("later")],
  },
  {
    what: "a request",
    found: encodeLogsRequest({
      resourceLogs: [{ scopeLogs: [{ logRecords: [{ timeUnixNano: "258", flags: 1 }] }] }],
    }),
    bytes: [0x0a, 18, 0x12, 16, 0x12, 14, 0x09, 2, 1, 0, 0, 0, 0, 0, 0, 0x45, 1, 0, 0, 0],
  },
  {
    what: "a request whose resource came in two parts",
    found: regularLogsRequest(
      Uint8Array.of(0x0a, 12, 0x0a, 4, 0x0a, 2, 0x0a, 0, 0x0a, 4, 0x0a, 2, 0x0a, 0),
    ),
    bytes: [0x0a, 6, 0x0a, 4, 0x0a, 0, 0x0a, 0],
  },
];

Deno.test({
  name: "otlp_logs encodes what the wire format says",
  fn() {
    for (const { what, found, bytes } of ENCODED) assert.deepEqual([...found], bytes, what);
  },
});

Deno.test({
  name: "encodeStatusProtobuf carries BadRequest as a typed detail",
  fn() {
    const type = ascii("type.googleapis.com/google.rpc.BadRequest");
    const violation = [0x0a, 1, ...ascii("f"), 0x12, 1, ...ascii("d")];
    const badRequest = [0x0a, violation.length, ...violation];
    const any = [0x0a, type.length, ...type, 0x12, badRequest.length, ...badRequest];
    const status = encodeStatusProtobuf({
      code: 3,
      message: "m",
      violations: [{ field: "f", description: "d" }],
    });
    assert.deepEqual([...status], [0x08, 3, 0x12, 1, ...ascii("m"), 0x1a, any.length, ...any]);
  },
});

Deno.test({
  name: "statusJson and exportLogsResponseJson are the ProtoJSON forms",
  fn() {
    assert.equal(statusJson({ code: 3, message: "m" }), '{"code":3,"message":"m"}');
    assert.equal(
      statusJson({ code: 3, message: "m", violations: [{ field: "f", description: "d" }] }),
      '{"code":3,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.BadRequest",' +
        '"fieldViolations":[{"field":"f","description":"d"}]}]}',
    );
    assert.equal(
      statusJson({ code: 14, message: "m", reason: "lane_cap" }),
      '{"code":14,"message":"m","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo",' +
        '"reason":"LANE_CAP","domain":"svc"}]}',
    );
    assert.deepEqual(requestViolation("why", "bad_thing"), {
      field: "",
      description: "why",
      reason: "BAD_THING",
    });
    assert.equal(exportLogsResponseJson(), "{}");
    assert.equal(
      exportLogsResponseJson({ rejected: 2, message: "why" }),
      '{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"why"}}',
    );
  },
});

Deno.test({
  name: "encodeStatusProtobuf carries RetryInfo as a typed detail",
  fn() {
    const type = ascii("type.googleapis.com/google.rpc.RetryInfo");
    const retryInfo = [0x0a, 2, 0x08, 5];
    const any = [0x0a, type.length, ...type, 0x12, retryInfo.length, ...retryInfo];
    const status = encodeStatusProtobuf({ code: 14, message: "m", retryAfterSecs: 5 });
    assert.deepEqual([...status], [0x08, 14, 0x12, 1, ...ascii("m"), 0x1a, any.length, ...any]);
  },
});

Deno.test({
  name: "encodeStatusProtobuf carries ErrorInfo as a typed detail, its reason in capitals",
  fn() {
    const type = ascii("type.googleapis.com/google.rpc.ErrorInfo");
    const errorInfo = [0x0a, 8, ...ascii("LANE_CAP"), 0x12, 3, ...ascii("svc")];
    const any = [0x0a, type.length, ...type, 0x12, errorInfo.length, ...errorInfo];
    const status = encodeStatusProtobuf({ code: 14, message: "m", reason: "lane_cap" });
    assert.deepEqual([...status], [0x08, 14, 0x12, 1, ...ascii("m"), 0x1a, any.length, ...any]);
  },
});
