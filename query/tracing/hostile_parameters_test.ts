/** Hostile addresses: each gets a clear 400 in its API's form, and none becomes SQL. */

import assert from "node:assert/strict";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { queryApp } from "../routes.ts";
import { testService } from "../../tests/doubles/query_server.ts";
import {
  V1_ERROR,
  V1_NAMES,
  V1_TRACES,
  V3_ERROR,
  V3_SUMMARIES,
} from "../../tests/tracing/jaeger_schemas.ts";
import { micros, rfc3339, spanId, traceId, TraceLab } from "../../tests/tracing/trace_lab.ts";

const RANGE = `start=${micros(0)}&end=${micros(100)}`;
const V3_RANGE = `query.startTimeMin=${rfc3339(0)}&query.startTimeMax=${rfc3339(100)}`;

/** Address, and what its message must name. */
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ["/traces", /service/],
  ["/traces?service=", /service/],
  ["/traces?service=a&start=x", /start.*"x"/],
  ["/traces?service=a&start=-5", /start.*"-5"/],
  ["/traces?service=a&start=1e9", /start.*"1e9"/],
  ["/traces?service=a&end=99999999999999999999", /end.*9999/],
  ["/traces?service=a&end=9223372036854775808", /end.*9223372036854775808/],
  ["/traces?service=a&start=20&end=10", /start.*before end/],
  ["/traces?service=a&limit=0", /limit.*"0"/],
  ["/traces?service=a&limit=-1", /limit.*"-1"/],
  ["/traces?service=a&limit=1.5", /limit.*"1.5"/],
  ["/traces?service=a&limit=ten", /limit.*"ten"/],
  ["/traces?service=a&limit=9999999999", /9999999999 traces.*ask for fewer/],
  ["/traces?service=a&minDuration=5", /minDuration.*"5".*1.2s/],
  ["/traces?service=a&minDuration=-5s", /minDuration.*"-5s"/],
  ["/traces?service=a&maxDuration=1day", /maxDuration.*"1day"/],
  ["/traces?service=a&minDuration=2s&maxDuration=1s", /maxDuration.*minDuration/],
  ["/traces?service=a&tag=novalue", /tag "novalue".*key:value/],
  ["/traces?service=a&tags=[1]", /tags.*JSON object/],
  ["/traces?service=a&tags={", /tags.*JSON object/],
  ["/traces?service=a&tags=null", /tags.*JSON object/],
  ['/traces?service=a&tags={"a":1}', /tags.*texts/],
  ["/traces?service=a&" + Array.from({ length: 65 }, (_, n) => `tag=k${n}:v`).join("&"), /65 tags/],
  ["/traces?service=a&raw=maybe", /raw.*"maybe"/],
  ["/traces?service=a%00b", /service.*U\+0000/],
  ['/traces?service=a&tags={"k":"\\u0000"}', /tags.*U\+0000/],
  ["/services/a%00/operations", /service.*U\+0000/],
  ["/traces?traceID=xyz", /"xyz".*hexadecimal/],
  ["/traces?traceID=1&start=x", /start.*"x"/],
  ["/traces/xyz", /"xyz".*hexadecimal/],
  [`/traces/${"1".repeat(33)}`, /hexadecimal/],
  ["/traces/1?start=soon", /start.*"soon"/],
  ["/traces/1?raw=2", /raw.*"2"/],
  ["/operations", /service/],
  ["/dependencies?endTs=x", /endTs.*"x".*milliseconds/],
  ["/dependencies?lookback=-1", /lookback.*"-1"/],
  ["/api/v1/tracing/No%20Index/api/services", /No Index.*matches/],
  ["/api/v1/tracing/..%2Fsvc/api/services", /matches/],
  ["/api/v1/tracing/a'b/api/services", /matches/],
];

