/** OTLP/HTTP protobuf with `wait_for` over 16 connections, beside a bare server that reads, writes and syncs. */

import { type Benchmark, type BenchRow, formatCount, formatRatio } from "./benchmark.ts";
import { benchIngest } from "./ingest.ts";

const CONNECTIONS = 16;
/** Records a request, and the share of the bare server's rate to reach. */
const CASES = [{ records: 500, share: 0.5 }, { records: 50, share: 0.4 }] as const;

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
    }
    return table;
  },
};
