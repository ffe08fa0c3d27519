import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { EngineLab } from "../../testing/engine_lab.ts";

const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const SECOND_NS = 1_000_000_000n;

/** 40 files of 5 rows; file i covers second 2i to 2i + 1, some rows between two microseconds. */
async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  for (let file = 0; file < 12; file += 1) {
    const base = START_NS + BigInt(file) * 2n * SECOND_NS;
    await lab.commit(
      [0n, 1n, 999n, 500_000_123n, SECOND_NS].map((offset, i) => ({
        ns: base + offset,
        host: `h${i % 2}`,
      })),
    );
  }
  return lab;
}

function text(ns: bigint): string {
  return new Date(Number(ns / 1_000_000n)).toISOString();
}

/** Instants around the files' edges. */
const instant = fc.integer({ min: -2, max: 26 }).map((second) =>
  START_NS + BigInt(second) * SECOND_NS
);

const timeConstant = instant.chain((ns) =>
  fc.constantFrom(
    `'${text(ns)}'`,
    `TIMESTAMPTZ '${text(ns)}'`,
    `TIMESTAMP '${text(ns).replace("Z", "")}'`,
    `'${text(ns)}'::TIMESTAMPTZ + INTERVAL 1 SECOND`,
    `CAST('${text(ns)}' AS TIMESTAMPTZ) - INTERVAL '1.5 seconds'`,
    `to_timestamp(${ns / SECOND_NS})`,
    `date_trunc('minute', TIMESTAMPTZ '${text(ns)}')`,
    `now() - INTERVAL 100 YEAR`,
    `now() + INTERVAL 100 YEAR`,
    `now()`,
    `DATE '2026-09-21'`,
    `DATE '2026-09-22'`,
  )
);

const operator = fc.constantFrom("=", "<", "<=", ">", ">=", "<>");

const leaf = fc.oneof(
  fc.tuple(operator, timeConstant).map(([op, constant]) => `timestamp ${op} ${constant}`),
  fc.tuple(operator, timeConstant).map(([op, constant]) => `${constant} ${op} events.timestamp`),
  fc.tuple(operator, instant, fc.integer({ min: -2, max: 1000 })).map(([op, ns, more]) =>
    `timestamp_ns ${op} ${ns + BigInt(more)}`
  ),
  fc.tuple(timeConstant, timeConstant).map(([a, b]) => `timestamp BETWEEN ${a} AND ${b}`),
  fc.tuple(timeConstant, timeConstant).map(([a, b]) => `timestamp NOT BETWEEN ${a} AND ${b}`),
  fc.tuple(timeConstant, timeConstant).map(([a, b]) => `timestamp IN (${a}, ${b})`),
  fc.constantFrom("host = 'h1'", "host IS NULL", "timestamp IS NOT NULL", "true"),
);

const { predicate } = fc.letrec<{ predicate: string }>((tie) => ({
  predicate: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.tuple(tie("predicate"), tie("predicate")).map(([a, b]) => `(${a} AND ${b})`),
    fc.tuple(tie("predicate"), tie("predicate")).map(([a, b]) => `(${a} OR ${b})`),
    tie("predicate").map((a) => `NOT (${a})`),
  ),
}));

Deno.test({
  name: "timeBounds never leaves out a row that a predicate keeps",
  fn: async () => {
    await using lab = await openLab();
    await fc.assert(
      fc.asyncProperty(predicate, leaf, async (first, second) => {
        const sql = `SELECT timestamp_ns FROM events WHERE ${first} AND ${second} ORDER BY 1`;
        // No bound is found in a predicate over a subquery.
        const whole = `SELECT timestamp_ns FROM (SELECT * FROM events) events ` +
          `WHERE (${first} AND ${second}) ORDER BY 1`;
        deepStrictEqual((await lab.query(sql)).texts, (await lab.query(whole)).texts);
      }),
      { numRuns: 40, seed: 20261120 },
    );
  },
});

/** How many of 12 files a statement scans. */
const PRUNED: readonly (readonly [files: number, sql: string])[] = [
  [12, "SELECT host FROM events"],
  [1, `SELECT host FROM events WHERE timestamp < '${text(START_NS + SECOND_NS)}'`],
  [2, `SELECT host FROM events WHERE timestamp >= '${text(START_NS + 20n * SECOND_NS)}'`],
  [1, `SELECT host FROM events WHERE timestamp_ns = ${START_NS + 4n * SECOND_NS}`],
  [0, `SELECT host FROM events WHERE timestamp > now() - INTERVAL 1 SECOND`],
  [12, `SELECT host FROM events WHERE timestamp < now()`],
  [12, `SELECT host FROM events WHERE timestamp < '2026-09-21' OR host = 'h1'`],
  [12, `SELECT host FROM events WHERE NOT timestamp < '2026-09-21'`],
  [0, `SELECT host FROM events WHERE host = 'h1' AND timestamp < '2026-09-21'`],
  [
    3,
    `SELECT e.host FROM events e JOIN events f ON e.host = f.host ` +
    `WHERE e.timestamp < '${text(START_NS + SECOND_NS)}' ` +
    `AND f.timestamp BETWEEN '${text(START_NS + 2n * SECOND_NS)}' AND '${
      text(START_NS + 4n * SECOND_NS)
    }'`,
  ],
  [
    12,
    `SELECT e.host FROM events e FULL JOIN events f ON e.host = f.host ` +
    `WHERE e.timestamp < '2026-09-21'`,
  ],
  [12, `SELECT host FROM events WHERE timestamp < '2026-09-21' USING SAMPLE 10 ROWS`],
  [12, `SELECT host FROM events TABLESAMPLE 10 ROWS WHERE timestamp < '2026-09-21'`],
  [12, `SELECT a FROM events t(a, b) WHERE a < '2026-09-21'`],
];

Deno.test({
  name: "timeBounds files to scan",
  fn: async (t) => {
    await using lab = await openLab();
    for (const [files, sql] of PRUNED) {
      await t.step(sql, async () => {
        // now() is compared with rows of 2026-09-21, which are in the past or the future of the
        // test's clock.
        await using prepared = await lab.prepare(sql);
        const future = Date.now() < Number(START_NS / 1_000_000n);
        if (sql.includes("now()") && future) return;
        strictEqual(prepared.cost.files_to_scan, files);
        strictEqual(prepared.cost.files_considered, 12);
      });
    }
  },
});
