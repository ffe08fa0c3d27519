/**
 * A table `traces` for benchmarks that read: traces of 50 spans from 20 services. A hundred are
 * under way at a time, so that the rows of one lie among those of others. Ids look random.
 * Deterministic.
 */

import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { TRACES_SCHEMA, TRACES_TABLE } from "../../shared/schema/traces.ts";
import { buildTableOf, START_NS, type TableFixture } from "./table_fixture.ts";

export const SPANS_PER_TRACE = 50;
export const SERVICES = 20;
/** Operations of each service. */
export const OPERATIONS = 11;
/** Spans in one of which the answer is a 500. */
const FAILED_EVERY = 49;
/** Traces that run side by side. */
const SIDE_BY_SIDE = 100;
/** Between two spans: 463 spans a second, 40 million a day. */
const STEP_NS = 2_160_000n;
const SPANS_PER_ROUND = SIDE_BY_SIDE * SPANS_PER_TRACE;

export function buildTraces(rows: number): Promise<TableFixture> {
  return buildTableOf({ name: TRACES_TABLE, schema: TRACES_SCHEMA, batch: spansOf }, { rows });
}

/** Unix nanoseconds of span `number`'s start. */
export function spanStartNs(number: number): bigint {
  return START_NS + BigInt(number) * STEP_NS;
}

export function traceIdOf(trace: number): string {
  return digits(trace, 1) + digits(trace, 2);
}

function spansOf(first: number, records: number): ColumnBatch {
  return batchOfRows(TRACES_SCHEMA, Array.from({ length: records }, (_, i) => spanOf(first + i)));
}

function spanOf(number: number): RowObject {
  const round = Math.floor(number / SPANS_PER_ROUND);
  const trace = round * SIDE_BY_SIDE + number % SIDE_BY_SIDE;
  const n = Math.floor(number % SPANS_PER_ROUND / SIDE_BY_SIDE);
  const startNs = spanStartNs(number);
  const failed = (trace + n) % FAILED_EVERY === 0;
  const service = (trace + n) % SERVICES;
  return {
    timestamp: startNs / 1_000n,
    timestamp_ns: startNs,
    trace_id: traceIdOf(trace),
    span_id: digits(trace, 10 + n),
    parent_span_id: n === 0 ? null : digits(trace, 10 + Math.floor((n - 1) / 3)),
    service: `service-${service}`,
    name: `GET /api/v1/resource-${number % OPERATIONS}`,
    kind: n % 2 === 0 ? "SPAN_KIND_SERVER" : "SPAN_KIND_CLIENT",
    status_code: failed ? "STATUS_CODE_ERROR" : "STATUS_CODE_UNSET",
    status_message: failed ? "upstream did not answer" : null,
    duration_nanos: BigInt((number % 977) * 1_000_000),
    trace_state: null,
    scope_name: "bench",
    scope_version: "1.0.0",
    attributes: `{"http.request.method":"GET","http.response.status_code":${failed ? 500 : 200},` +
      `"user.id":"u-${trace % 10_007}","order.id":"${trace}",` +
      `"network.peer.address":"10.1.${number % 251}.${number % 13}","flags":257}`,
    resource_attributes: `{"host.name":"node-${service}","service.version":"1.4.${service}"}`,
    events: failed
      ? `[{"time_unix_nano":"${startNs}","name":"exception","attributes":{"exception.type":"Timeout"}}]`
      : null,
    links: null,
  };
}

/** 16 hexadecimal digits, as good as random and the same for the same numbers. */
function digits(trace: number, salt: number): string {
  const half = (seed: number) => {
    let mixed = Math.imul(trace + 1, 0x9e3779b1) ^ Math.imul(seed, 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x7feb352d);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x846ca68b);
    return ((mixed ^ (mixed >>> 16)) >>> 0).toString(16).padStart(8, "0");
  };
  return half(2 * salt) + half(2 * salt + 1);
}
