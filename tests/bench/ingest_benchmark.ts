/**
 * OTLP/HTTP protobuf with `wait_for` over 16 connections: logs beside a bare server that reads,
 * writes and syncs, OTLP/gRPC and traces beside logs over HTTP, bulk documents by themselves.
 */

import { type Benchmark, type BenchRow, formatCount, formatRatio } from "./benchmark.ts";
import { benchBulk, benchGrpc, benchIngest, benchTraces } from "./ingest.ts";

const CONNECTIONS = 16;
/** Records a request, and the share of the bare server's rate to reach. */
const CASES = [{ records: 500, share: 0.65 }, { records: 50, share: 0.4 }] as const;
/** Records a call over gRPC, as many as over HTTP, and the share of the HTTP rate to reach. */
const GRPC = { recordsPerRequest: 500 } as const;
const GRPC_SHARE = 0.35;
/** Spans a request, and the share of the logs' rate to reach. */
const TRACES = { recordsPerRequest: 500 } as const;
const TRACES_SHARE = 0.6;
/** Documents a request, and how many a second to reach. */
const BULK = { recordsPerRequest: 500 } as const;
const BULK_PER_SEC = 150_000;

function formatMicros(micros: number): string {
  return `${micros.toFixed(micros < 10 ? 2 : 0)} µs`;
}

export const INGEST: Benchmark = {
  name: "ingest",
  summary: "OTLP/HTTP protobuf, wait_for, 16 connections, beside a bare append server",
  sizes: { small: { rows: 0, seconds: 6 }, full: { rows: 0, seconds: 24 } },
  async run({ seconds }) {
    const table: BenchRow[] = [];
    for (const { records, share } of CASES) {
      const result = await benchIngest({
        seconds,
        recordsPerRequest: records,
        connections: CONNECTIONS,
      });
      table.push({
        what: `${records} records a request`,
        ours: `${formatCount(result.ours)} rows/s`,
        reference: `bare server ${formatCount(result.bare)} rows/s`,
        ratio: formatRatio(result.ratio),
        target: `≥ ${formatRatio(share)}`,
        reached: result.ratio >= share,
      });
      const { oursMicros, bareMicros } = result;
      table.push({
        what: `the same, processor time of the server`,
        ours: `${formatMicros(oursMicros)} a request, ${formatMicros(oursMicros / records)} a row`,
        reference: `bare server ${formatMicros(bareMicros)} a request`,
        ratio: `${formatRatio(bareMicros / oursMicros)} of its requests`,
        target: "for orientation",
        reached: true,
      });
    }
    const grpc = await benchGrpc({ seconds, ...GRPC, connections: CONNECTIONS });
    table.push({
      what: `${GRPC.recordsPerRequest} records a call over gRPC`,
      ours: `${formatCount(grpc.grpc)} rows/s`,
      reference: `HTTP ${formatCount(grpc.http)} rows/s`,
      ratio: formatRatio(grpc.ratio),
      target: `≥ ${formatRatio(GRPC_SHARE)}`,
      reached: grpc.ratio >= GRPC_SHARE,
    });
    const traces = await benchTraces({ seconds, ...TRACES, connections: CONNECTIONS });
    table.push({
      what: `${TRACES.recordsPerRequest} spans a request`,
      ours: `${formatCount(traces.traces)} rows/s`,
      reference: `logs ${formatCount(traces.logs)} rows/s`,
      ratio: formatRatio(traces.ratio),
      target: `≥ ${formatRatio(TRACES_SHARE)}`,
      reached: traces.ratio >= TRACES_SHARE,
    });
    const documents = await benchBulk({ seconds, ...BULK, connections: CONNECTIONS });
    table.push({
      what: `${BULK.recordsPerRequest} bulk documents a request`,
      ours: `${formatCount(documents)} documents/s`,
      reference: "",
      ratio: "",
      target: `≥ ${formatCount(BULK_PER_SEC)} documents/s`,
      reached: documents >= BULK_PER_SEC,
    });
    return table;
  },
};
