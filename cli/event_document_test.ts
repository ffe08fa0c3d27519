import assert from "node:assert/strict";
import { eventRowOf } from "./event_document.ts";

const NOW_NS = 1_700_000_000_123_456_789n;
const BASE = {
  timestamp: 1_700_000_000_123_456n,
  timestamp_ns: NOW_NS,
  host: "unknown",
  source: "bulk",
  sourcetype: "bulk:doc",
  index: "main",
};

const ROWS: { document: string; want: Record<string, unknown> }[] = [
  { document: `{"message":"hi"}`, want: { raw: "hi", attributes: null } },
  { document: ` {"a":1} `, want: { raw: `{"a":1}`, attributes: `{"a":1}` } },
  { document: `{}`, want: { raw: "{}", attributes: null } },
  { document: `{"message":{"k":[1]}}`, want: { raw: `{"k":[1]}`, attributes: null } },
  {
    document: `{"message":null}`,
    want: { raw: `{"message":null}`, attributes: `{"message":null}` },
  },
  {
    document: `{"message":"m","host":"h","source":"s","sourcetype":"t","index":"i"}`,
    want: { raw: "m", host: "h", source: "s", sourcetype: "t", index: "i", attributes: null },
  },
  {
    document: `{"message":"m","host.name":"a","host":"b","service.name":"c","source":"d"}`,
    want: { raw: "m", host: "a", source: "c", attributes: `{"host":"b","source":"d"}` },
  },
  {
    document: `{"message":"m","host":{"name":"a"}}`,
    want: { raw: "m", host: "a", attributes: null },
  },
  {
    document: `{"message":"m","host":{"name":"a","ip":"::1"}}`,
    want: { raw: "m", host: "a", attributes: `{"host":{"ip":"::1"}}` },
  },
  {
    document: `{"message":"m","host":7,"source":null}`,
    want: { raw: "m", attributes: `{"host":7,"source":null}` },
  },
  {
    document: `{"message":"m","id":9223372036854775807,"f":1.50}`,
    want: { raw: "m", attributes: `{"id":9223372036854775807,"f":1.50}` },
  },
];

for (const { document, want } of ROWS) {
  Deno.test({
    name: `eventRowOf maps ${document}`,
    fn: () => assert.deepEqual(eventRowOf(document, { nowNs: NOW_NS }), { ...BASE, ...want }),
  });
}

const TIMES: { time: string; ns: bigint; name?: string }[] = [
  { time: `"2026-11-20T21:04:05.123456789Z"`, ns: 1_795_208_645_123_456_789n },
  { time: `"2026-11-20T22:04:05+01:00"`, ns: 1_795_208_645_000_000_000n, name: "@timestamp" },
  { time: "0", ns: 0n },
  { time: "1795208645", ns: 1_795_208_645_000_000_000n },
  { time: "1795208645.25", ns: 1_795_208_645_250_000_000n },
  { time: "1795208645123", ns: 1_795_208_645_123_000_000n },
  { time: "1795208645123.5", ns: 1_795_208_645_123_500_000n },
  { time: "1795208645123456", ns: 1_795_208_645_123_456_000n },
  { time: "1795208645123456789", ns: 1_795_208_645_123_456_789n },
  { time: "9223372036854775807", ns: 9_223_372_036_854_775_807n },
];

for (const { time, ns, name = "timestamp" } of TIMES) {
  Deno.test({
    name: `eventRowOf reads ${name} ${time}`,
    fn: () => {
      const row = eventRowOf(`{"${name}":${time},"message":"m"}`, { nowNs: NOW_NS });
      assert.deepEqual(row, {
        ...BASE,
        timestamp: ns / 1_000n,
        timestamp_ns: ns,
        raw: "m",
        attributes: null,
      });
    },
  });
}

const REFUSED: { document: string; says: RegExp }[] = [
  { document: "nonsense", says: /no JSON$/ },
  { document: `{"a":1`, says: /no JSON$/ },
  { document: "[1]", says: /no JSON object$/ },
  { document: "null", says: /no JSON object$/ },
  { document: "12345678901234567890", says: /no JSON object$/ },
  { document: `{"timestamp":"yesterday"}`, says: /its timestamp "yesterday" is no time/ },
  { document: `{"timestamp":"2026-11-20T21:04:05"}`, says: /is no time/ },
  { document: `{"@timestamp":-1}`, says: /its @timestamp -1 is no time/ },
  { document: `{"timestamp":9223372036854775808}`, says: /9223372036854775808 is no time/ },
  { document: `{"timestamp":true}`, says: /true is no time/ },
  { document: `{"a":${"[".repeat(32)}${"]".repeat(32)}}`, says: /nests deeper than 32/ },
];

for (const { document, says } of REFUSED) {
  Deno.test({
    name: `eventRowOf refuses ${document}`,
    fn: () => assert.throws(() => eventRowOf(document, { nowNs: NOW_NS }), says),
  });
}
