/**
 * The files that a drain makes, merged by a compactor process under its own permissions (`--once
 * --role maintenance`, wall time with its start), and the memory it takes. Then DuckDB scans what
 * comes out in turn with one file that DuckDB wrote, sorted, of the same rows: the median of the
 * pairs' ratios.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import { present } from "../../shared/base/assert.ts";
import { formatBytes } from "../../shared/base/bytes.ts";
import { DEFAULT_NAMESPACE } from "../../shared/tenant/tenant.ts";
import { EVENTS_TABLE } from "../../shared/schema/events.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import {
  type Benchmark,
  type BenchRow,
  formatCount,
  formatMs,
  formatRatio,
  median,
} from "./benchmark.ts";
import { runCompactor } from "./drain_benchmark.ts";
import { buildTable, type TableFixture } from "./table_fixture.ts";

const ROWS_PER_SEC_MIN = 400_000;
const MEMORY_BYTES_MAX = 1024 ** 3;
const SCAN_RATIO_MAX = 1.05;
/** Scans of each way go on until they took so long, but so many at least. */
const SCAN_MS = 10_000;
const SCANS_MIN = 9;
const IDENT = { namespace: DEFAULT_NAMESPACE, name: EVENTS_TABLE };

const QUERIES: readonly [what: string, sql: (files: string) => string][] = [
  ["count with LIKE", (files) => `SELECT count(*) FROM ${files} WHERE raw LIKE '%error 7%'`],
  ["GROUP BY host", (files) => `SELECT host, count(*) FROM ${files} GROUP BY host`],
];

export const MERGE: Benchmark = {
  name: "merge",
  summary: "a drain's files into large sorted ones, by a compactor process; scans of the result",
  sizes: { small: { rows: 2_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await using fixture = await buildTable(rows);
    const { seconds, peakBytes } = await runCompactor(fixture.dir, {
      args: ["--role", "maintenance"],
    });
    const merged = await livePaths(fixture);
    const rate = rows / seconds;
    return [{
      what: `${
        formatCount(rows)
      } rows of about 320 bytes, ${fixture.paths.length} files into ${merged.length}`,
      ours: `${formatCount(rate)} rows/s`,
      reference: "",
      ratio: "",
      target: `≥ ${formatCount(ROWS_PER_SEC_MIN)} rows/s`,
      reached: rate >= ROWS_PER_SEC_MIN,
    }, {
      what: "peak memory",
      ours: formatBytes(peakBytes),
      reference: "",
      ratio: "",
      target: `≤ ${formatBytes(MEMORY_BYTES_MAX)}`,
      reached: peakBytes <= MEMORY_BYTES_MAX,
    }, ...await scans(fixture, merged)];
  },
};

async function livePaths({ store, catalog }: TableFixture): Promise<string[]> {
  const reader = new IcebergReader(store);
  const location = await catalog.metadataLocation(IDENT);
  const table = await reader.loadTable(IDENT, location ?? "");
  const { files } = await reader.selectFiles(table);
  return files.map(({ key }) => store.localPath(key) ?? "");
}

async function scans(fixture: TableFixture, merged: readonly string[]): Promise<BenchRow[]> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const whole = `${fixture.dir}/ideal.parquet`;
    await connection.run(
      `COPY (SELECT * FROM ${filesOf(merged)} ORDER BY timestamp, timestamp_ns) ` +
        `TO '${whole}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)`,
    );
    const lines: BenchRow[] = [];
    for (const [what, sql] of QUERIES) {
      const ours: number[] = [];
      const ideal: number[] = [];
      const ways = [
        async () => ours.push(await timed(() => connection.run(sql(filesOf(merged))))),
        async () => ideal.push(await timed(() => connection.run(sql(filesOf([whole]))))),
      ];
      const startMs = performance.now();
      while (ours.length < SCANS_MIN || performance.now() - startMs < 2 * SCAN_MS) {
        for (const scan of ways.reverse()) await scan();
      }
      const ratio = median(ours.map((ms, at) => ms / present(ideal[at])));
      lines.push({
        what: `${what}, ${merged.length} merged files`,
        ours: formatMs(median(ours)),
        reference: `one sorted file ${formatMs(median(ideal))}`,
        ratio: formatRatio(ratio),
        target: `≤ ${formatRatio(SCAN_RATIO_MAX)}`,
        reached: ratio <= SCAN_RATIO_MAX,
      });
    }
    return lines;
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

function filesOf(paths: readonly string[]): string {
  return `read_parquet([${paths.map((path) => `'${path}'`).join(", ")}])`;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}
