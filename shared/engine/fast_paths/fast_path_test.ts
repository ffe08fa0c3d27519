/**
 * Which path answers a statement and why others step aside, what it says that it read, and that its
 * answers are of one state while the table changes. That they are the scan's:
 * `tests/equivalence/fast_paths_test.ts`.
 */

import assert from "node:assert/strict";
import { ensureTable } from "../../iceberg/commit_append.ts";
import { IcebergReader } from "../../iceberg/iceberg_reader.ts";
import { type Deriver, INLINE_DERIVER } from "../../derived/deriver.ts";
import { sidecarKey } from "../../derived/sidecar.ts";
import { FALSE_PAIRS_TYPE, WORD_COUNTS_TYPE } from "../../derived/text/word_counts.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { EngineLab, type LabEvent } from "../../testing/engine_lab.ts";
import { RemoteStore } from "../../testing/remote_store.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import type { RowObject } from "../../columns/rows.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import type { ServedBy } from "../types.ts";
import { inexactMeasure, type Measured } from "./exact_measures.ts";

const MINUTE_NS = 60_000_000_000n;
/** A whole minute, of a day that holds everything here. */
const START_NS = 1_790_000_040_000_000_000n;
const EVENTS = { namespace: "svc", name: "events" };

/** `count` rows, ten seconds apart. */
function rows(count: number, firstNs = START_NS): LabEvent[] {
  return Array.from({ length: count }, (_, n) => ({
    ns: firstNs + BigInt(n) * 10_000_000_000n,
    host: n % 3 === 0 ? "web-1" : "web-2",
    raw: `row ${n} of host`,
  }));
}

const at = (ns: bigint) => `make_timestamptz(${ns / 1_000n})`;
const CUT = `timestamp >= ${at(START_NS + 30_000_000_000n)} AND timestamp < ${
  at(START_NS + 5n * MINUTE_NS)
}`;