const V3_REFUSED: readonly (readonly [string, RegExp])[] = [
  ["/v3/operations", /service/],
  ["/v3/traces", /query.startTimeMin and query.startTimeMax/],
  ["/v3/trace-summaries?query.startTimeMin=2026-01-01T00:00:00Z", /query.startTimeMax/],
  [
    "/v3/traces?query.startTimeMin=yesterday&query.startTimeMax=now",
    /query.startTimeMin.*RFC 3339/,
  ],
  ["/v3/traces?query.start_time_min=2026-13-01T00:00:00Z", /query.start_time_min.*2026-13/],
  ["/v3/traces?query.start_time_min=1969-12-31T00:00:00Z", /query.start_time_min.*1970/],
  ["/v3/traces?query.start_time_min=2300-01-01T00:00:00Z", /query.start_time_min.*2262/],
  [
    `/v3/traces?query.startTimeMin=${rfc3339(5)}&query.startTimeMax=${rfc3339(5)}`,
    /query.startTimeMin must come before/,
  ],
  [`/v3/traces?${V3_RANGE}&query.durationMin=x`, /query.durationMin.*"x"/],
  [`/v3/traces?${V3_RANGE}&query.attributes=x`, /query.attributes.*JSON object/],
  [`/v3/traces?${V3_RANGE}&query.searchDepth=0`, /query.searchDepth.*"0"/],
  [`/v3/traces?${V3_RANGE}&query.num_traces=99999999`, /99999999 traces/],
  [`/v3/traces?${V3_RANGE}&query.rawTraces=1x`, /query.rawTraces/],
  [`/v3/traces?${V3_RANGE}&query.filter={}`, /query.filter.*structured filters/],
  [`/v3/traces?${V3_RANGE}&query.pagination.pageSize=5`, /pageSize.*searchDepth/],
  [`/v3/trace-summaries?${V3_RANGE}&query.pagination.pageToken=x`, /pageToken/],
  [
    `/v3/trace-summaries?${V3_RANGE}&query.pagination.pageSize=5&query.searchDepth=5`,
    /searchDepth is given too/,
  ],
  ["/v3/traces/xyz", /"xyz".*hexadecimal/],
  ["/v3/traces/1?startTime=x", /startTime.*RFC 3339/],
  ["/v3/dependencies?startTime=2026-01-01T00:00:00Z", /startTime and endTime/],
];

Deno.test({
  name: "every hostile parameter is 400 in its API's form, naming the value",
  async fn() {
    await using lab = await TraceLab.open();
    for (const [path, message] of [...REFUSED, ...V3_REFUSED]) {
      const { status, json } = await lab.get(path);
      assert.equal(status, 400, `${path}: ${JSON.stringify(json)}`);
      const told = path.includes("/v3/")
        ? V3_ERROR.parse(json).error
        : { ...V1_ERROR.parse(json).errors?.[0], httpCode: 400 };
      assert.match("message" in told ? told.message : told.msg ?? "", message, path);
      if ("httpCode" in told) assert.equal(told.httpCode, 400);
    }
  },
});

const NAMES = [
  ...["service", "operation", "start", "end", "limit", "minDuration", "maxDuration", "tag", "tags"],
  ...["traceID", "raw", "prettyPrint", "spanKind", "endTs", "lookback", "query.serviceName"],
  ...["query.startTimeMin", "query.start_time_max", "query.durationMin", "query.attributes"],
  ...[
    "query.searchDepth",
    "query.num_traces",
    "query.pagination.pageSize",
    "startTime",
    "end_time",
  ],
];
const VALUES = [
  ...["", "0", "1", "-1", "20", "1e3", "NaN", "99999999999999999999", "0x10", "true", "null", "[]"],
  ...[
    "{}",
    '{"a":"b"}',
    '{"a":{}}',
    "a:b",
    ":",
    "1ms",
    "1h1m",
    "-1s",
    "µs",
    "2026-11-20T00:00:00Z",
  ],
  ...[
    "2026-11-20T00:00:00+01:00",
    "'",
    '"',
    "\\",
    ";",
    "\u2028",
    "\ud800",
    "\ufeff",
    "x".repeat(5_000),
  ],
];
const PATHS = [
  ...["/traces", "/traces/1", "/traces/%", "/traces/%ff", "/services", "/operations"],
  ...[
    "/services/%2e%2e/operations",
    "/dependencies",
    "/v3/services",
    "/v3/operations",
    "/v3/traces",
  ],
  ...["/v3/traces/1", "/v3/trace-summaries", "/v3/dependencies"],
];
const RANDOM_REQUESTS = 2_000;

