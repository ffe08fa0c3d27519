/** Full scans and newest-first browsing, beside raw DuckDB over the same data files. */

import { type Benchmark, type BenchRow, formatCount, formatMs, formatRatio } from "./benchmark.ts";
import { EnginePair, type PairQuery } from "./engine_pair.ts";
import { buildTable } from "./table_fixture.ts";

const ROUNDS = 15;
const SCAN_RATIO_MAX = 1.15;
const NEWEST_RATIO_MIN = 10;

const SCANS: readonly PairQuery[] = [
  {
    what: "count with LIKE",
    ours: "SELECT count(*) FROM events WHERE raw LIKE '%in 976 ms%'",
    raw: "SELECT count(*) FROM files WHERE raw LIKE '%in 976 ms%'",
  },
  {
    what: "GROUP BY host",
    ours: "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC",
    raw: "SELECT host, count(*) AS n FROM files GROUP BY host ORDER BY n DESC",
  },
  {
    what: "attr_get group",
    ours:
      "SELECT attr_get(attributes, 'http.status_code') AS code, count(*) FROM events GROUP BY code",
    raw: "SELECT json_extract_string(attributes, '$.\"http.status_code\"') AS code, count(*) " +
      "FROM files GROUP BY code",
  },
];

const NEWEST: PairQuery = {
  what: "newest 100",
  ours: "SELECT * FROM events LIMIT 100",
  raw: "SELECT * FROM files ORDER BY timestamp DESC LIMIT 100",
};

export const SQL: Benchmark = {
  name: "sql",
  summary: "full scans and newest-first, beside raw DuckDB on the same files",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTable(rows);
    await using pair = await EnginePair.open(table);
    const over = `${formatCount(rows)} rows in ${table.paths.length} files`;
    const lines: BenchRow[] = [];
    for (const query of SCANS) {
      const { oursMs, rawMs } = await pair.compare(query, ROUNDS);
      lines.push({
        what: `${query.what}, ${over}`,
        ours: formatMs(oursMs),
        reference: `DuckDB ${formatMs(rawMs)}`,
        ratio: formatRatio(oursMs / rawMs),
        target: `≤ ${formatRatio(SCAN_RATIO_MAX)}`,
        reached: oursMs / rawMs <= SCAN_RATIO_MAX,
      });
    }
    const { oursMs, rawMs } = await pair.compare(NEWEST, ROUNDS);
    lines.push({
      what: `${NEWEST.what}, ${over}`,
      ours: formatMs(oursMs),
      reference: `DuckDB ${formatMs(rawMs)}`,
      ratio: `${(rawMs / oursMs).toFixed(1)}× faster`,
      target: `≥ ${NEWEST_RATIO_MIN}× faster`,
      reached: rawMs / oursMs >= NEWEST_RATIO_MIN,
    });
    return lines;
  },
};