const PATHS: readonly (readonly [sql: string, path: ServedBy | RegExp])[] = [
  ["SELECT count(*) FROM events", "tier1_inline"],
  ["SELECT count(*), min(timestamp), max(timestamp) FROM events", "tier1_inline"],
  ["SELECT host, count(*) FROM events GROUP BY host", "tier1_inline"],
  ["SELECT DISTINCT host FROM events", "tier1_inline"],
  ["SELECT count(DISTINCT host) FROM svc.events e WHERE e.host <> 'x'", "tier1_inline"],
  ["SELECT host, source, count(*) FROM events GROUP BY ALL HAVING count(*) > 1", "tier1_inline"],
  ["SELECT count(*) n FROM events GROUP BY ALL HAVING n > 1 AND host < 'x'", "tier1_inline"],
  ["SELECT timestamp::DATE d, count(*) FROM events GROUP BY ALL HAVING d > '2020-01-01'", /times/],
  [
    "SELECT timestamp::DATE d, count(*) n FROM events GROUP BY ALL HAVING n > 1",
    "tier1_windowed_agg",
  ],
  ["SELECT host, max(timestamp) FROM events GROUP BY host ORDER BY 2 LIMIT 1", "tier1_inline"],
  ["SELECT count(*) FROM events WHERE timestamp > now() - INTERVAL 90 YEAR", "tier1_inline"],
  [`SELECT count(*) FROM events WHERE ${CUT}`, "tier1_windowed_agg"],
  [`SELECT host, count(*) FROM events WHERE ${CUT} GROUP BY 1`, "tier1_windowed_agg"],
  ["SELECT date_trunc('hour', timestamp) t, count(*) FROM events GROUP BY t", "tier1_windowed_agg"],
  [
    "SELECT time_bucket(INTERVAL '5 minutes', timestamp), host, count(*) FROM events GROUP BY 1, 2",
    "tier1_windowed_agg",
  ],
  ["SELECT count(*) FROM events WHERE match_terms(raw, 'ROW')", "tier1_inline"],
  ["SELECT count(*) FROM events e WHERE match_phrase(e.raw, 'of host')", "tier1_inline"],
  ["SELECT match_any(raw, 'row'), count(*) FROM events GROUP BY 1", "tier1_inline"],
  [
    "SELECT date_trunc('minute', timestamp) m, count(*) FILTER (NOT match(raw, 'row')) FROM events GROUP BY m",
    "tier1_windowed_agg",
  ],
  [`SELECT count(*) FROM events WHERE match_terms(raw, 'row') AND ${CUT}`, "tier1_windowed_agg"],
  [
    "SELECT epoch_ms(date_bin(INTERVAL '3600 seconds', timestamp)), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  ["SELECT epoch_ms(timestamp), count(*) FROM events GROUP BY 1", /differ within a minute/],
  [
    "SELECT date_trunc('hour', timestamp) h, coalesce(host, raw), count(*) FROM events GROUP BY ALL",
    "tier1_windowed_agg",
  ],
  [
    "SELECT count(*) FROM events WHERE host = 'x' OR (host IS NULL AND raw = 'x')",
    "tier1_inline",
  ],
  ["SELECT coalesce(host, upper(raw)), count(*) FROM events GROUP BY 1", /raw, which is no tag/],
  ["SELECT count(*) FROM events WHERE match_terms(raw, '7')", /count frequent words/],
  ["SELECT count(*) FROM events WHERE match_terms(raw, 'row of')", /it calls match_terms/],
  ["SELECT count(*) FROM events WHERE match_phrase(raw, 'row of host')", /calls match_phrase/],
  ["SELECT count(*) FROM events WHERE match_prefix(raw, 'row')", /it calls match_prefix/],
  [
    "SELECT count(*) FROM events WHERE match_terms(raw, 'row') OR match_terms(raw, 'host')",
    /words in several ways/,
  ],
  [
    "SELECT lower(host) AS raw, count(*) FROM events WHERE match_terms(raw, 'row') GROUP BY 1",
    /it calls match_terms/,
  ],
  ["SELECT host, count(*) FROM events WHERE match_terms(raw, 'row') GROUP BY 1", "tier1_inline"],
  [
    "SELECT host, source, count(*) FROM events WHERE match_terms(raw, 'row') GROUP BY ALL",
    /count frequent words, by minute and one other column/,
  ],
  ["SELECT host FROM events", /it lists rows/],
  ["SELECT host, raw, count(*) FROM events GROUP BY ALL", /raw, which is no tag/],
  ["SELECT host, source, index, count(*) FROM events GROUP BY ALL", /3 columns together/],
  ["SELECT count(*) FROM events a, events b", /more than one table|one table once/],
  ["SELECT count(*) FROM (SELECT * FROM events)", /more than one table|one table once/],
  ["WITH e AS (SELECT 1) SELECT count(*) FROM events", /it has a WITH/],
  ["SELECT host, count(*) FROM events GROUP BY ROLLUP (host)", /several groupings/],
  ["SELECT DISTINCT ON (host) host FROM events", /DISTINCT ON/],
  ["SELECT count(*) FROM events USING SAMPLE 50%", /draws a sample/],
  ["SELECT host, count(*) OVER () FROM events GROUP BY host", /WINDOW/],
  ["SELECT count(*) FROM events WHERE host = (SELECT 'a')", /SUBQUERY/],
  ["SELECT any_value(host) FROM events", /it calls any_value/],
  ["SELECT first(host ORDER BY timestamp) FROM events", /ORDER BY/],
  ["SELECT random(), count(*) FROM events GROUP BY 1", /it calls random/],
  ["SELECT timestamp, count(*) FROM events GROUP BY 1", /timestamp itself/],
  [
    "SELECT date_trunc('second', timestamp), count(*) FROM events GROUP BY 1",
    /more than the minute/,
  ],
  [
    "SELECT time_bucket(INTERVAL '1 month', timestamp), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT date_bin('5 minutes', timestamp), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT time_bucket('1 month', timestamp), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT date_bin('5 minutes', timestamp, TIMESTAMP '2020-01-01 00:01:00'), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT time_bucket(INTERVAL '1 day', timestamp, TIMESTAMPTZ '2020-01-01 06:30:00Z'), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT time_bucket(INTERVAL '1 day', timestamp, INTERVAL '6 hours'), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT date_bin('5 minutes', timestamp, TIMESTAMP '2020-01-01 00:01:30'), count(*) FROM events GROUP BY 1",
    /the origin of date_bin is not written as a whole minute/,
  ],
  [
    "SELECT date_bin('90 seconds', timestamp), count(*) FROM events GROUP BY 1",
    /the stride of date_bin is not written as whole minutes/,
  ],
  [
    "SELECT date_trunc(host, timestamp), count(*) FROM events GROUP BY 1",
    /the unit of date_trunc is computed/,
  ],
  [
    "SELECT date_diff('minute', timestamp, now()), count(*) FROM events GROUP BY 1",
    /date_diff of timestamp may differ within a minute/,
  ],
  [
    "SELECT date_bin(INTERVAL '1 hour 30 minutes', timestamp), count(*) FROM events GROUP BY 1",
    "tier1_windowed_agg",
  ],
  [
    "SELECT date_bin(INTERVAL '1 minute 30 seconds', timestamp), count(*) FROM events GROUP BY 1",
    /stride of date_bin is not written as whole minutes/,
  ],
  ["SELECT count(*) FROM events WHERE timestamp > NULL::TIMESTAMPTZ", /has no value/],
  ["SELECT host, count(*) FROM events GROUP BY host LIMIT 1 + 1", /LIMIT is computed/],
  ["SELECT host, count(*) FROM events GROUP BY host ORDER BY 2 LIMIT 2 OFFSET 1", "tier1_inline"],
  ["SELECT 1", /does not read one table once/],
  ["SELECT count(*) FROM events UNION ALL SELECT 1", /more than one SELECT/],
  ["SELECT count(*) FROM events, range(3)", /more than one table/],
  ["SELECT count(*) FROM events e(t)", /renames columns/],
  [
    "SELECT host, count(*) FROM events GROUP BY host QUALIFY row_number() OVER () = 1",
    /has a QUALIFY/,
  ],
  ["SELECT host, count(*) FROM events GROUP BY host LIMIT 10%", /LIMIT_PERCENT/],
  ["SELECT host[1], count(*) FROM events GROUP BY 1", /uses ARRAY_EXTRACT/],
  ["SELECT host, max(raw) FROM events GROUP BY host", /raw, which is no tag/],
  ["SELECT timestamp::VARCHAR, count(*) FROM events GROUP BY 1", /finer than a day/],
  ["SELECT max(host, 2) FROM events", /max in a way of its own/],
  ["SELECT sum(length(host)) FROM events", /it calls sum/],
  ["SELECT host, source, max(timestamp) FROM events GROUP BY ALL", /measures by two columns/],
  ["SELECT count(events) FROM events", /events is no column of the table/],
  ["SELECT avg(timestamp_ns) FROM events", /timestamp_ns is too large to be divided exactly/],
  [`SELECT count(*) FROM events WHERE timestamp_ns = ${START_NS + 1n}`, /no summary holds a row/],
];

Deno.test("fastPath answers these and steps aside from those, and EXPLAIN says so", async (t) => {
  await using lab = await EngineLab.open();
  await lab.commit(rows(100), { derived: true });
  for (const [sql, path] of PATHS) {
    await t.step(sql, async () => {
      await using prepared = await lab.prepare(sql);
      const [line] = (await prepared.explain()).split("\n");
      if (typeof path === "string") {
        assert.deepEqual([prepared.servedBy, prepared.aside], [path, undefined]);
        assert.match(line ?? "", new RegExp(`^${path}: \\d+ counts? of summaries`));
      } else {
        assert.equal(prepared.servedBy, "scan");
        assert.match(prepared.aside ?? "", path);
        assert.match(line ?? "", /^scan: no fast path, because /);
      }
    });
  }
});

/** Rows of any day; `half` and `code` are given for each row. */
function readings(count: number, fields: (n: number) => RowObject): RowObject[] {
  return Array.from({ length: count }, (_, n) => {
    const ns = START_NS + BigInt(n) * 1_000_000n;
    const row = {
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      a: "a",
      b: "b",
      half: null,
      code: null,
    };
    return { ...row, ...fields(n) };
  });
}

const READINGS: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "a", type: "string", required: false },
    { id: 4, name: "b", type: "string", required: false },
    { id: 5, name: "half", type: "double", required: false },
    { id: 6, name: "code", type: "int", required: false },
  ],
  tags: ["a", "b"],
};
const TABLE = { ident: { namespace: "svc", name: "readings" }, schema: READINGS };

