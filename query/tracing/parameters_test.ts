/**
 * Parameters: durations and ids as Go and Jaeger read them, and what each API's search makes of an
 * address.
 */

import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { parseGoDuration } from "./go_duration.ts";
import { parseTraceId, shortTraceId } from "./trace_id.ts";
import { parseV1Dependencies, parseV1Traces } from "./v1_parameters.ts";
import { parseV3Hint, parseV3Search } from "./v3_parameters.ts";

const NOW_NS = 1_795_132_800_000_000_000n;
const DAY_NS = 86_400_000_000_000n;

Deno.test({
  name: "parseGoDuration reads what Go's ParseDuration reads from 0 up, and nothing else",
  fn() {
    // Expected values from the documentation of Go's package time.
    const cases: readonly (readonly [string, bigint | undefined])[] = [
      ["0", 0n],
      ["0s", 0n],
      ["1ms", 1_000_000n],
      ["1.2s", 1_200_000_000n],
      ["100us", 100_000n],
      ["3µs", 3_000n],
      ["3μs", 3_000n],
      ["1h15m30.918273645s", 4_530_918_273_645n],
      [".5s", 500_000_000n],
      ["1.s", 1_000_000_000n],
      ["+5s", 5_000_000_000n],
      ["0.1ns", 0n],
      ["2562047h47m16.854775807s", 9_223_372_036_854_775_807n],
      ["2562047h47m16.854775808s", undefined],
      ["-1s", undefined],
      ["", undefined],
      ["1", undefined],
      ["s", undefined],
      [".s", undefined],
      ["1 s", undefined],
      ["1d", undefined],
      ["1e3s", undefined],
      ["1s'", undefined],
      [`${"9".repeat(70)}s`, undefined],
    ];
    for (const [text, expected] of cases) assert.equal(parseGoDuration(text), expected, text);
  },
});

Deno.test({
  name:
    "parseTraceId pads to 32 digits and lower-cases, shortTraceId undoes the padding of 64 bits",
  fn() {
    const long = "0af7651916cd43dd8448eb211c80319c";
    const cases: readonly (readonly [string, string, string])[] = [
      [long, long, long],
      [long.toUpperCase(), long, long],
      [long.slice(1), long, long],
      ["8448eb211c80319c", "0000000000000000" + "8448eb211c80319c", "8448eb211c80319c"],
      ["1", "1".padStart(32, "0"), "1".padStart(16, "0")],
      // These are the bytes of one id as base64, in both alphabets.
      [
        "Cvdlj/8Wzf7Y++v/IY0/nA==",
        "0af7658fff16cdfed8fbebff218d3f9c",
        "0af7658fff16cdfed8fbebff218d3f9c",
      ],
      [
        "Cvdlj_8Wzf7Y--v_IY0_nA==",
        "0af7658fff16cdfed8fbebff218d3f9c",
        "0af7658fff16cdfed8fbebff218d3f9c",
      ],
      ["hEjrIRyAMZw=", "00000000000000008448eb211c80319c", "8448eb211c80319c"],
    ];
    for (const [text, stored, short] of cases) {
      assert.equal(parseTraceId(text), stored);
      assert.equal(shortTraceId(stored), short);
    }
    for (const text of ["", "x", "0x1", long + "0", "1 ", "1'", "%", "AAA=", "=="]) {
      assert.throws(() => parseTraceId(text), (error) => isOperatingError(error), text);
    }
  },
});

Deno.test({
  name: "parseV1Traces fills in Jaeger's defaults and reads both spellings of tags",
  fn() {
    assert.deepEqual(parseV1Traces(new URLSearchParams("service=shop"), NOW_NS), {
      kind: "search",
      search: {
        service: "shop",
        tags: new Map(),
        range: { minNs: NOW_NS - 2n * DAY_NS, maxNs: NOW_NS },
        limit: undefined,
      },
    });
    const full = new URLSearchParams([
      ...[["service", "shop"], ["operation", "GET /"], ["start", "1000"], ["end", "2000"]],
      ...[["minDuration", "1ms"], ["maxDuration", "1ms"], ["limit", "20"], ["raw", "true"]],
      ...[["tag", "http.url:http://a:80/?q"], ["tag", "a:1"], ["tag", "empty:"]],
      ...[["tags", '{"a":"2","error":"true"}'], ["unknown", "ignored"], ["limit", "30"]],
    ]);
    assert.deepEqual(parseV1Traces(full, NOW_NS), {
      kind: "search",
      search: {
        service: "shop",
        operation: "GET /",
        tags: new Map([["http.url", "http://a:80/?q"], ["a", "2"], ["empty", ""], [
          "error",
          "true",
        ]]),
        durationNsMin: 1_000_000n,
        durationNsMax: 1_000_000n,
        // The end is a whole microsecond.
        range: { minNs: 1_000_000n, maxNs: 2_000_999n },
        limit: 20,
      },
    });
    const ids = new URLSearchParams("traceID=1&traceID=01&traceID=2&start=5");
    assert.deepEqual(parseV1Traces(ids, NOW_NS), {
      kind: "ids",
      ids: ["1".padStart(32, "0"), "2".padStart(32, "0")],
      hint: { minNs: 5_000n },
    });
    assert.deepEqual(
      parseV1Dependencies(new URLSearchParams("endTs=5000&lookback=2000"), NOW_NS),
      { minNs: 3_000_000_000n, maxNs: 5_000_000_000n },
    );
    assert.deepEqual(parseV1Dependencies(new URLSearchParams(), NOW_NS), {
      minNs: NOW_NS - DAY_NS,
      maxNs: NOW_NS,
    });
  },
});

Deno.test({
  name:
    "parseV3Search reads both cases of names, nanoseconds, and a zone whose plus was not encoded",
  fn() {
    const expected = {
      service: "shop",
      operation: "GET /",
      tags: new Map([["a", "1"]]),
      durationNsMin: 10_000_000_000n,
      range: { minNs: NOW_NS + 123_456_789n, maxNs: NOW_NS + 1_000_000_000n - 1n },
      limit: 7,
    };
    const camel = 'query.serviceName=shop&query.operationName=GET /&query.attributes={"a":"1"}' +
      "&query.durationMin=10s&query.startTimeMin=2026-11-20T00:00:00.123456789Z" +
      "&query.startTimeMax=2026-11-20T00:00:01Z&query.searchDepth=7&query.rawTraces=true";
    const snake = 'query.service_name=shop&query.operation_name=GET /&query.attributes={"a":"1"}' +
      "&query.duration_min=10s&query.start_time_min=2026-11-20T01:00:00.123456789+01:00" +
      "&query.start_time_max=2026-11-20T01:00:01+01:00&query.num_traces=7";
    for (const text of [camel, snake, snake.replace("num_traces", "search_depth")]) {
      const search = parseV3Search(new URLSearchParams(text), { pages: true });
      assert.deepEqual(search, expected, text);
    }
    assert.deepEqual(parseV3Hint(new URLSearchParams("start_time=1970-01-01T00:00:01Z")), {
      minNs: 1_000_000_000n,
    });
  },
});
