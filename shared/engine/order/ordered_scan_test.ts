import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";

const START_NS = 1_790_000_000_000_000_000n;

interface LabRows {
  readonly lab: EngineLab;
  /** `timestamp_ns` of every row. */
  readonly times: readonly bigint[];
}

/**
 * Overlapping files with many ties: sorted ones of four rows a group, one unsorted, and rows in the
 * WAL.
 */
async function openLab(): Promise<LabRows> {
  const lab = await EngineLab.open({ wal: true });
  const times: bigint[] = [];
  let state = 7;
  const random = (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % below;
  };
  const draw = (count: number, base: number) =>
    Array.from({ length: count }, () => START_NS + BigInt(base + random(30)) * 500n);
  for (let file = 0; file < 8; file += 1) {
    const own = draw(25, file * 12);
    if (file !== 5) own.sort((a, b) => a < b ? -1 : 1);
    await lab.commit(own.map((ns) => ({ ns })), { rowGroupRowsMax: 4, sorted: file !== 5 });
    times.push(...own);
  }
  const buffered = draw(20, 60);
  await lab.append(buffered.map((ns) => ({ ns })));
  times.push(...buffered);
  return { lab, times };
}

function micros(ns: bigint): bigint {
  return ns / 1_000n;
}

Deno.test({
  name: "orderedParts answers as sorting every row does",
  fn: async () => {
    const { lab, times } = await openLab();
    await using _ = lab;
    const bound = fc.option(
      fc.integer({ min: -5, max: 140 }).map((step) => START_NS + BigInt(step) * 500n),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("ASC", "DESC"),
        fc.integer({ min: 0, max: 260 }),
        fc.integer({ min: 0, max: 40 }),
        bound,
        bound,
        async (direction, limit, offset, min, max) => {
          const where = [
            ...(min === null ? [] : [`timestamp_ns >= ${min}`]),
            ...(max === null ? [] : [`${max} > timestamp_ns`]),
          ];
          const answer = await lab.query(
            `SELECT timestamp_ns FROM events ${where.length > 0 ? "WHERE " : ""}` +
              `${where.join(" AND ")} ORDER BY timestamp ${direction}, timestamp_ns ${direction} ` +
              `LIMIT ${limit} OFFSET ${offset}`,
          );
          const sign = direction === "ASC" ? 1 : -1;
          const expected = times
            .filter((ns) => (min === null || ns >= min) && (max === null || ns < max))
            .sort((a, b) => a < b ? -sign : a > b ? sign : 0)
            .slice(offset, offset + limit);
          deepStrictEqual(answer.texts.map((row) => BigInt(row.slice(1, -1))), expected);
        },
      ),
      { numRuns: 50, seed: 20261120 },
    );
  },
});

Deno.test({
  name: "orderedParts ties on timestamp alone keep the right instants",
  fn: async () => {
    const { lab, times } = await openLab();
    await using _ = lab;
    for (const limit of [1, 7, 50, 219, 220, 500]) {
      const answer = await lab.query(
        `SELECT timestamp_ns FROM events ORDER BY timestamp DESC LIMIT ${limit}`,
      );
      deepStrictEqual(
        answer.texts.map((row) => micros(BigInt(row.slice(1, -1)))),
        times.map(micros).sort((a, b) => a < b ? 1 : a > b ? -1 : 0).slice(0, limit),
      );
    }
  },
});