async function asideOf(lab: EngineLab, sql: string): Promise<string | undefined> {
  await using prepared = await lab.prepare(sql);
  const [line] = (await prepared.explain()).split("\n");
  const { aside } = prepared;
  assert.equal(line?.startsWith("scan:"), aside !== undefined, line);
  assert(aside === undefined || line?.endsWith(`no fast path, because ${aside}`), line);
  return aside;
}

Deno.test("averages can be what HAVING asks, in words or by their alias", async () => {
  await using lab = await EngineLab.open();
  const rows = readings(9, (n) => ({ a: n % 3 === 0 ? "x" : "y", code: n * 7 }));
  await lab.commitRows(rows, { ...TABLE, derived: true });
  for (const having of ["avg(code) > 25.5", "mean > 25.5", "2 * mean > avg(code) + 25.5e0"]) {
    const sql = `SELECT a, avg(code) AS mean FROM readings GROUP BY a HAVING ${having}`;
    const { texts, stats } = await lab.query(sql);
    assert.deepEqual([texts, stats.served_by], [['["y",31.5]'], "tier1_inline"], sql);
  }
});

Deno.test("doubles of a statement stay doubles where it is asked of weighted rows", async () => {
  await using lab = await EngineLab.open();
  await lab.commitRows(readings(3, () => ({ code: 3 })), { ...TABLE, derived: true });
  const sql = "SELECT 0.1e0 + 0.2e0, max(code) * 0.1e0, count(*) * 1e0, sum(code) + -0e0 " +
    "FROM readings GROUP BY a HAVING sum(code) < 1e1 AND max(code) > 2.5e0";
  const { texts, stats } = await lab.query(sql);
  const doubles = "[0.30000000000000004,0.30000000000000004,3.0,9.0]";
  assert.deepEqual([texts, stats.served_by], [[doubles], "tier1_inline"]);
  assert.deepEqual((await lab.query(sql, { fastPaths: false })).texts, [doubles]);
});

