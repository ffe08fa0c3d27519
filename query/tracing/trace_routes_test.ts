/**
 * Trace routes over a real engine: both APIs' shapes, spans once, ceilings, tenants, errors from
 * before the route.
 */

import assert from "node:assert/strict";
import { OperatingError } from "../../shared/base/errors.ts";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { Admission } from "../admission/admission.ts";
import { FAKE_COST } from "../../tests/doubles/fake_engine.ts";
import { createQueryMetrics } from "../metrics/metrics.ts";
import type { QueryRecord } from "../query_record.ts";
import {
  V1_DEPENDENCIES,
  V1_ERROR,
  V1_NAMES,
  V1_OPERATIONS,
  V1_TRACES,
  V3_DEPENDENCIES,
  V3_ERROR,
  V3_OPERATIONS,
  V3_SERVICES,
  V3_SUMMARIES,
  V3_TRACES,
} from "../../tests/tracing/jaeger_schemas.ts";
import { traceCeilings } from "./trace_ceilings.ts";
import { micros, rfc3339, spanId, traceId, TraceLab } from "../../tests/tracing/trace_lab.ts";

const RANGE = `start=${micros(0)}&end=${micros(3600)}`;
const V3_RANGE = `query.startTimeMin=${rfc3339(0)}&query.startTimeMax=${rfc3339(3600)}`;