const ORDERINGS: readonly (readonly [ordering: string, sql: string])[] = [
  ["advertised", "SELECT * FROM events ORDER BY timestamp DESC LIMIT 5"],
  ["advertised", "SELECT host FROM events e ORDER BY e.timestamp LIMIT 5"],
  [
    "advertised",
    "SELECT host FROM events WHERE timestamp < '2027-01-01' ORDER BY timestamp LIMIT 5",
  ],
  [
    "advertised",
    "SELECT host FROM events WHERE timestamp > now() - INTERVAL 90 YEAR ORDER BY timestamp DESC LIMIT 5",
  ],
  ["filtered", "SELECT host FROM events WHERE host = 'h' ORDER BY timestamp DESC LIMIT 5"],
  ["filtered", "SELECT host FROM events WHERE timestamp < now() ORDER BY timestamp DESC LIMIT 5"],
  [
    "filtered",
    "SELECT host FROM events WHERE timestamp > now() - INTERVAL 90 YEAR ORDER BY timestamp LIMIT 5",
  ],
  ["no_bounds", "SELECT host FROM events ORDER BY timestamp DESC"],
  ["no_sort_order", "SELECT timestamp FROM events LIMIT 5"],
  ["not_projected", "SELECT host FROM events LIMIT 5"],
  ["not_projected", "SELECT count(*) FROM events"],
  ["no_sort_order", "SELECT count(*) OVER () FROM events ORDER BY timestamp LIMIT 5"],
  ["no_sort_order", "SELECT unnest([1, 2]) FROM events ORDER BY timestamp LIMIT 5"],
  [
    "no_sort_order",
    "SELECT (SELECT count(*) FROM events) FROM events ORDER BY timestamp LIMIT 5",
  ],
  ["no_sort_order", "SELECT e.host FROM events e, events f ORDER BY e.timestamp LIMIT 5"],
  ["non_timestamp_sort", "SELECT host FROM events ORDER BY host LIMIT 5"],
  ["non_identity_sort", "SELECT now() AS timestamp FROM events ORDER BY timestamp LIMIT 5"],
  [
    "mixed_sort_direction",
    "SELECT host FROM events ORDER BY timestamp DESC, timestamp_ns ASC LIMIT 5",
  ],
  ["unknown_sort_order", "SELECT host FROM events ORDER BY timestamp DESC, host LIMIT 5"],
];

Deno.test({
  name: "orderedRequest says why a scan does not stream in order",
  fn: async (t) => {
    const { lab } = await openLab();
    await using _ = lab;
    for (const [ordering, sql] of ORDERINGS) {
      await t.step(sql, async () => {
        const { stats } = await lab.query(sql, { fastPaths: false });
        strictEqual(stats.scan?.ordering, ordering);
      });
    }
  },
});

Deno.test({
  name: "orderedParts newest rows leave most of the table unread",
  fn: async () => {
    const { lab, times } = await openLab();
    await using _ = lab;
    const { stats } = await lab.query("SELECT * FROM events ORDER BY timestamp DESC LIMIT 3");
    const scan = stats.scan;
    ok(scan !== undefined && scan.planned_rows < times.length / 3, JSON.stringify(scan));
    strictEqual(scan.planned_rows + (scan.rows_pruned_selection ?? 0), times.length);
  },
});

Deno.test({
  name: "orderedParts reads nothing for LIMIT 0, of files in order and with rows in the WAL",
  fn: async () => {
    await using lab = await EngineLab.open({ wal: true });
    const times = Array.from({ length: 50 }, (_, i) => START_NS + BigInt(i) * 500n);
    await lab.commit(times.map((ns) => ({ ns })));
    for (const order of ["timestamp", "timestamp DESC, timestamp_ns DESC"]) {
      for (const where of ["", `WHERE timestamp_ns < ${START_NS + 900n}`]) {
        const sql = `SELECT host FROM events ${where} ORDER BY ${order} LIMIT 0`;
        const { texts, stats } = await lab.query(sql);
        deepStrictEqual(texts, []);
        strictEqual(stats.rows_scanned, 0);
      }
    }
    await lab.append([{ ns: START_NS }]);
    deepStrictEqual((await lab.query("SELECT * FROM events ORDER BY timestamp LIMIT 0")).texts, []);
  },
});