Deno.test("fastPath steps aside from sums that the order of rows decides, and from averages without bounds", async () => {
  await using lab = await EngineLab.open();
  const half = "SELECT sum(half) FROM readings";
  const code = "SELECT a, avg(code) FROM readings GROUP BY a";
  const exact = readings(4, (n) => ({ half: n / 2, code: n }));
  await lab.commitRows(exact, { ...TABLE, derived: true });
  assert.deepEqual([await asideOf(lab, half), await asideOf(lab, code)], [undefined, undefined]);
  await lab.commitRows(exact, TABLE);
  assert.equal(await asideOf(lab, half), "it adds up half, of which rows must be read");
  assert.equal(await asideOf(lab, code), undefined);
  // A file of NULL alone tells no bounds.
  await lab.commitRows(readings(4, () => ({})), TABLE);
  assert.equal(
    await asideOf(lab, code),
    "it averages code, of which rows without bounds are read",
  );
  await using other = await EngineLab.open();
  await other.commitRows(readings(4, (n) => ({ half: n / 10 })), { ...TABLE, derived: true });
  assert.equal(await asideOf(other, half), "the sum of half depends on the order of rows");
  assert.equal(await asideOf(other, "SELECT max(half) FROM readings"), undefined);
});

Deno.test("fastPath steps aside from answers of more than 50,000 counts", async () => {
  await using lab = await EngineLab.open();
  // Values of both columns are few enough for pairs of them to be counted.
  for (
    const [rows, aside] of [[200, undefined], [
      230,
      /^its answer is made of 52900 counts$/,
    ]] as const
  ) {
    await lab.commitRows(
      readings(rows * rows, (n) => ({ a: `a${n % rows}`, b: `b${Math.floor(n / rows)}` })),
      { ...TABLE, derived: true },
    );
    const found = await asideOf(lab, "SELECT a, b, count(*) FROM readings GROUP BY a, b");
    if (aside === undefined) assert.equal(found, undefined);
    else assert.match(found ?? "", aside);
  }
});

