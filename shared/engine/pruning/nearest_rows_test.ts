import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { RowSet } from "../../derived/rows/row_query.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import type { RowIndexes } from "./row_index.ts";

const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const FILES = 12;
const ROWS_A_FILE = 50;

/**
 * 12 files of 50 rows in row groups of 10, a microsecond apart, one file after the other; some rows
 * in the WAL.
 */
async function openLab(indexes?: RowIndexes): Promise<EngineLab> {
  const lab = await EngineLab.open({
    wal: true,
    engine: { probedRows: 10, ...(indexes === undefined ? {} : { indexes }) },
  });
  for (let file = 0; file < FILES; file += 1) {
    const rows = Array.from({ length: ROWS_A_FILE }, (_, i) => rowOf(file * ROWS_A_FILE + i));
    await lab.commit(rows, { rowGroupRowsMax: 10 });
  }
  await lab.append([rowOf(FILES * ROWS_A_FILE), rowOf(FILES * ROWS_A_FILE + 1)]);
  return lab;
}

function rowOf(i: number) {
  return {
    ns: START_NS + BigInt(i) * 1_000n,
    host: `h${i % 5}`,
    raw: i % 100 === 0 ? "rare" : "x",
  };
}

Deno.test({
  name: "the newest rows of a filter are found without reading the table",
  fn: async () => {
    await using lab = await openLab();
    const newest = (where: string, limit: number) =>
      lab.query(
        `SELECT timestamp_ns FROM events WHERE ${where} ORDER BY timestamp DESC LIMIT ${limit}`,
      );
    const { rows, stats } = await newest("host = 'h3'", 5);
    deepStrictEqual(rows.flat().map((ns) => BigInt(String(ns)) > START_NS), Array(5).fill(true));
    strictEqual(stats.scan?.ordering, "filtered");
    ok((stats.scan?.planned_rows ?? 0) <= 42, `${stats.scan?.planned_rows} rows planned`);
    strictEqual(stats.scan?.files_planned, 2);
    // Too few for a threshold: all files are read that by their bounds may hold one.
    const rare = await newest("raw = 'rare'", 100);
    strictEqual(rare.rows.length, 7);
    strictEqual(rare.stats.scan?.planned_rows, FILES / 2 * ROWS_A_FILE + 2);
  },
});

Deno.test({
  name: "indexes are asked of the newest files only, until the rows are found",
  fn: async () => {
    const asked: string[] = [];
    const groups: RowSet = { kind: "groups", groups: Uint32Array.of(1, 4), groupRows: 10 };
    const indexes: RowIndexes = {
      rows: (file) => {
        asked.push(file.key);
        return Promise.resolve(groups);
      },
    };
    await using lab = await openLab(indexes);
    // The answer is a lie, so that it shows: rows 10 to 19 and 40 to 49 of each file.
    const { rows, stats } = await lab.query(
      "SELECT timestamp_ns FROM events WHERE contains(raw, 'x') ORDER BY timestamp DESC LIMIT 5",
    );
    const offsets = rows.flat().map((ns) => Number((BigInt(String(ns)) - START_NS) / 1_000n));
    deepStrictEqual(offsets, [601, 599, 598, 597, 596]);
    strictEqual(asked.length, 1);
    deepStrictEqual(
      [stats.scan?.files_pruned_bloom, stats.scan?.row_groups_pruned_bloom],
      [0, 3],
    );
  },
});

/** Filters that cannot be tried out beforehand, because they may change in a moment. */
const UNSTEADY: readonly string[] = [
  "random() < 2",
  "host IN (SELECT host FROM (VALUES ('h1')) v(host))",
  "timestamp <> now()",
];