Deno.test({
  name: "whatever is put together of names and values is answered or refused, never failed",
  async fn() {
    const random = new SeededRandom(Number(Deno.env.get("TRACE_PARAMETERS_SEED") ?? 1));
    const pick = <T>(items: readonly T[]) => items[random.below(items.length)] as T;
    const app = queryApp(
      testService(new FakeEngine({ rows: [] }), { observer: { completed() {} } }),
    );
    const seen = new Set<number>();
    for (let n = 0; n < RANDOM_REQUESTS; n += 1) {
      const params = new URLSearchParams();
      for (let left = random.below(6); left > 0; left -= 1) {
        params.append(pick(NAMES), pick(VALUES));
      }
      const path = `/api/v1/tracing/traces/api${pick(PATHS)}?${params}`;
      const response = await app.request(path, {}, { remoteAddr: { hostname: "127.0.0.1" } });
      const body = await response.json();
      assert.ok([200, 400, 404].includes(response.status), `${path} ${JSON.stringify(body)}`);
      if (response.status === 200) assert.ok(!("error" in body), path);
      else (path.includes("/v3/") ? V3_ERROR : V1_ERROR).parse(body);
      seen.add(response.status);
    }
    assert.deepEqual([...seen].sort(), [200, 400, 404]);
  },
});

const SHOWN_AS_TAGS = [
  ...["error", "span.kind", "otel.status_code", "otel.status_description", "otel.scope.name"],
  ...["otel.scope.version", "w3c.tracestate", "service.name"],
];

const INJECTIONS = [
  "x' OR '1'='1",
  "x' UNION SELECT span_id, name FROM traces --",
  "'; DROP TABLE traces; --",
  "x') OR (1=1",
  'x" OR "1"="1',
  "\\' OR 1=1 --",
  "$1",
  "?",
  "%",
  "x'||(SELECT service FROM traces LIMIT 1)||'",
  "/* */",
  "~1~0/a",
];

Deno.test({
  name: "SQL in any parameter is text: it finds nothing, and the span that has it as its text",
  async fn() {
    await using lab = await TraceLab.open();
    await lab.commit([{ trace: 1, span: 1, at: 10 }]);
    const q = encodeURIComponent;
    for (const hostile of INJECTIONS) {
      const tags = q(JSON.stringify({ [hostile]: "v", k: hostile }));
      const searches = [
        `/traces?${RANGE}&service=${q(hostile)}`,
        `/traces?${RANGE}&service=shop&operation=${q(hostile)}`,
        `/traces?${RANGE}&service=shop&tag=k:${q(hostile)}`,
        `/traces?${RANGE}&service=shop&tags=${tags}`,
        `/traces?${RANGE}&service=shop&` +
        SHOWN_AS_TAGS.map((name) => `tag=${name}:${q(hostile)}`).join("&"),
      ];
      for (const path of searches) {
        assert.deepEqual(V1_TRACES.parse(await lab.ok(path)).data, [], path);
      }
      const operations = await lab.ok(`/services/${q(hostile)}/operations`);
      assert.deepEqual(V1_NAMES.parse(operations).data, [], hostile);
      const v3 = `/v3/trace-summaries?${V3_RANGE}&query.serviceName=shop&query.attributes=${tags}`;
      assert.deepEqual(V3_SUMMARIES.parse(await lab.ok(v3)).summaries, []);
    }
    // Stored as tags, each of these texts finds exactly its own span.
    await lab.commit(INJECTIONS.map((text, n) => ({
      trace: 100 + n,
      span: 100 + n,
      at: 20 + n,
      service: text,
      name: text,
      columns: { attributes: JSON.stringify({ [text]: text }) },
    })));
    for (const [n, text] of INJECTIONS.entries()) {
      const tags = q(JSON.stringify({ [text]: text }));
      const path = `/traces?${RANGE}&service=${q(text)}&operation=${q(text)}&tags=${tags}`;
      const { data } = V1_TRACES.parse(await lab.ok(path));
      assert.deepEqual(data.map((trace) => trace.traceID), [traceId(100 + n)], text);
      assert.deepEqual(data[0]?.spans.map((span) => span.spanID), [spanId(100 + n)]);
      const { data: names } = V1_NAMES.parse(await lab.ok(`/services/${q(text)}/operations`));
      assert.deepEqual(names, [text]);
    }
    const { data } = V1_NAMES.parse(await lab.ok("/services"));
    assert.deepEqual(data, ["shop", ...INJECTIONS].sort());
  },
});