Deno.test("fastPath steps aside from hot caches, from names of its own, and where rows are wanted", async () => {
  await using lab = await EngineLab.open({ wal: true, engine: { hotCaches: true } });
  await lab.commit(rows(9), { derived: true });
  await lab.append(rows(1));
  assert.equal(
    await asideOf(lab, "SELECT count(*) FROM distinct_values('host')"),
    "it calls distinct_values",
  );
  assert.equal(await asideOf(lab, "SELECT count(*) FROM last_values()"), "it calls last_values");
  await using prepared = await lab.prepare("SELECT count(*) FROM events", { fastPaths: false });
  assert.match(
    await prepared.explain(),
    /^scan: no fast path, because the request wants rows read\n/,
  );

  // Another program may have altered a table so.
  const columns = [...READINGS.columns, { id: 7, name: "#rows", type: "long", required: false }];
  const schema = { ...READINGS, columns } as TableSchema;
  const own = readings(3, () => ({ "#rows": 5n }));
  await lab.commitRows(own, { ...TABLE, schema, derived: true });
  assert.equal(await asideOf(lab, "SELECT count(*) FROM readings"), "the table has a column #rows");
  const { rows: sums } = await lab.query('SELECT sum("#rows"), count(*) FROM readings');
  assert.deepEqual(sums, [[15, 3]]);
});

Deno.test("inexactMeasure refuses averages where the processor divides otherwise", () => {
  const column: Column = { id: 6, name: "code", type: "int", required: false };
  const measured = (isAveraged: boolean): readonly Measured[] => [{
    measure: { column, parts: new Set(["sum", "values"]), isAveraged },
    cells: { kind: "integer", units: 0, cells: new Map() },
  }];
  for (
    const [averages, isAveraged, why] of [
      [true, true, undefined],
      [false, false, undefined],
      [false, true, "averages of whole numbers are not exact on this processor"],
    ] as const
  ) {
    assert.equal(inexactMeasure(measured(isAveraged), { read: [], averages }), why);
  }
});

Deno.test("stats are about what was read: nothing, the cut minutes, files without a summary, the WAL", async () => {
  await using lab = await EngineLab.open({ wal: true });
  await lab.commit(rows(100), { derived: true });
  const groups = "SELECT host, count(*) FROM events GROUP BY host";
  const whole = await lab.query(groups);
  assert.deepEqual([whole.stats.rows_scanned, whole.stats.scan], [0, undefined]);
  assert.equal(whole.stats.bytes_scanned, 0);

  // Half a minute, of three rows.
  const cut = await lab.query(`SELECT host, count(*) FROM events WHERE ${CUT} GROUP BY host`);
  assert.deepEqual([cut.stats.served_by, cut.stats.rows_scanned], ["tier1_windowed_agg", 3]);
  assert.equal(cut.stats.scan?.files_planned, 1);

  await lab.append(rows(7, START_NS + 60n * MINUTE_NS));
  const fresh = await lab.query(groups);
  assert.deepEqual([fresh.stats.served_by, fresh.stats.rows_scanned], ["tier1_inline", 7]);
  assert.equal((await lab.query("SELECT count(*) FROM events")).stats.rows_scanned, 0);

  await lab.commit(rows(11, START_NS + 90n * MINUTE_NS));
  const without = await lab.query(groups);
  assert.deepEqual([without.stats.served_by, without.stats.rows_scanned], ["materialized", 18]);
  assert.equal((await lab.query(groups, { fastPaths: false })).stats.rows_scanned, 118);
});

