/**
 * No question costs much more than the plain scan of the same files: what indexes, trials and pages
 * cost beside what they spare, from small tables to large ones. Processor time of this process, in
 * turn with raw DuckDB.
 */

import { cpuUsage } from "node:process";
import { type Benchmark, type BenchRow, formatCount, formatMs, formatRatio } from "./benchmark.ts";
import { EnginePair, type PairQuery } from "./engine_pair.ts";
import { searches } from "./search_benchmark.ts";
import { EVERYWHERE, searchSource, traceId } from "./search_rows.ts";
import { buildTableOf, START_NS, type TableFixture } from "./table_fixture.ts";

const WARM_UPS = 4;
const ROUNDS = 9;
/** Times the plain scan. */
const RATIO_MAX = 1.1;
/** What planning, looking up indexes and binding may cost where a scan costs next to nothing. */
const FIXED_MS = 5;
const SMALLEST = 10_000;
const STEP = 10;

function questions(rows: number): readonly PairQuery[] {
  const middle = new Date(Number(START_NS / 1_000_000n) + rows / 2).toISOString();
  const same = (what: string, sql: string): PairQuery => ({
    what,
    ours: sql.replace("files", "events"),
    raw: sql,
  });
  const traces = Array.from({ length: 10 }, (_, i) => `'${traceId(Math.floor(rows * i / 10))}'`);
  const newest = "ORDER BY timestamp DESC LIMIT 100";
  return [
    ...searches(rows),
    {
      what: "rows of ten trace ids",
      ours: `SELECT * FROM events WHERE attr_get(attributes, 'trace_id') IN (${traces})`,
      raw: `SELECT * FROM files WHERE json_extract_string(attributes, '$.trace_id') IN (${traces})`,
    },
    {
      what: "newest 100 of a source and a severity",
      ours: "SELECT * FROM events WHERE source = 'cart' AND " +
        `attr_get(attributes, 'severity_text') = 'ERROR' ${newest}`,
      raw: "SELECT * FROM files WHERE source = 'cart' AND " +
        `json_extract_string(attributes, '$.severity_text') = 'ERROR' ${newest}`,
    },
    same("newest 100", `SELECT * FROM files ${newest}`),
    same("a page of a cursor", `SELECT * FROM files WHERE timestamp < '${middle}' ${newest}`),
    {
      what: "a word that is everywhere",
      ours: `SELECT count(*) FROM events WHERE match_terms(raw, '${EVERYWHERE}')`,
      raw: `SELECT count(*) FROM files WHERE raw LIKE '%${EVERYWHERE}%'`,
    },
    same("a letter", "SELECT count(*) FROM files WHERE raw LIKE '%e%'"),
    same(
      "hosts of two sources",
      "SELECT host, count(*) FROM files WHERE source IN ('cart', 'ledger') GROUP BY host",
    ),
  ];
}

export const PLAIN: Benchmark = {
  name: "plain",
  summary: "processor time of each question beside the plain scan, from 10,000 rows on",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    const lines: BenchRow[] = [];
    for (let size = SMALLEST; size <= rows; size *= STEP) {
      await using table = await buildTableOf(searchSource(size), { rows: size });
      lines.push(...await compared(table));
    }
    return lines;
  },
};

async function compared(table: TableFixture): Promise<BenchRow[]> {
  await using pair = await EnginePair.open(table);
  const lines: BenchRow[] = [];
  const asked = questions(table.rows);
  // The runtime compiles what it runs often.
  for (let round = 0; round < WARM_UPS; round += 1) {
    for (const query of asked) await pair.compare(query, 0);
  }
  for (const query of asked) {
    const { oursMs, rawMs } = await pair.compare(query, ROUNDS, processorMs);
    const ratio = oursMs / rawMs;
    lines.push({
      what: `${query.what}, ${formatCount(table.rows)} rows`,
      ours: formatMs(oursMs),
      reference: `DuckDB ${formatMs(rawMs)}`,
      ratio: formatRatio(ratio),
      target: `≤ ${formatRatio(RATIO_MAX)}, or ${FIXED_MS} ms more`,
      reached: ratio <= RATIO_MAX || oursMs <= rawMs + FIXED_MS,
    });
  }
  return lines;
}

/** What all threads took since the process began. */
function processorMs(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1_000;
}