Deno.test({
  name:
    "a span with everything is the same in both APIs, typed, with what is no tag in OTLP as tags",
  async fn() {
    await using lab = await TraceLab.open();
    await lab.commit([{
      trace: 1,
      span: 2,
      parent: 1,
      at: 10.5,
      name: "SELECT",
      kind: "SPAN_KIND_CLIENT",
      status: "STATUS_CODE_ERROR",
      durationNs: 1_234_567n,
      columns: {
        status_message: "no answer",
        trace_state: "a=b",
        scope_name: "sql",
        scope_version: "1.2",
        attributes: '{"text":"t","yes":true,"int":7,"big":9223372036854775807,"double":0.5,' +
          '"list":[1,"a"],"map":{"k":9007199254740993},"none":null,"scope.s":"v","flags":257,' +
          '"dropped_attributes_count":1,"dropped_events_count":2,"dropped_links_count":3}',
        resource_attributes: '{"host.name":"n1"}',
        events: '[{"time_unix_nano":"1795132811000001999","name":"retry","attributes":{"n":2}},' +
          '{"time_unix_nano":"0","name":"","attributes":{},"dropped_attributes_count":4}]',
        links: `[{"trace_id":"${traceId(9)}","span_id":"${spanId(9)}","trace_state":"x=y",` +
          '"attributes":{"why":"next"},"flags":257},' +
          '{"trace_id":"","span_id":"","attributes":{"to":"nowhere"}}]',
      },
    }]);
    const text = (key: string, value: string) => ({ key, type: "string", value });
    const { data } = V1_TRACES.parse(await lab.ok(`/traces/${traceId(1)}`));
    assert.deepEqual(data, [{
      traceID: traceId(1),
      spans: [{
        traceID: traceId(1),
        spanID: spanId(2),
        flags: 1,
        operationName: "SELECT",
        references: [
          { refType: "CHILD_OF", traceID: traceId(1), spanID: spanId(1) },
          { refType: "FOLLOWS_FROM", traceID: traceId(9), spanID: spanId(9) },
        ],
        startTime: 1_795_132_810_500_000,
        duration: 1_234,
        tags: [
          text("otel.scope.name", "sql"),
          text("otel.scope.version", "1.2"),
          text("otel.library.name", "sql"),
          text("otel.library.version", "1.2"),
          text("text", "t"),
          { key: "yes", type: "bool", value: true },
          { key: "int", type: "int64", value: 7 },
          { key: "big", type: "int64", value: "9223372036854775807" },
          { key: "double", type: "float64", value: 0.5 },
          text("list", '[1,"a"]'),
          text("map", '{"k":9007199254740993}'),
          text("none", ""),
          text("scope.s", "v"),
          text("span.kind", "client"),
          text("otel.status_code", "ERROR"),
          { key: "error", type: "bool", value: true },
          text("otel.status_description", "no answer"),
          text("w3c.tracestate", "a=b"),
          { key: "otel.dropped_attributes_count", type: "int64", value: 1 },
          { key: "otel.dropped_events_count", type: "int64", value: 2 },
          { key: "otel.dropped_links_count", type: "int64", value: 3 },
        ],
        logs: [
          {
            timestamp: 1_795_132_811_000_001,
            fields: [text("event", "retry"), { key: "n", type: "int64", value: 2 }],
          },
          {
            timestamp: 0,
            fields: [{ key: "otel.dropped_attributes_count", type: "int64", value: 4 }],
          },
        ],
        processID: "p1",
        warnings: null,
      }],
      processes: { p1: { serviceName: "shop", tags: [text("host.name", "n1")] } },
      warnings: null,
    }]);

    const string = (key: string, stringValue: string) => ({ key, value: { stringValue } });
    const v3 = V3_TRACES.parse(await lab.ok(`/v3/traces/${traceId(1)}`));
    assert.deepEqual(v3.result.resourceSpans, [{
      resource: { attributes: [string("service.name", "shop"), string("host.name", "n1")] },
      scopeSpans: [{
        scope: { name: "sql", version: "1.2", attributes: [string("s", "v")] },
        spans: [{
          traceId: traceId(1),
          spanId: spanId(2),
          traceState: "a=b",
          parentSpanId: spanId(1),
          flags: 257,
          name: "SELECT",
          kind: 3,
          startTimeUnixNano: "1795132810500000000",
          endTimeUnixNano: "1795132810501234567",
          attributes: [
            string("text", "t"),
            { key: "yes", value: { boolValue: true } },
            { key: "int", value: { intValue: "7" } },
            { key: "big", value: { intValue: "9223372036854775807" } },
            { key: "double", value: { doubleValue: 0.5 } },
            {
              key: "list",
              value: { arrayValue: { values: [{ intValue: "1" }, { stringValue: "a" }] } },
            },
            {
              key: "map",
              value: {
                kvlistValue: { values: [{ key: "k", value: { intValue: "9007199254740993" } }] },
              },
            },
            string("none", ""),
          ],
          droppedAttributesCount: 1,
          events: [
            {
              timeUnixNano: "1795132811000001999",
              name: "retry",
              attributes: [{ key: "n", value: { intValue: "2" } }],
            },
            { timeUnixNano: "0", name: "", droppedAttributesCount: 4 },
          ],
          droppedEventsCount: 2,
          links: [{
            traceId: traceId(9),
            spanId: spanId(9),
            traceState: "x=y",
            attributes: [string("why", "next")],
            flags: 257,
          }],
          droppedLinksCount: 3,
          status: { message: "no answer", code: 2 },
        }],
      }],
    }]);
    const pretty = await lab.get(`/traces/${traceId(1)}?prettyPrint=true`);
    assert.match(pretty.text, /^\{\n {4}"data": \[\n {8}\{\n/);
    assert.deepEqual(pretty.json.data, data);
  },
});

Deno.test({
  name: "a span that was sent twice is told once, from table and WAL, in every answer",
  async fn() {
    await using lab = await TraceLab.open();
    const root = { trace: 1, span: 1, at: 1 };
    const child = { trace: 1, span: 2, parent: 1, at: 2, service: "db", name: "q" };
    // Another span that has the child's id, as Zipkin's servers make them, is no repetition.
    const shared = { ...child, kind: "SPAN_KIND_CLIENT" };
    await lab.commit([root, child]);
    await lab.commit([child, shared]);
    await lab.append([root, child]);
    const { data } = V1_TRACES.parse(await lab.ok(`/traces/${traceId(1)}`));
    assert.deepEqual(data[0]?.spans.map(({ spanID }) => spanID), [1, 2, 2].map(spanId));
    assert.deepEqual(Object.keys(data[0]?.processes ?? {}), ["p1", "p2"]);
    const v3 = V3_TRACES.parse(await lab.ok(`/v3/traces?${V3_RANGE}&query.serviceName=shop`));
    const counts = v3.result.resourceSpans.map(({ scopeSpans }) => scopeSpans[0]?.spans.length);
    assert.deepEqual(counts, [1, 2]);
    const { summaries } = V3_SUMMARIES.parse(await lab.ok(`/v3/trace-summaries?${V3_RANGE}`));
    assert.deepEqual(summaries.map(({ spanCount }) => spanCount), [3]);
    const endTs = Number(micros(3600)) / 1000;
    const calls = await lab.ok(`/dependencies?endTs=${endTs}&lookback=3600000`);
    assert.deepEqual(V1_DEPENDENCIES.parse(calls).data, [
      { parent: "shop", child: "db", callCount: 1 },
    ]);
  },
});

Deno.test({
  name:
    "ids of 16 digits, without leading zeros and in capitals lead to the same trace, several at once",
  async fn() {
    await using lab = await TraceLab.open();
    const short = "00f067aa0ba902b7";
    const stored = short.padStart(32, "0");
    await lab.commit([{ trace: stored, span: 1, at: 1 }, { trace: 2, span: 2, at: 2 }]);
    for (const id of [short, stored, short.slice(2), stored.toUpperCase()]) {
      const { data } = V1_TRACES.parse(await lab.ok(`/traces/${id}`));
      // Jaeger writes an id of 64 bits so.
      assert.deepEqual(data.map(({ traceID }) => traceID), [short], id);
      const v3 = V3_TRACES.parse(await lab.ok(`/v3/traces/${id}`));
      assert.equal(v3.result.resourceSpans[0]?.scopeSpans[0]?.spans[0]?.traceId, stored);
    }
    const path = `/traces?traceID=${traceId(2)}&traceID=77&traceID=${short}`;
    const { data, errors } = V1_TRACES.parse(await lab.ok(path));
    assert.deepEqual(data.map(({ traceID }) => traceID), [traceId(2), short]);
    assert.deepEqual(errors, [{ msg: "trace not found", traceID: "0000000000000077" }]);
    const most = Array.from({ length: 4_095 }, (_, n) => `traceID=${n + 1}`).join("&");
    const many = V1_TRACES.parse(await lab.ok(`/traces?${most}&traceID=${short}`));
    assert.deepEqual(
      [many.data.length, many.errors?.length],
      [1, 4_095],
      "one statement takes them",
    );
    assert.equal((await lab.get(`/traces?${most}&traceID=a1&traceID=a2`)).status, 413);
  },
});

Deno.test({
  name:
    "a missing trace is 404 in both forms, and a time beside the id narrows only where to look first",
  async fn() {
    await using lab = await TraceLab.open();
    assert.deepEqual(await missing(lab), [404, 404]);
    await lab.commit([{ trace: 1, span: 1, at: 10_000 }]);
    assert.deepEqual(await missing(lab), [404, 404]);
    for (const time of ["", `?start=${micros(9_000)}&end=${micros(11_000)}`, "?start=1&end=2"]) {
      assert.equal((await lab.ok(`/traces/${traceId(1)}${time}`)).data.length, 1, time);
    }
    const v3 = `startTime=${rfc3339(0)}&endTime=${rfc3339(1)}`;
    V3_TRACES.parse(await lab.ok(`/v3/traces/${traceId(1)}?${v3}`));
    const v3Search = await lab.get(`/v3/traces?${V3_RANGE}&query.serviceName=none`);
    assert.equal(v3Search.status, 404);
    assert.equal(V3_ERROR.parse(v3Search.json).error.message, "No traces found");
    const summaries = await lab.ok(`/v3/trace-summaries?${V3_RANGE}&query.serviceName=none`);
    assert.deepEqual(summaries, { summaries: [] });
  },
});

async function missing(lab: TraceLab): Promise<number[]> {
  const v1 = await lab.get("/traces/abc");
  assert.deepEqual(V1_ERROR.parse(v1.json).errors, [{ code: 404, msg: "trace not found" }]);
  const v3 = await lab.get("/v3/traces/abc");
  assert.deepEqual(V3_ERROR.parse(v3.json).error, { httpCode: 404, message: "No traces found" });
  return [v1.status, v3.status];
}

Deno.test({
  name:
    "a tag matches attributes of span, scope and resource, and the fields that are shown as tags",
  async fn() {
    await using lab = await TraceLab.open();
    await lab.commit([
      {
        trace: 1,
        span: 1,
        at: 1,
        status: "STATUS_CODE_ERROR",
        columns: {
          status_message: "down",
          scope_name: "lib",
          scope_version: "2",
          trace_state: "k=v",
          attributes: '{"http.status_code":500,"retry":true,"share":0.5,"a/b~c":"x","scope.s":"v"}',
          resource_attributes: '{"host.name":"n1"}',
        },
      },
      { trace: 2, span: 2, at: 2, kind: "SPAN_KIND_CLIENT", status: "STATUS_CODE_OK" },
      { trace: 3, span: 3, at: 3, columns: { attributes: '{"error":true,"span.kind":"mine"}' } },
    ]);
    const cases: readonly (readonly [Record<string, string>, readonly number[]])[] = [
      [{}, [3, 2, 1]],
      [{ "http.status_code": "500" }, [1]],
      [{ retry: "true", share: "0.5", "a/b~c": "x" }, [1]],
      [{ "scope.s": "v", "host.name": "n1" }, [1]],
      [{ "host.name": "n2" }, []],
      [{ error: "true" }, [3, 1]],
      [{ "span.kind": "server" }, [3, 1]],
      [{ "span.kind": "client" }, [2]],
      [{ "span.kind": "mine" }, [3]],
      [{ "otel.status_code": "OK" }, [2]],
      [{ "otel.status_code": "ERROR", "otel.status_description": "down" }, [1]],
      [{ "otel.scope.name": "lib", "otel.scope.version": "2" }, [1]],
      [{ "otel.library.name": "lib", "otel.library.version": "2" }, [1]],
      [{ "w3c.tracestate": "k=v" }, [1]],
      [{ "service.name": "shop" }, [3, 2, 1]],
    ];
    for (const [tags, expected] of cases) {
      const json = encodeURIComponent(JSON.stringify(tags));
      const ids = expected.map(traceId);
      const v1 = await lab.ok(`/traces?service=shop&${RANGE}&tags=${json}`);
      assert.deepEqual(V1_TRACES.parse(v1).data.map(({ traceID }) => traceID), ids, json);
      const pairs = Object.entries(tags).map(([k, v]) => `tag=${encodeURIComponent(`${k}:${v}`)}`);
      const simple = await lab.ok(`/traces?service=shop&${RANGE}&${pairs.join("&")}`);
      assert.deepEqual(V1_TRACES.parse(simple).data.map(({ traceID }) => traceID), ids, json);
      const v3 = await lab.ok(`/v3/trace-summaries?${V3_RANGE}&query.attributes=${json}`);
      assert.deepEqual(V3_SUMMARIES.parse(v3).summaries.map(({ traceId }) => traceId), ids, json);
    }
  },
});

Deno.test({
  name: "lists have every service and operation, kinds by Jaeger's words, dependencies both forms",
  async fn() {
    await using lab = await TraceLab.open();
    for (const path of ["/services", "/services/none/operations"]) {
      assert.deepEqual(V1_NAMES.parse(await lab.ok(path)).data, [], path);
    }
    await lab.commit([
      { trace: 1, span: 1, at: 1, name: "b" },
      { trace: 1, span: 2, parent: 1, at: 2, name: "a" },
      {
        trace: 1,
        span: 3,
        parent: 2,
        at: 3,
        service: "a/b c",
        name: "a",
        kind: "SPAN_KIND_CLIENT",
      },
      {
        trace: 1,
        span: 4,
        parent: 3,
        at: 4,
        service: "a/b c",
        name: "a",
        kind: "SPAN_KIND_UNSPECIFIED",
      },
      { trace: 2, span: 5, parent: 99, at: 5, service: "a/b c", name: "a", kind: "7" },
    ]);
    assert.deepEqual(V1_NAMES.parse(await lab.ok("/services")), {
      data: ["a/b c", "shop"],
      total: 2,
      limit: 0,
      offset: 0,
      errors: null,
    });
    assert.deepEqual(V3_SERVICES.parse(await lab.ok("/v3/services")).services, ["a/b c", "shop"]);
    for (const name of ["a%2Fb%20c", "a/b%20c", "a%2Fb+c".replace("+", "%20")]) {
      assert.deepEqual(V1_NAMES.parse(await lab.ok(`/services/${name}/operations`)).data, ["a"]);
    }
    assert.deepEqual(V1_NAMES.parse(await lab.ok("/services/shop/operations")).data, ["a", "b"]);
    const v1 = await lab.ok("/operations?service=a%2Fb%20c");
    assert.deepEqual(V1_OPERATIONS.parse(v1).data, [
      { name: "a", spanKind: "" },
      { name: "a", spanKind: "client" },
    ]);
    const clients = await lab.ok("/operations?service=a%2Fb%20c&spanKind=client");
    assert.deepEqual(V1_OPERATIONS.parse(clients).data, [{ name: "a", spanKind: "client" }]);
    const v3 = await lab.ok("/v3/operations?service=shop&span_kind=SERVER");
    assert.deepEqual(V3_OPERATIONS.parse(v3).operations, [
      { name: "a", spanKind: "server" },
      { name: "b", spanKind: "server" },
    ]);
    const edge = { parent: "shop", child: "a/b c" };
    const lookback = `endTs=${Number(micros(60)) / 1000}&lookback=60000`;
    const all = await lab.ok(`/dependencies?${lookback}`);
    assert.deepEqual(V1_DEPENDENCIES.parse(all).data, [{ ...edge, callCount: 1 }]);
    assert.deepEqual((await lab.ok(`/dependencies?${lookback}&service=shop`)).data.length, 1);
    assert.deepEqual((await lab.ok(`/dependencies?${lookback}&service=else`)).data, []);
    const times = `startTime=${rfc3339(0)}&endTime=${rfc3339(60)}`;
    assert.deepEqual(V3_DEPENDENCIES.parse(await lab.ok(`/v3/dependencies?${times}`)), {
      dependencies: [{ ...edge, callCount: "1" }],
    });
  },
});

Deno.test({
  name: "a tree of 10,000 spans and a chain of 1,000 come whole in both APIs",
  async fn() {
    await using lab = await TraceLab.open();
    const tree = Array.from({ length: 10_000 }, (_, n) => ({
      trace: 1,
      span: n + 1,
      parent: n === 0 ? null : Math.ceil(n / 10),
      at: 1 + n / 10_000,
      columns: { attributes: `{"n":${n},"text":"${"x".repeat(200)}"}` },
    }));
    const chain = Array.from({ length: 1_000 }, (_, n) => ({
      trace: 2,
      span: 20_000 + n,
      parent: n === 0 ? null : 20_000 + n - 1,
      at: 10 + n / 1_000,
    }));
    await lab.commit([...tree, ...chain]);
    for (const [trace, sent] of [[1, tree], [2, chain]] as const) {
      const ids = sent.map(({ span }) => spanId(span));
      const { data } = V1_TRACES.parse(await lab.ok(`/traces/${traceId(trace)}`));
      assert.deepEqual(data[0]?.spans.map(({ spanID }) => spanID), ids);
      const parents = data[0]?.spans.slice(1).map(({ references }) => references[0]?.spanID);
      assert.deepEqual(parents, sent.slice(1).map(({ parent }) => spanId(parent ?? 0)));
      const v3 = V3_TRACES.parse(await lab.ok(`/v3/traces/${traceId(trace)}`));
      const spans = v3.result.resourceSpans[0]?.scopeSpans[0]?.spans;
      assert.deepEqual(spans?.map(({ spanId }) => spanId), ids);
    }
    const { summaries } = V3_SUMMARIES.parse(await lab.ok(`/v3/trace-summaries?${V3_RANGE}`));
    const counts = summaries.map(({ spanCount, orphanSpanCount }) => [spanCount, orphanSpanCount]);
    assert.deepEqual(counts, [[1_000, 0], [10_000, 0]]);
  },
});

const MIB = 2 ** 20;

/** A service whose requests reserve `shareBytes`. */
function small(shareBytes: number) {
  const metrics = createQueryMetrics({ version: "0", role: "query" });
  const clock = new SystemClock();
  const budget = { budgetBytes: shareBytes, shareDivisor: 1, waitMs: 50, dearWaitMs: 50 };
  return { metrics, admission: new Admission({ ...budget, clock, metrics }) };
}

Deno.test({
  name: "a result past a ceiling is refused whole with 413, no Retry-After, and counted",
  async fn() {
    const { metrics, admission } = small(MIB);
    const ceilings = traceCeilings(admission.shareBytes);
    assert.deepEqual(ceilings, {
      reservationBytes: MIB,
      traces: 32,
      spans: 512,
      bytes: MIB / 4,
      names: 1024,
    });
    await using lab = await TraceLab.open({ metrics, admission });
    const spans = (trace: number, count: number, text = "") =>
      Array.from({ length: count }, (_, n) => ({
        trace,
        span: 1_000 * trace + n,
        at: trace,
        name: `op ${n}`,
        columns: { attributes: JSON.stringify({ text }) },
      }));
    await lab.commit([...spans(1, 512), ...spans(2, 513), ...spans(3, 100, "y".repeat(3_000))]);
    await lab.commit(spans(4, 1).map((span) => ({ ...span, service: "few" })));
    await lab.append(
      Array.from({ length: 1_025 }, (_, n) => ({
        trace: 5,
        span: 9_000 + n,
        at: 9,
        service: "many",
        name: `op ${n}`,
      })),
    );
    const trips = async (breaker: string) => {
      const { text: page } = await metrics.render(null);
      const series = `svc_query_breaker_trips_total{breaker="${breaker}"} `;
      return Number(page.split("\n").find((line) => line.startsWith(series))?.slice(series.length));
    };
    const manyIds = Array.from({ length: 33 }, (_, n) => `traceID=${n + 1}`).join("&");
    const cases: readonly (readonly [string, string])[] = [
      [`/traces/${traceId(2)}`, "jaeger_spans"],
      [`/traces/${traceId(3)}`, "jaeger_bytes"],
      [`/traces?${manyIds}`, "jaeger_traces"],
      ["/services/many/operations", "jaeger_names"],
      [`/traces?${RANGE}&service=shop&limit=3`, "jaeger_spans"],
    ];
    for (const [path, breaker] of cases) {
      const before = await trips(breaker);
      for (const [api, schema] of [["", V1_ERROR], ["/v3", V3_ERROR]] as const) {
        if (api !== "" && !path.startsWith("/traces/")) continue;
        const { status, json, headers } = await lab.get(api + path);
        assert.equal(status, 413, path);
        schema.parse(json);
        assert.equal(headers.get("retry-after"), null);
      }
      const asked = path.startsWith("/traces/") ? 2 : 1;
      assert.equal(await trips(breaker), before + asked, breaker);
    }
    assert.equal((await lab.ok(`/traces/${traceId(1)}`)).data[0].spans.length, 512);
    assert.equal(admission.state().reserved_bytes, 0);
  },
});

Deno.test({
  name: "a search limit above the ceiling is 400 before admission and planning",
  async fn() {
    const { metrics, admission } = small(MIB);
    await using lab = await TraceLab.open({
      metrics,
      admission,
      engine: {
        prepare: () => Promise.reject(new Error("planned")),
      } as unknown as TraceLab["service"]["engine"],
    });
    // All of it is taken: whoever asks for admission waits and gets 429.
    using _all = await admission.reserve({
      tenant: "other",
      bytes: MIB,
      signal: new AbortController().signal,
      deadlineMs: 1_000,
    });
    const search = `/traces?service=shop&${RANGE}`;
    for (const path of [`${search}&limit=33`, `/v3/traces?${V3_RANGE}&query.searchDepth=33`]) {
      const { status, text } = await lab.get(path);
      assert.equal(status, 400, path);
      assert.match(text, /33 traces.*at most 32/);
    }
    const { status, headers, json } = await lab.get(`${search}&limit=32`);
    assert.deepEqual([status, headers.get("retry-after")], [429, "1"]);
    assert.equal(V1_ERROR.parse(json).errors?.[0]?.code, 429);
  },
});

Deno.test({
  name: "each tenant sees its own spans only, in every route, and its own cached names",
  async fn() {
    await using lab = await TraceLab.open({
      callers: {
        admit: ({ headers }) => {
          const tenant = headers.get("x-test-tenant") ?? "default";
          const namespace = tenant === "default" ? "svc" : tenant;
          return Promise.resolve({ tenant, namespace });
        },
      },
    });
    await lab.commit([{ trace: 1, span: 1, at: 1, service: "ours" }]);
    await lab.append([{ trace: 2, span: 2, at: 2, service: "theirs" }], "acme");
    const asAcme = { headers: { "x-test-tenant": "acme" } };
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual((await lab.ok("/services")).data, ["ours"]);
      assert.deepEqual((await lab.get("/services", asAcme)).json.data, ["theirs"]);
      assert.equal((await lab.get(`/traces/${traceId(1)}`, asAcme)).status, 404);
      assert.equal((await lab.get(`/traces/${traceId(2)}`, asAcme)).status, 200);
      assert.equal((await lab.get(`/v3/traces/${traceId(2)}`)).status, 404);
      const search = `/traces?${RANGE}&service=ours`;
      assert.deepEqual((await lab.get(search, asAcme)).json.data, []);
      // The header is not what decides: only the gate's word.
      const scope = { headers: { "x-scope-orgid": "acme" } };
      assert.deepEqual((await lab.get("/services", scope)).json.data, ["ours"]);
    }
  },
});

Deno.test({
  name:
    "an index that is none of spans is 400, an unknown one 404, another one with spans is answered",
  async fn() {
    await using lab = await TraceLab.open();
    await lab.lab.commit([{ ns: 1_795_132_800_000_000_000n, raw: "x" }]);
    await lab.commit([{ trace: 1, span: 1, at: 1, service: "copied" }], {
      table: "more-traces",
    });
    const cases: readonly (readonly [string, number, RegExp])[] = [
      ["/api/v1/tracing/more-traces/api/services", 200, /"copied"/],
      ["/api/v1/tracing/more-traces/api/traces/" + traceId(1), 200, /"copied"/],
      ["/api/v1/tracing/nothing/api/services", 404, /Cannot find index \\"nothing\\"/],
      ["/api/v1/tracing/nothing/api/v3/traces/1", 404, /Cannot find index/],
      ["/api/v1/tracing/events/api/services", 400, /has not the columns/],
      ["/api/v1/tracing/query_audit/api/traces/1", 400, /has not the columns/],
      [`/api/v1/tracing/events/api/v3/trace-summaries?${V3_RANGE}`, 400, /has not the columns/],
    ];
    for (const [path, status, text] of cases) {
      const reply = await lab.get(path);
      assert.equal(reply.status, status, path + reply.text);
      assert.match(reply.text, text);
    }
  },
});

Deno.test({
  name: "what the gate refuses is told in the API's form, a wrong method in the server's",
  async fn() {
    const refusal = new OperatingError("unauthenticated", "Cannot read without a token", {
      reason: "token_missing",
    });
    await using lab = await TraceLab.open({ callers: { admit: () => Promise.reject(refusal) } });
    const v1 = await lab.get("/services");
    assert.deepEqual([v1.status, v1.headers.get("www-authenticate")], [401, "Bearer"]);
    assert.deepEqual(V1_ERROR.parse(v1.json).errors, [{ code: 401, msg: refusal.message }]);
    const v3 = await lab.get("/v3/services");
    assert.deepEqual(V3_ERROR.parse(v3.json).error, { httpCode: 401, message: refusal.message });
    assert.ok(Number(v3.headers.get("x-svc-server-micros")) >= 0);
    const post = await lab.get("/services", { method: "POST" });
    assert.deepEqual([post.status, post.headers.get("allow")], [405, "GET, HEAD"]);
    const unknown = await lab.get("/api/v1/tracing/traces/api/archive/1");
    assert.deepEqual([unknown.status, unknown.json.reason], [404, "unknown_route"]);
  },
});

Deno.test({
  name: "HEAD is answered like GET without a body, and holds no room for one",
  async fn() {
    const answers = new ByteBudget(2 ** 20);
    await using lab = await TraceLab.open({ answers });
    await lab.commit([{ trace: 1, span: 1, at: 1 }]);
    const request = (id: string) => lab.head(`/traces/${id}`);
    const head = await request(traceId(1));
    assert.deepEqual([head.status, answers.used], [200, 0]);
    assert.ok(Number(head.headers.get("content-length")) > 100, "that of GET");
    assert.equal((await request(traceId(2))).status, 404);
  },
});

Deno.test({
  name: "each request is audited and counted once, with the price of all its statements",
  async fn() {
    const records: QueryRecord[] = [];
    await using lab = await TraceLab.open({ observer: { completed: (one) => records.push(one) } });
    await lab.commit([{ trace: 1, span: 1, at: 1 }]);
    await lab.ok(`/traces?service=shop&${RANGE}`);
    await lab.get("/v3/traces/abc");
    await lab.get("/traces");
    const told = records.map(({ endpoint, status, rowsReturned, query }) => ({
      endpoint,
      status,
      rowsReturned,
      query: query.replace(/start=.*/, ""),
    }));
    const at = (path: string) => `GET /api/v1/tracing/traces/api${path}`;
    assert.deepEqual(told, [
      {
        endpoint: "tracing_search",
        status: 200,
        rowsReturned: 1,
        query: at("/traces?service=shop&"),
      },
      {
        endpoint: "tracing_trace",
        status: 404,
        rowsReturned: undefined,
        query: at("/v3/traces/abc"),
      },
      { endpoint: "tracing_search", status: 400, rowsReturned: undefined, query: at("/traces") },
    ]);
    assert.ok((records[0]?.cost?.estimated_rows_processed ?? 0) >= 2, "window and fetch");
    const { text: page } = await lab.service.metrics.render(null);
    for (
      const series of [
        'svc_query_requests_total{endpoint="tracing_search",outcome="ok"} 1',
        'svc_query_requests_total{endpoint="tracing_search",outcome="refused"} 1',
        'svc_query_requests_total{endpoint="tracing_trace",outcome="refused"} 1',
        "svc_query_in_flight 0",
      ]
    ) assert.ok(page.includes(`\n${series}\n`), series);
  },
});

Deno.test({
  name: "a full line of DuckDB is 429 with Retry-After and counted by what was missing",
  async fn() {
    const full = () =>
      Promise.reject(
        new OperatingError("rate_limited", "Cannot run it now", {
          reason: "admission_full",
          retryAfterSecs: 1,
        }),
      );
    const dear = { cost: FAKE_COST, tables: [], turn: full, [Symbol.asyncDispose]: async () => {} };
    for (
      const [resource, prepare] of [
        ["connections", full],
        ["dear_statements", () => Promise.resolve(dear)],
      ] as const
    ) {
      const { metrics, admission } = small(MIB);
      const engine = { prepare } as unknown as TraceLab["service"]["engine"];
      await using lab = await TraceLab.open({ metrics, admission, engine });
      const { status, headers } = await lab.get("/services");
      assert.deepEqual([status, headers.get("retry-after")], [429, "1"]);
      const { text } = await metrics.render(null);
      assert.match(text, new RegExp(`admission_rejected_total\\{resource="${resource}"\\} 1\n`));
      assert.equal(admission.state().reserved_bytes, 0);
    }
  },
});

Deno.test({
  name: "a client that goes away stops what runs for it, and what it reserved is given back",
  async fn() {
    const { metrics, admission } = small(MIB);
    const prepared = Promise.withResolvers<void>();
    await using lab = await TraceLab.open({
      metrics,
      admission,
      engine: {
        prepare: ({ signal }: { signal: AbortSignal }) =>
          new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason));
            prepared.resolve();
          }),
      } as unknown as TraceLab["service"]["engine"],
    });
    const gone = new AbortController();
    const reply = lab.get("/services", { signal: gone.signal });
    await prepared.promise;
    assert.equal(admission.state().reserved_bytes, MIB);
    gone.abort();
    assert.equal((await reply).status, 499);
    assert.equal(admission.state().reserved_bytes, 0);
    const { text: page } = await metrics.render(null);
    const series = 'svc_query_requests_total{endpoint="tracing_services",outcome="cancelled"} 1';
    assert.ok(page.includes(series));
  },
});