Deno.test("a column with more values in the table than a file's summary holds is answered, and called wide", async () => {
  await using lab = await EngineLab.open();
  const count = 2_500;
  for (let file = 0; file < 2; file += 1) {
    const own = rows(count).map((row, n) => ({ ...row, host: `host-${file * count + n}` }));
    await lab.commit(own, { derived: true });
  }
  const { texts, stats } = await lab.query(
    "SELECT host, count(*) FROM events GROUP BY host ORDER BY host DESC LIMIT 2",
  );
  assert.deepEqual([texts, stats.served_by, stats.rows_scanned], [
    ['["host-999",1]', '["host-998",1]'],
    "tier1_wide",
    0,
  ]);
  const { rows: [row] } = await lab.query("SELECT count(DISTINCT host) FROM events");
  assert.deepEqual(row, [2 * count]);
});

Deno.test("a warm answer reads no sidecar; a table with other files reads only theirs", async () => {
  await using lab = await EngineLab.open();
  const sql = "SELECT host, count(*) FROM events GROUP BY host ORDER BY host";
  for (let n = 0; n < 4; n += 1) {
    await lab.commit(rows(9, START_NS + BigInt(n) * 5n * MINUTE_NS), { derived: true });
  }
  assert.deepEqual((await lab.query(sql)).texts, ['["web-1",12]', '["web-2",24]']);
  for (const key of await sidecars(lab)) await lab.store.delete([key]);
  assert.equal((await lab.query(sql)).stats.served_by, "tier1_inline");
  await lab.commit(rows(9, START_NS + 200n * MINUTE_NS), { derived: true });
  const grown = await lab.query(sql);
  assert.deepEqual(grown.texts, ['["web-1",15]', '["web-2",30]']);
  assert.equal(grown.stats.served_by, "tier1_inline");
});

Deno.test("answers are of one state each while rows are appended and become files", async () => {
  await using lab = await EngineLab.open({ wal: true });
  const { store, catalog, clock, random } = lab;
  await ensureTable({ store, catalog, clock, random }, { ident: EVENTS, schema: EVENTS_SCHEMA });
  let acknowledged = 0;
  let ended = false;
  const writing = (async () => {
    for (let n = 0; n < 40; n += 1) {
      const own = rows(5, START_NS + BigInt(n) * MINUTE_NS);
      const segment = await lab.append(own);
      acknowledged += own.length;
      if (n % 2 === 0) continue;
      // What the segment holds becomes a file, as a drain makes it.
      await lab.wal?.seal({ tenant: "default", index: "events" });
      const before = rows(5, START_NS + BigInt(n - 1) * MINUTE_NS);
      await lab.commit([...before, ...own], { consumed: [segment], derived: n % 8 !== 1 });
    }
  })().finally(() => ended = true);
  const seen = new Set<string>();
  while (!ended) {
    const least = acknowledged;
    const { rows: [row], stats } = await lab.query(
      "SELECT count(*), sum(CASE WHEN host = 'web-1' THEN 1 ELSE 0 END)::BIGINT FROM " +
        "(SELECT host FROM events)",
    );
    const grouped = await lab.query("SELECT host, count(*) FROM events GROUP BY host");
    const total = grouped.rows.reduce((sum, [, count]) => sum + Number(count), 0);
    seen.add(grouped.stats.served_by);
    assert(Number(row?.[0]) >= least, `${row?.[0]} of at least ${least}: ${stats.served_by}`);
    assert(total >= least && total <= acknowledged, `${least} ≤ ${total} ≤ ${acknowledged}`);
    assert.equal(total % 5, 0, "a batch is there as a whole or not at all");
  }
  await writing;
  assert.deepEqual((await lab.query("SELECT count(*) FROM events")).rows, [[200]]);
  assert([...seen].some((path) => path !== "scan"), [...seen].join());
});