Deno.test({
  name: "newest rows of a file as it is written are read from its last row group, page after page",
  fn: async () => {
    await using lab = await EngineLab.open();
    // Neighbours share their microsecond.
    const times = Array.from({ length: 30_000 }, (_, i) => START_NS + BigInt(i) * 500n);
    await lab.commit(times.map((ns) => ({ ns })));
    const newest = times.toReversed();
    const page = async (limit: number, after?: bigint) => {
      const where = after === undefined ? "" : `WHERE timestamp_ns < ${after}`;
      const { texts, stats } = await lab.query(
        `SELECT timestamp_ns FROM events ${where} ORDER BY timestamp DESC, timestamp_ns DESC ` +
          `LIMIT ${limit}`,
        { rowsMax: 30_000 },
      );
      strictEqual(stats.scan?.ordering, "advertised");
      strictEqual(stats.scan.row_groups_considered, 2);
      const rows = texts.map((text) => BigInt(text.slice(1, -1)));
      return { rows, rowsScanned: stats.rows_scanned, ...stats.scan };
    };
    for (const [limit, groups] of [[100, 1], [4_096, 1], [4_097, 2], [20_481, 2]] as const) {
      const { rows, row_groups_read } = await page(limit);
      deepStrictEqual(rows, newest.slice(0, limit));
      strictEqual(row_groups_read, groups, `${limit} rows`);
    }
    const walked: bigint[] = [];
    const groupsRead: unknown[] = [];
    while (walked.length < times.length) {
      const { rows, row_groups_read } = await page(3_000, walked.at(-1));
      groupsRead.push(row_groups_read);
      walked.push(...rows);
    }
    deepStrictEqual(walked, newest);
    deepStrictEqual(groupsRead, [1, 2, ...Array(8).fill(1)]);

    // A page within a row group, and one across its begin, are just their rows.
    for (const end of [28_000, 25_950]) {
      const { rows, rowsScanned, planned_rows } = await page(100, times[end]);
      deepStrictEqual(rows, times.slice(end - 100, end).reverse());
      deepStrictEqual([rowsScanned, planned_rows], [100, 100]);
    }
    // The page of times tells no nanoseconds.
    const finer = await page(100, times[28_001]);
    deepStrictEqual([finer.rows.at(-1), finer.rowsScanned], [times[27_901], 4_096]);
  },
});

Deno.test({
  name: "rows of an older file are read as far as newer ones leave room, in both directions",
  fn: async () => {
    await using lab = await EngineLab.open();
    const ROWS = 3_000;
    // Each file begins where the one before ends; the last two share a microsecond.
    const starts = [0, ROWS, 2 * ROWS, 3 * ROWS - 1];
    const files = starts.map((start) =>
      Array.from({ length: ROWS }, (_, i) => START_NS + BigInt(start + i) * 1_000n)
    );
    for (const times of files) await lab.commit(times.map((ns) => ({ ns })));
    const all = files.flat().sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
    const page = async (direction: "ASC" | "DESC", limit: number, offset = 0) => {
      const { texts, stats } = await lab.query(
        `SELECT timestamp_ns FROM events ORDER BY timestamp ${direction} LIMIT ${limit} ` +
          `OFFSET ${offset}`,
        { rowsMax: 4 * ROWS },
      );
      const ordered = direction === "ASC" ? all : all.toReversed();
      deepStrictEqual(
        texts.map((text) => BigInt(text.slice(1, -1))),
        ordered.slice(offset, offset + limit),
      );
      return stats.scan?.planned_rows;
    };
    strictEqual(await page("ASC", ROWS + 5), ROWS + 5);
    strictEqual(await page("ASC", 5, ROWS), ROWS + 5);
    // The last file begins with the last microsecond of the one before: a row of it is read, too.
    strictEqual(await page("ASC", 2 * ROWS + 1), 2 * ROWS + 2);
    // Rows of the same microsecond may come first, so neither file makes room of the other.
    strictEqual(await page("DESC", ROWS + 5), 2 * ROWS);
    strictEqual(await page("DESC", 2 * ROWS + 5), 2 * ROWS + 5);
  },
});
