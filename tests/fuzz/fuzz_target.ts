/**
 * The server's HTTP handlers over a WAL in memory, which looks at every row that reaches it. A
 * fuzzer asks what was stored, and whether it is what later readers can take.
 */

import assert from "node:assert/strict";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { planIngestMemory } from "../../ingest/memory_parts.ts";
import { createHttpHandler } from "../../ingest/http_handler.ts";
import { OPTIONS } from "../../ingest/mod.ts";
import { openAdmission } from "../../ingest/admission.ts";
import { openBackpressure } from "../../ingest/backpressure/backpressure.ts";
import { createIngestMetrics } from "../../ingest/metrics.ts";
import { writeDeps } from "../../ingest/start_ingest.ts";
import { eventWriterOf } from "../../ingest/stream/stream_event.ts";
import { StreamHub } from "../../ingest/stream/stream_hub.ts";
import { concatBytes, textOf } from "../../shared/base/bytes.ts";
import { TIMESTAMP_NS_MAX } from "../../shared/base/time.ts";
import type { ColumnBatch, EncodedBatch } from "../../shared/columns/batch.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import { decodeBatch } from "../../shared/columns/ipc.ts";
import { type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SHAPE } from "../../shared/schema/table_shape.ts";
import { type LaneId, laneName } from "../../shared/tenant/tenant.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import { SystemClock } from "../../shared/os/clock.ts";

/** Smaller than the default, so that bodies past it are cheap. */
export const BODY_CAP_BYTES = 256 * 1024;

/** Lanes are few, so that the fuzzer runs into their bound. */
const ARGS = ["--trust-scope-header", "--ingest-max-lanes=20", "--compat-at-root"];

export class FuzzTarget {
  readonly handle: (request: Request) => Promise<Response>;
  /** Rows stored so far. */
  rows = 0;
  readonly #bytesInFlight: () => number;

  constructor(bodyBytesMax = BODY_CAP_BYTES) {
    const clock = new SystemClock();
    const settings = parseOptions(OPTIONS, [...ARGS, `--ingest-max-body-bytes=${bodyBytesMax}`]);
    const metrics = createIngestMetrics({ version: "0", role: "fuzz" });
    const admission = openAdmission(settings, { clock, metrics });
    const backpressure = openBackpressure(settings, { metrics, clock });
    const stream = new StreamHub({ clock, metrics });
    const writes = {
      ...writeDeps(settings, {
        ...{ wal: this, clock, metrics, admission, backpressure },
        bodies: new ByteBudget(planIngestMemory(settings).bytes.bodies),
      }),
      stream,
      forceCommit: () => Promise.resolve(),
    };
    this.#bytesInFlight = () => writes.bodies.used;
    const handle = createHttpHandler(settings, {
      writes,
      admission,
      stream,
      readyz: () => jsonResponse({ status: "ready" }),
      shapeOf: () => EVENTS_SHAPE,
      hasIndex: (lane) => writes.lanes.isOpen(lane),
    });
    this.handle = (request) => handle(request, { remoteAddr: { hostname: "127.0.0.1" } });
  }

  /** Bytes that the server holds for requests in flight. */
  get bytesInFlight(): number {
    return this.#bytesInFlight();
  }

  /** The WAL's side: decodes what it is given as a later reader does, and looks at each row. */
  append(lane: LaneId, batch: EncodedBatch): Promise<{ segment: string }> {
    const name = laneName(lane);
    assert.match(name, /^[A-Za-z0-9_-]{1,128}\/[a-z0-9][a-z0-9._-]{0,127}$/, "lane");
    const stored = decodeBatch(concatBytes(batch.pieces), batch.schema);
    assert.equal(stored.rows, batch.rows);
    assert.ok(stored.rows > 0, "an empty batch reached the WAL");
    this.rows += stored.rows;
    if (stored.rows <= LOOKED_ROWS_MAX) requireRows(stored);
    return Promise.resolve({ segment: "1" });
  }
}

/**
 * Looking at a row takes far longer than storing it, and half a million of them differ in nothing.
 */
const LOOKED_ROWS_MAX = 20_000;

function requireRows(stored: ColumnBatch): void {
  const writeEvent = eventWriterOf(stored);
  const out = new ByteBuilder();
  const rows = rowsOf(stored);
  rows.forEach(stored.schema === TRACES_SCHEMA ? requireSpan : requireEvent);
  rows.forEach((_, row) => {
    writeEvent(out, row);
    requireStreamEvent(textOf(out.take()));
  });
}

function requireTimes(row: RowObject): void {
  const { timestamp, timestamp_ns: ns } = row;
  assert.ok(typeof ns === "bigint" && ns >= 0n && ns <= TIMESTAMP_NS_MAX, `time ${ns}`);
  assert.equal(timestamp, ns / 1_000n);
}

function requireEvent(row: RowObject): void {
  requireTimes(row);
  if (row.attributes !== null) requireJson(row.attributes, "object");
}

function requireSpan(row: RowObject): void {
  requireTimes(row);
  assert.match(String(row.trace_id), /^[0-9a-f]{32}$/);
  assert.match(String(row.span_id), /^[0-9a-f]{16}$/);
  assert.ok(typeof row.duration_nanos === "bigint" && row.duration_nanos >= 0n, "duration");
  for (const name of ["attributes", "resource_attributes"] as const) {
    if (row[name] !== null) requireJson(row[name], "object");
  }
  for (const name of ["events", "links"] as const) {
    if (row[name] !== null) requireJson(row[name], "array");
  }
}

/** One event, whose data no line end cuts. */
function requireStreamEvent(text: string): void {
  const data = /^event: event\ndata: ([^\r\n]+)\n\n$/.exec(text)?.[1];
  assert.ok(data !== undefined, `stream event ${JSON.stringify(text.slice(0, 200))}`);
  requireJson(data, "object");
}

function requireJson(text: unknown, kind: "object" | "array"): void {
  assert.equal(typeof text, "string");
  const value: unknown = JSON.parse(String(text));
  const found = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
  assert.equal(found, kind);
}

/** The body of an answer as text; fails where it is not UTF-8. */
export async function textBody(response: Response): Promise<string> {
  return textOf(new Uint8Array(await response.arrayBuffer()));
}