Deno.test("counts of words from before have no pairs that are true: phrases are looked for", async () => {
  await using lab = await EngineLab.open();
  const earlier: Deriver = {
    ...INLINE_DERIVER,
    derive: async (file, subject, words) => {
      const made = await words;
      const blobs = made?.blobs.map((blob) =>
        blob.type === WORD_COUNTS_TYPE ? { ...blob, type: FALSE_PAIRS_TYPE } : blob
      );
      return await INLINE_DERIVER.derive(
        file,
        subject,
        Promise.resolve({ blobs: blobs ?? [], columns: [] }),
      );
    },
  };
  const own = rows(300).map((row, n) => ({ ...row, raw: n % 3 === 0 ? "a b" : "b c" }));
  await lab.commit(own, { derived: earlier });
  for (const [words, count, servedBy] of [["b", 300, "tier1_inline"], ["a b", 100, "scan"]]) {
    const sql = `SELECT count(*) FROM events WHERE match_phrase(raw, '${words}')`;
    const { texts, stats } = await lab.query(sql);
    assert.deepEqual([texts, stats.served_by], [[`[${count}]`], servedBy]);
  }
});

/** Asked until the ends of its range are counted in memory. */
async function inMemory(lab: EngineLab, sql: string): Promise<void> {
  const deadlineMs = performance.now() + 30_000;
  for (;;) {
    const { stats } = await lab.query(sql);
    if (stats.rows_scanned === 0) return;
    assert(performance.now() < deadlineMs, `${sql} still reads ${stats.rows_scanned} rows`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

for (const isRemote of [false, true]) {
  const where = isRemote ? "an object store" : "a folder";
  Deno.test(`ranges that cut minutes are counted in memory, exactly, over files of ${where}`, async () => {
    const random = new SeededRandom(7_011);
    await using lab = await EngineLab.open(isRemote ? { store: new RemoteStore() } : {});
    // Files that overlap, of several row groups; instants repeat, some differ by nanoseconds.
    const commit = async () => {
      const own = Array.from({ length: 3_000 }, () => ({
        ns: START_NS + BigInt(random.below(600)) * 1_000_000_000n + BigInt(random.below(3)) * 400n,
      }));
      own.sort((a, b) => a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0);
      await lab.commit(own, { derived: true, rowGroupRowsMax: 700 });
    };
    for (let file = 0; file < 3; file += 1) await commit();
    const instant = () => at(START_NS + BigInt(random.below(600_000_000)) * 1_000n);
    const cut = () => {
      const [first, last] = [instant(), instant()].sort();
      return `timestamp ${random.chance(0.5) ? ">" : ">="} ${first} AND ` +
        `timestamp ${random.chance(0.5) ? "<" : "<="} ${last}`;
    };
    const whole = `timestamp >= ${at(START_NS + 1_000_000n)} AND ` +
      `timestamp < ${at(START_NS + 10n * MINUTE_NS - 1_000_000n)}`;
    await inMemory(lab, `SELECT count(*) FROM events WHERE ${whole}`);
    let counted = 0;
    for (let round = 0; round < 40; round += 1) {
      const sql = random.chance(0.5)
        ? `SELECT count(*) FROM events WHERE ${cut()}`
        : `SELECT date_trunc('minute', timestamp), count(*) FROM events WHERE ${cut()} ` +
          "GROUP BY 1 ORDER BY 1";
      const { texts, stats } = await lab.query(sql);
      const scanned = await lab.query(sql, { fastPaths: false });
      assert.deepEqual(texts, scanned.texts, sql);
      if (stats.served_by === "scan") continue;
      assert.deepEqual([stats.rows_scanned, stats.scan], [0, undefined], sql);
      counted += 1;
    }
    assert(counted > 20, `${counted} statements of 40 read no row`);
    await using prepared = await lab.prepare(`SELECT count(*) FROM events WHERE ${whole}`);
    assert.match(await prepared.explain(), /; 6 cut minutes counted in memory\n/);

    // Rows of a file that came since are read, and rows of no other file.
    await commit();
    const grown = await lab.query(`SELECT count(*) FROM events WHERE ${whole}`);
    assert(grown.stats.rows_scanned > 0 && grown.stats.rows_scanned < 900, JSON.stringify(grown));
    assert.equal(grown.stats.scan?.files_planned, 1);
    assert.deepEqual(
      grown.texts,
      (await lab.query(`SELECT count(*) FROM events WHERE ${whole}`, {
        fastPaths: false,
      })).texts,
    );

    // To the nanosecond rows are read.
    const fine = `timestamp_ns >= ${START_NS + 1_000_400n} AND ` +
      `timestamp_ns < ${START_NS + 9n * MINUTE_NS + 30_000_000_401n}`;
    const sql = `SELECT count(*) FROM events WHERE ${fine}`;
    for (let round = 0; round < 4; round += 1) {
      const { texts, stats } = await lab.query(sql);
      assert(stats.rows_scanned > 0);
      assert.deepEqual(texts, (await lab.query(sql, { fastPaths: false })).texts);
    }
  });
}

Deno.test("a range without a whole minute is counted in memory, once it was asked for again", async () => {
  await using lab = await EngineLab.open();
  const rows = Array.from(
    { length: 600 },
    (_, n) => ({ ns: START_NS + BigInt(n) * 1_000_000_000n }),
  );
  await lab.commit(rows, { derived: true });
  const countFrom = (second: number, seconds: number) =>
    `SELECT count(*) FROM events WHERE timestamp >= ${
      at(START_NS + BigInt(second) * 1_000_000_000n)
    } ` +
    `AND timestamp < ${at(START_NS + BigInt(second + seconds) * 1_000_000_000n)}`;
  const first = await lab.query(countFrom(590, 10));
  assert.deepEqual([first.texts, first.stats.served_by], [["[10]"], "scan"]);
  await inMemory(lab, countFrom(590, 10));
  for (const [second, seconds] of [[590, 10], [570, 3], [595, 1], [590, 400], [595, 0]] as const) {
    const sql = countFrom(second, seconds);
    const { texts, stats } = await lab.query(sql);
    assert.deepEqual(texts, [`[${Math.min(seconds, 600 - second)}]`], sql);
    assert.deepEqual([stats.rows_scanned, stats.scan], [0, undefined], sql);
    assert.match(stats.served_by, /^tier1_/);
  }
  // Statements that are explained and not run want nothing.
  await lab.commit(rows, { derived: true });
  for (let times = 0; times < 4; times += 1) {
    await using prepared = await lab.prepare(countFrom(590, 10), { planOnly: true });
    await prepared.explain();
  }
  const { texts, stats } = await lab.query(countFrom(590, 10));
  assert.deepEqual(texts, ["[20]"]);
  assert(stats.rows_scanned > 0);
});

async function sidecars(lab: EngineLab): Promise<string[]> {
  const location = await lab.catalog.metadataLocation(EVENTS);
  assert(location !== undefined);
  const reader = new IcebergReader(lab.store);
  const table = await reader.loadTable(EVENTS, location);
  const { files } = await reader.selectFiles(table);
  return files.map(({ key }) => sidecarKey(key));
}