Deno.test({
  name: "random files, ties and overlaps: the nearest rows of a filter are those of a whole scan",
  fn: async () => {
    const random = new SeededRandom(20_261_121);
    await using lab = await EngineLab.open({ wal: true, engine: { probedRows: 3 } });
    for (let file = 0; file < 10; file += 1) {
      const start = random.below(300);
      const times = Array.from({ length: 1 + random.below(60) }, () => start + random.below(80));
      const rows = times.sort((a, b) => a - b)
        .map((at) => ({ ns: START_NS + BigInt(at) * 700n, host: `h${random.below(4)}` }));
      await lab.commit(rows, { rowGroupRowsMax: 7 });
      if (file % 2 === 0) await lab.append(rows.slice(0, 5));
      if (file % 2 === 0) await lab.wal?.seal({ tenant: "default", index: "events" });
    }
    const filters = [
      "host = 'h1'",
      "host <> 'h2'",
      "length(host) = 2",
      "host = 'none'",
      ...UNSTEADY,
    ];
    for (let i = 0; i < 40; i += 1) {
      const order = random.chance(0.5) ? "DESC" : "ASC";
      const limit = 1 + random.below(random.chance(0.8) ? 40 : 400);
      const tail = `ORDER BY timestamp ${order}, timestamp_ns ${order} LIMIT ${limit} OFFSET ${
        random.below(9)
      }`;
      const where = filters[random.below(filters.length)];
      const select = "SELECT timestamp, timestamp_ns FROM";
      const expected = await lab.query(`${select} (FROM events) AS events WHERE ${where} ${tail}`);
      const actual = await lab.query(`${select} events WHERE ${where} ${tail}`);
      deepStrictEqual(actual.texts, expected.texts, `${where} ${tail}`);
    }
  },
});

Deno.test({
  name: "the newest rows of a filter are found in the last of several pieces of the WAL",
  fn: async () => {
    await using lab = await openLab();
    const first = FILES * ROWS_A_FILE + 10;
    for (const from of [first, first + 10, first + 20]) {
      await lab.append(Array.from({ length: 10 }, (_, i) => rowOf(from + i)));
      await lab.wal?.seal({ tenant: "default", index: "events" });
    }
    const { rows } = await lab.query(
      "SELECT timestamp_ns FROM events WHERE host <> 'h0' ORDER BY timestamp DESC LIMIT 3",
    );
    const offsets = rows.flat().map((ns) => Number((BigInt(String(ns)) - START_NS) / 1_000n));
    deepStrictEqual(offsets, [first + 29, first + 28, first + 27]);
  },
});

/** Six files in order: `ties` rows have the same microsecond, and one row in four is a host's. */
async function openSorted(ties: number): Promise<EngineLab> {
  const lab = await EngineLab.open({ engine: { probedRows: 64 } });
  for (let file = 0; file < 6; file += 1) {
    const rows = Array.from({ length: 2_400 }, (_, i) => {
      const at = file * 2_400 + i;
      const micros = Math.floor(at / ties);
      return {
        ns: START_NS + BigInt(micros) * 1_000n + BigInt((at * 7_919) % 999),
        host: `h${at % 4}`,
      };
    });
    const sorted = rows.toSorted((a, b) => a.ns < b.ns ? -1 : a.ns > b.ns ? 1 : 0);
    await lab.commit(sorted, { rowGroupRowsMax: 200 });
  }
  return lab;
}

// Ties of 64 and more rows are more than a probe looks behind its last row for.
for (const ties of [1, 3, 200, 1_000]) {
  Deno.test({
    name: `the nearest rows of a filter are planned as just these rows: ${ties} of a time`,
    fn: async () => {
      await using lab = await openSorted(ties);
      for (const where of ["host = 'h1'", "host <> 'h1'"]) {
        for (const limit of [1, 20, 90, 300]) {
          for (const order of ["DESC", "ASC"]) {
            const tail = `WHERE ${where} ORDER BY timestamp ${order}, timestamp_ns ${order}`;
            const select = (from: string) =>
              lab.query(`SELECT timestamp, timestamp_ns FROM ${from} ${tail} LIMIT ${limit}`);
            const expected = await select("(FROM events) AS e");
            const { texts, stats } = await select("events");
            deepStrictEqual(texts, expected.texts, `${tail} LIMIT ${limit}`);
            const planned = stats.scan?.planned_rows ?? 0;
            const most = ties <= 3 ? limit + ties : Infinity;
            ok(planned >= limit && planned <= most, `${planned} rows are planned for ${limit}`);
          }
        }
      }
    },
  });
}
