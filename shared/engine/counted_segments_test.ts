/** Rows of the WAL that are counted without being converted: what answers, what tells, what not. */

import { deepStrictEqual as equal, match, strictEqual } from "node:assert/strict";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { EngineLab } from "../testing/engine_lab.ts";
import { summaryOf } from "../wal/frame_summary.ts";

const LANE = { tenant: "default", index: "events" };
const START_NS = 1_795_200_000_000_000_000n;
const START = `make_timestamptz(${START_NS / 1_000n})`;

interface CountCase {
  readonly sql: string;
  readonly rows: readonly unknown[][];
  /** Segments that are converted for it. */
  readonly converted: number;
}

/** Three sealed segments of four rows, a second apart, and one of them that is still written. */
const CASES: readonly CountCase[] = [
  { sql: "SELECT count(*) FROM events", rows: [[16]], converted: 0 },
  { sql: "SELECT count(*) AS n, 2 * count() FROM events e", rows: [[16, 32]], converted: 0 },
  { sql: "SELECT count(*) FROM events HAVING count(*) > 20", rows: [], converted: 0 },
  {
    sql: `SELECT count(*) FROM events WHERE timestamp >= ${START}`,
    rows: [[16]],
    converted: 0,
  },
  {
    sql: `SELECT count(*) FROM events WHERE timestamp_ns >= ${START_NS + 4_000_000_000n}`,
    rows: [[12]],
    converted: 0,
  },
  {
    sql: `SELECT count(*) FROM events WHERE timestamp >= ${START} + INTERVAL '5 seconds'`,
    rows: [[11]],
    converted: 1,
  },
  {
    sql: `SELECT count(*) FROM events WHERE timestamp < ${START} + INTERVAL '1 hour' ` +
      `AND timestamp < now() + INTERVAL 40 YEAR`,
    rows: [[16]],
    converted: 4,
  },
  // What follows wants more of the rows than their number.
  { sql: "SELECT count(host) FROM events", rows: [[16]], converted: 4 },
  { sql: "SELECT count(*) FROM events WHERE raw = 'r7'", rows: [[1]], converted: 4 },
  { sql: "SELECT host, count(*) FROM events GROUP BY 1", rows: [["h", 16]], converted: 4 },
  // No fast path takes these, which planning took for counts.
  { sql: "SELECT count(*), random() < 2 FROM events", rows: [[16, true]], converted: 4 },
  { sql: "SELECT count(*) FROM events LIMIT (SELECT 1)", rows: [[16]], converted: 4 },
];

for (const { sql, rows, converted } of CASES) {
  Deno.test(`${sql} converts ${converted} segments of the WAL`, async () => {
    await using lab = await openLab();
    equal((await lab.query(sql)).rows, rows);
    strictEqual(await filesIn(lab), converted);
    // With all rows read the answer is the same.
    equal((await lab.query(sql, { fastPaths: false })).rows, rows);
    equal((await lab.query(sql)).rows, rows);
  });
}

/** Segments as above, whose frames say what they have. */
const SAID: readonly CountCase[] = [
  { sql: "SELECT host, count(*) FROM events GROUP BY 1", rows: [["h", 16]], converted: 0 },
  {
    sql: "SELECT date_trunc('minute', timestamp) = timestamp '2026-11-20 00:00:00+00', " +
      "source, count(*) FROM events GROUP BY 1, 2",
    rows: [[false, "s", 16]],
    converted: 0,
  },
  { sql: "SELECT count(*) FROM events WHERE source <> 's'", rows: [[0]], converted: 0 },
  {
    sql: "SELECT date_trunc('minute', timestamp) > '2020-01-01', count(*) FROM events GROUP BY 1",
    rows: [[true, 16]],
    converted: 0,
  },
  {
    sql: "SELECT timestamp::DATE > '2020-01-01', count(*) FROM events GROUP BY 1",
    rows: [[true, 16]],
    converted: 0,
  },
  { sql: "SELECT DISTINCT source FROM events", rows: [["s"]], converted: 0 },
  {
    sql: `SELECT source, count(*) FROM events WHERE timestamp >= ${START} + INTERVAL '5 seconds' ` +
      "GROUP BY 1",
    rows: [["s", 11]],
    converted: 1,
  },
  // What follows wants more than frames say.
  {
    sql: "SELECT date_trunc('second', timestamp) > '2020-01-01', count(*) FROM events GROUP BY 1",
    rows: [[true, 16]],
    converted: 4,
  },
  {
    sql: "SELECT source, max(timestamp_ns) > 1 FROM events GROUP BY 1",
    rows: [["s", true]],
    converted: 4,
  },
  {
    sql: "SELECT raw = 'r7', count(*) FROM events GROUP BY 1 ORDER BY 2",
    rows: [[true, 1], [false, 15]],
    converted: 4,
  },
];

for (const { sql, rows, converted } of SAID) {
  Deno.test(`frames say what they have: ${sql} converts ${converted} segments`, async () => {
    await using lab = await openLab({ says: true });
    equal((await lab.query(sql)).rows, rows);
    strictEqual(await filesIn(lab), converted);
    equal((await lab.query(sql, { fastPaths: false })).rows, rows);
    equal((await lab.query(sql)).rows, rows);
  });
}

Deno.test("a plan tells how many segments of the WAL are counted", async () => {
  await using lab = await openLab();
  const { rows, stats } = await lab.query("EXPLAIN SELECT count(*) FROM events");
  match(String(rows[0]?.[0]), /^tier1_inline: .* 0 pieces of the WAL; 4 segments of it counted\n/);
  strictEqual(stats.rows_scanned, 0);
  const answer = await lab.query("SELECT count(*) FROM events");
  equal([answer.stats.served_by, answer.stats.rows_scanned], ["tier1_inline", 0]);
  strictEqual(answer.stats.scan, undefined);
  strictEqual(await filesIn(lab), 0);
});

Deno.test("a count of what no snapshot holds has the rows of the WAL, and one of a snapshot none", async () => {
  await using lab = await openLab();
  const read = await lab.query("SELECT count(*) FROM events", { uncommittedOnly: true });
  equal(read.rows, [[16]]);
  const pinned = await lab.query("SELECT count(*) FROM events", { snapshot: "latest" });
  equal(pinned.rows, [[0]]);
});

async function openLab({ says = false } = {}): Promise<EngineLab> {
  const lab = await EngineLab.open({ wal: true });
  for (let segment = 0; segment < 4; segment += 1) {
    const rows = Array.from({ length: 4 }, (_, at) => {
      const ns = START_NS + BigInt(4 * segment + at) * 1_000_000_000n;
      const core = { host: "h", source: "s", sourcetype: "t", index: "main" };
      return { ...core, timestamp: ns / 1_000n, timestamp_ns: ns, raw: `r${4 * segment + at}` };
    });
    const batch = batchOfRows(EVENTS_SCHEMA, rows);
    const encoded = encodeBatch(batch);
    const summary = says ? summaryOf(batch) : undefined;
    const framed = summary === undefined ? encoded : { ...encoded, summary };
    await lab.wal?.append(LANE, framed, "wait_for");
    if (segment < 3) await lab.wal?.seal(LANE);
  }
  return lab;
}

async function filesIn({ dir }: EngineLab): Promise<number> {
  return (await Array.fromAsync(Deno.readDir(`${dir}/cache/wal`))).length;
}
