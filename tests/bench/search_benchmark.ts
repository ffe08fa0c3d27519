/**
 * Finding rows by words, parts of words and attributes, beside raw DuckDB's scan of the same files.
 */

import { NO_INDEXES } from "../../shared/engine/pruning/row_index.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, formatRatio } from "./benchmark.ts";
import { EnginePair, type PairQuery } from "./engine_pair.ts";
import {
  COMMON,
  COMMON_PHRASE,
  EVERYWHERE,
  INNER,
  NEEDLE,
  PHRASE,
  PREFIX,
  searchSource,
  traceId,
} from "./search_rows.ts";
import { buildTableOf, type TableFixture } from "./table_fixture.ts";

const ROUNDS = 5;
const IN_VAIN_ROUNDS = 3;
/** Slower at most with indexes than without, where they cannot help. */
const IN_VAIN_RATIO_MAX = 1.1;

interface Search extends PairQuery {
  /** 0: for orientation. */
  readonly fasterMin: number;
  readonly msMax?: number;
}

export function searches(rows: number): readonly Search[] {
  const trace = traceId(Math.floor(rows / 3));
  const counted = (what: string, ours: string, text: string) => ({
    what,
    ours: `SELECT count(*) FROM events WHERE ${ours}`,
    raw: `SELECT count(*) FROM files WHERE raw LIKE '%${text}%'`,
  });
  return [
    {
      ...counted("rare word, 10 rows", `match_terms(raw, '${NEEDLE}')`, NEEDLE),
      fasterMin: 50,
      msMax: 100,
    },
    {
      what: "rows of a rare word",
      ours: `SELECT * FROM events WHERE match_terms(raw, '${NEEDLE}')`,
      raw: `SELECT * FROM files WHERE raw LIKE '%${NEEDLE}%'`,
      fasterMin: 10,
    },
    { ...counted("rare part of a word", `raw LIKE '%${INNER}%'`, INNER), fasterMin: 10 },
    {
      what: "newest 100 of a common word",
      ours:
        `SELECT * FROM events WHERE match_terms(raw, '${COMMON}') ORDER BY timestamp DESC LIMIT 100`,
      raw: `SELECT * FROM files WHERE raw LIKE '%${COMMON}%' ORDER BY timestamp DESC LIMIT 100`,
      fasterMin: 1,
      msMax: 50,
    },
    {
      ...counted("phrase", `match_phrase(raw, '${PHRASE}')`, PHRASE),
      fasterMin: 10,
    },
    {
      ...counted("phrase of common words", `match_phrase(raw, '${COMMON_PHRASE}')`, COMMON_PHRASE),
      fasterMin: 0,
    },
    { ...counted("prefix", `match_prefix(raw, '${PREFIX}')`, PREFIX), fasterMin: 10 },
    {
      what: "one trace id in attributes",
      ours: `SELECT count(*) FROM events WHERE attr_get(attributes, 'trace_id') = '${trace}'`,
      raw:
        `SELECT count(*) FROM files WHERE json_extract_string(attributes, '$.trace_id') = '${trace}'`,
      fasterMin: 50,
      msMax: 100,
    },
  ];
}

/**
 * What indexes cannot help with: words that are everywhere, parts of words that no dictionary
 * knows.
 */
const IN_VAIN: readonly string[] = [
  `SELECT count(*) FROM events WHERE match_terms(raw, '${EVERYWHERE}')`,
  `SELECT count(*) FROM events WHERE raw LIKE '%e%'`,
  `SELECT host, count(*) FROM events WHERE source IN ('cart', 'ledger') GROUP BY host`,
];

export const SEARCH: Benchmark = {
  name: "search",
  summary: "words, parts of words and attributes, beside raw DuckDB on the same files",
  sizes: { small: { rows: 1_000_000, seconds: 0 }, full: { rows: 10_000_000, seconds: 0 } },
  async run({ rows }) {
    await using table = await buildTableOf(searchSource(rows), { rows });
    await using pair = await EnginePair.open(table);
    const over = `${formatCount(rows)} rows in ${table.paths.length} files`;
    const lines: BenchRow[] = [];
    for (const query of searches(rows)) {
      lines.push(rowOf(query, { ...await pair.compare(query, ROUNDS), over }));
    }
    lines.push(...await inVain(table, pair, over));
    lines.push(await sizeRow(table));
    return lines;
  },
};

function rowOf(
  { what, fasterMin, msMax }: Search,
  { oursMs, rawMs, over }: { oursMs: number; rawMs: number; over: string },
): BenchRow {
  const faster = rawMs / oursMs;
  return {
    what: `${what}, ${over}`,
    ours: formatMs(oursMs),
    reference: `DuckDB ${formatMs(rawMs)}`,
    ratio: `${faster.toFixed(1)}× faster`,
    target: fasterMin === 0
      ? "for orientation"
      : `≥ ${fasterMin}× faster${msMax === undefined ? "" : `, ≤ ${msMax} ms`}`,
    reached: faster >= fasterMin && oursMs <= (msMax ?? Infinity),
  };
}

async function inVain(table: TableFixture, pair: EnginePair, over: string): Promise<BenchRow[]> {
  await using without = await EnginePair.open(table, { indexes: NO_INDEXES, name: "without" });
  const lines: BenchRow[] = [];
  for (const sql of IN_VAIN) {
    const { oursMs, otherMs } = await pair.compareEngines(without, sql, IN_VAIN_ROUNDS);
    lines.push({
      what: `${sql.replace("SELECT count(*) FROM events WHERE ", "")}, ${over}`,
      ours: formatMs(oursMs),
      reference: `without indexes ${formatMs(otherMs)}`,
      ratio: formatRatio(oursMs / otherMs),
      target: `≤ ${formatRatio(IN_VAIN_RATIO_MAX)}`,
      reached: oursMs / otherMs <= IN_VAIN_RATIO_MAX,
    });
  }
  return lines;
}

/** What lies in `derived/` beside what lies in `data/`, in bytes. */
async function sizeRow({ store, paths }: TableFixture): Promise<BenchRow> {
  let [data, derived] = [0, 0];
  for await (const { key, size } of store.list("")) {
    if (key.endsWith(".parquet")) data += size;
    if (key.endsWith(".puffin")) derived += size;
  }
  return {
    what: `sidecars of ${paths.length} files`,
    ours: `${formatCount(derived)} bytes`,
    reference: `data files ${formatCount(data)} bytes`,
    ratio: formatRatio(derived / data),
    target: "for orientation",
    reached: true,
  };
}
