import assert from "node:assert/strict";
import { isOperatingError } from "../shared/base/errors.ts";
import { commitModeOf } from "./commit_mode.ts";
import { LaneChoice } from "./lane_choice.ts";
import { createIngestMetrics } from "./metrics.ts";
import { otlpEncodingOf } from "./otlp/otlp_reply.ts";
import { openGate } from "../tests/doubles/tenant_gate.ts";

const MODES: [query: string, header: string | null, mode: string][] = [
  ["", null, "wait_for"],
  ["commit=auto", null, "auto"],
  ["commit=wait_for", null, "wait_for"],
  ["x=1&commit=force", null, "force"],
  ["", "auto", "auto"],
  ["x=1", "force", "force"],
  ["commit=auto", "force", "auto"],
  ["commit=auto", "nonsense", "auto"],
];

for (const [query, header, mode] of MODES) {
  Deno.test({
    name: `commitModeOf ?${query} with header ${header} is ${mode}`,
    fn: () => assert.equal(commitModeOf(query, header), mode),
  });
}

const BAD_MODES: [query: string, header: string | null, named: RegExp][] = [
  ["commit=sync", null, /"sync" in query parameter commit: use auto, wait_for, force/],
  ["commit=", "auto", /"" in query parameter commit/],
  ["commit=Auto", null, /"Auto"/],
  ["", "true", /"true" in header X-Svc-Commit: use auto, wait_for, force/],
];

for (const [query, header, named] of BAD_MODES) {
  Deno.test({
    name: `commitModeOf refuses ?${query} with header ${header} naming value and choices`,
    fn: () =>
      assert.throws(() => commitModeOf(query, header), {
        message: named,
        code: "invalid_argument",
      }),
  });
}

const TYPES: [contentType: string | null, encoding: string | undefined][] = [
  ["application/x-protobuf", "protobuf"],
  ["application/json", "json"],
  ["application/json; charset=utf-8", "json"],
  ["Application/JSON;charset=UTF-8", "json"],
  ["application/x-protobuf; messageType=x", "protobuf"],
  ["application/protobuf", undefined],
  ["text/plain", undefined],
  ["application/jsonx", undefined],
  ["", undefined],
  [null, undefined],
];

for (const [contentType, encoding] of TYPES) {
  Deno.test({
    name: `otlpEncodingOf ${contentType} is ${encoding}`,
    fn: () => assert.equal(otlpEncodingOf(contentType), encoding),
  });
}

function laneChoice(lanesMax = 0) {
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  return { metrics, lanes: new LaneChoice(lanesMax, { tenants: openGate(metrics), metrics }) };
}

const LANES: [headers: Record<string, string>, index: string][] = [
  [{}, "events"],
  [{ "x-svc-index": "events" }, "events"],
  [{ "x-svc-index": "web-logs.2026" }, "web-logs.2026"],
  [{ "x-svc-index": "a".repeat(128) }, "a".repeat(128)],
];

for (const [headers, index] of LANES) {
  Deno.test({
    name: `LaneChoice takes ${JSON.stringify(headers).slice(0, 60)} to index ${index.slice(0, 20)}`,
    fn: () => {
      const lane = laneChoice().lanes.choose(new Headers(headers), "default");
      assert.deepEqual(lane, { tenant: "default", index });
    },
  });
}

const BAD_INDEXES = [
  "",
  "Upper",
  "../up",
  "a/b",
  ".hidden",
  "a".repeat(129),
  "a b",
  "traces",
  "query_audit",
];

for (const index of BAD_INDEXES) {
  Deno.test({
    name: `LaneChoice refuses index ${JSON.stringify(index.slice(0, 20))} with 400 naming it`,
    fn: () => {
      assert.throws(
        () => laneChoice().lanes.choose(new Headers({ "x-svc-index": index }), "default"),
        (error) =>
          isOperatingError(error, "invalid_argument") &&
          error.message.includes(JSON.stringify(index)),
      );
    },
  });
}

Deno.test({
  name:
    "LaneChoice keeps known lanes writing past the cap and refuses a new one without a retry hint",
  fn: () => {
    const { lanes, metrics } = laneChoice(2);
    const lane = (index: string) => ({ tenant: "default", index });
    using events = lanes.admit(lane("events"));
    events.keep();
    using web = lanes.admit(lane("web"));
    web.keep();
    lanes.admit(lane("events"))[Symbol.dispose]();
    assert.throws(
      () => lanes.admit(lane("third")),
      (error) =>
        isOperatingError(error, "unavailable") && error.retryAfterSecs === undefined &&
        error.message.includes("default/third"),
    );
    lanes.admit(lane("web"))[Symbol.dispose]();
    assert.equal(metrics.laneRefused.at({}).value, 1);
  },
});

Deno.test({
  name:
    "LaneChoice gives a lane's place back with the last request of it, unless one opened the lane",
  fn: () => {
    const { lanes } = laneChoice(1);
    const lane = (index: string) => ({ tenant: "default", index });
    const first = lanes.admit(lane("web"));
    const second = lanes.admit(lane("web"));
    first[Symbol.dispose]();
    assert.throws(() => lanes.admit(lane("other")), { code: "unavailable" });
    second[Symbol.dispose]();
    using other = lanes.admit(lane("other"));
    other.keep();
    lanes.admit(lane("other"))[Symbol.dispose]();
    assert.throws(() => lanes.admit(lane("web")), { code: "unavailable" });
  },
});
