/**
 * The newest and oldest rows with some values are those of a scan, where pages tell which rows have
 * them. Attributes are random and have columns from some file on. Files are merged, rows wait in
 * the WAL, and many rows are of one microsecond. `SVC_TEST_PRUNING_SEEDS` sets how many seeds,
 * `SVC_TEST_SEED` the first one.
 */

import assert from "node:assert/strict";
import { present } from "../../shared/base/assert.ts";
import type { RowQuery, RowSet } from "../../shared/derived/rows/row_query.ts";
import type { IndexCall, RowIndexes } from "../../shared/engine/pruning/row_index.ts";
import type { DataFile } from "../../shared/iceberg/types.ts";
import { unaskedColumn } from "../../shared/schema/promoted.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { type Batch, openAttributeLab, randomAttributes } from "./attribute_lab.ts";
import { ExactRowIndexes } from "./exact_row_indexes.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_PRUNING_SEEDS") ?? 2);
const BATCHES = 7;
const ROWS = 60;
const STATEMENTS = 40;

const LISTS = [
  "*",
  "timestamp, host, raw",
  "raw, timestamp_ns, attributes",
  "attr_get(attributes, 'status') AS s, *",
];
const CONDITIONS = [
  "attr_get(attributes, 'severity_text') = 'INFO'",
  "attr_get(attributes, 'severity_text') IN ('WARN', 'ERROR')",
  "(attributes->>'$.severity_text') = 'ERROR'",
  "'200' = attr_get(attributes, 'status')",
  "attr_get(attributes, 'user.id') IN ('u1', '7', NULL)",
  "host = 'h1'",
  "host IN ('h0', 'h2')",
];
/** Pages do not tell these. */
const OTHERS = ["attr_get(attributes, 'flag') <> 'true'", "length(raw) > 5"];

/** They tell blocks of four rows with one that meets the query, also of files with few rows. */
class BlockIndexes implements RowIndexes {
  readonly #exact = new ExactRowIndexes();

  async rows(file: DataFile, query: RowQuery, call: IndexCall): Promise<RowSet> {
    const exact = await this.#exact.rows(file, query, call);
    if (exact.kind !== "rows") return exact;
    const blocks = new Set(Array.from(exact.rows, (row) => row >> 2));
    const rows = Array.from({ length: file.rows }, (_, row) => row)
      .filter((row) => blocks.has(row >> 2));
    return { kind: "rows", rows: Uint32Array.from(rows) };
  }
}

/** Conditions about values that few rows have, so that indexes tell where these may be. */
function rareConditions(random: SeededRandom, traces: readonly string[]): readonly string[] {
  const some = <T>(one: () => T): readonly T[] => Array.from({ length: 12 }, one);
  const raws = () => some(() => `row${random.below(BATCHES) * 1_000 + random.below(ROWS)}`);
  return [
    `attr_get(attributes, 'trace_id') IN ('${
      some(() => traces[random.below(traces.length)]).join("', '")
    }')`,
    `raw IN ('${raws().join("', '")}')`,
    raws().map((raw) => `match_terms(raw, '${raw}')`).join(" OR "),
  ].map((condition) => `(${condition})`);
}

Deno.test("the newest rows of some attributes are those of a scan", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    const pick = <T>(of: readonly T[]): T => of[random.below(of.length)] as T;
    const batches: Batch[] = Array.from(
      { length: BATCHES },
      (_, batch) =>
        Array.from({ length: ROWS }, () => randomAttributes(random, { batch, isJson: true })),
    );
    const columns = new Map(
      ["severity_text", "status", "user.id", "trace_id"].map((name, at) => [
        at + random.below(2) * 3,
        [present(unaskedColumn(name))],
      ]),
    );
    await using lab = await openAttributeLab({
      ...{ batches, columns, wal: random.chance(0.2) },
      mergedAfter: new Set([3, 5].filter(() => random.chance(0.6))),
      engine: {
        probedRows: 1 + random.below(5),
        paysPages: () => random.chance(0.7),
        ...(random.chance(0.7) ? { indexes: new BlockIndexes() } : {}),
      },
    });
    const { rows: [[first, last] = []] } = await lab.query(
      "SELECT min(epoch_us(timestamp)), max(epoch_us(timestamp)) FROM events",
    );
    const traces = (await lab.query("SELECT attr_get(attributes, 'trace_id') FROM events"))
      .rows.flat().filter((trace) => typeof trace === "string");
    const instant = () =>
      new Date((Number(first) + random.float() * (Number(last) - Number(first))) / 1_000)
        .toISOString();
    for (let left = STATEMENTS; left > 0; left -= 1) {
      const conditions = [
        pick(random.chance(0.4) ? rareConditions(random, traces) : CONDITIONS),
      ];
      if (random.chance(0.5)) conditions.push(pick(CONDITIONS));
      if (random.chance(0.1)) conditions.push(pick(OTHERS));
      if (random.chance(0.3)) conditions.push(`timestamp >= '${instant()}'`);
      if (random.chance(0.3)) conditions.push(`timestamp < '${instant()}'`);
      const order = random.chance(0.7) ? "DESC" : "ASC";
      const sql = `SELECT ${pick(LISTS)} FROM events WHERE ${conditions.join(" AND ")} ` +
        `ORDER BY timestamp ${order}, timestamp_ns ${order}`;
      const rows = 1 + random.below(30);
      const all = await lab.query(sql);
      const actual = await lab.query(`${sql} LIMIT ${rows}`);
      assert.deepEqual(actual.columns, all.columns);
      assert.deepEqual(
        actual.texts,
        all.texts.slice(0, rows),
        `seed ${seed}: ${sql} LIMIT ${rows}`,
      );
    }
  }
});

const START_NS = 1_790_000_000_000_000_000n;

/** Rows of each file, and of the WAL. */
const FILE_ROWS = [500, 400, 300, 300, 50];

Deno.test("rows of one microsecond are told apart, also where a bound cuts their file", async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    const random = new SeededRandom(seed);
    await using lab = await EngineLab.open({
      wal: true,
      engine: { probedRows: 1 + random.below(8) },
    });
    const rowsOfMicro = 2 + random.below(400);
    let number = 0;
    const events = FILE_ROWS.map((rows) =>
      Array.from({ length: rows }, () => {
        const at = number++;
        const [micro, ns] = [Math.floor(at / rowsOfMicro), at % rowsOfMicro];
        return {
          ...{ micro, host: `h${random.below(2)}`, raw: `row ${at}` },
          ns: START_NS + BigInt(micro * 1_000 + ns),
        };
      })
    );
    for (const own of events.slice(0, -1)) {
      const isSorted = random.chance(0.6);
      await lab.commit(
        isSorted
          ? own
          : own.toSorted((a, b) => Number(a.ns * 7_919n % 1_009n - b.ns * 7_919n % 1_009n)),
        {
          rowGroupRowsMax: 150 + random.below(200),
          sorted: isSorted,
        },
      );
    }
    await lab.append(events.at(-1) ?? []);
    for (const rows of [1, 7, 40, 200]) {
      for (const order of ["DESC", "ASC"]) {
        const bound = random.below(Math.floor(number / rowsOfMicro) + 2);
        const [isBefore, isCut] = [order === "DESC", random.chance(0.7)];
        const instant = new Date(Number(START_NS / 1_000_000n)).toISOString().replace(
          /Z$/,
          `${String(bound).padStart(3, "0")}Z`,
        );
        const where = isCut ? ` AND timestamp ${isBefore ? "<" : ">="} '${instant}'` : "";
        const sql = `SELECT raw FROM events WHERE host = 'h1'${where} ` +
          `ORDER BY timestamp ${order}, timestamp_ns ${order} LIMIT ${rows}`;
        const wanted = events.flat().filter(({ host, micro }) =>
          host === "h1" && (!isCut || (isBefore ? micro < bound : micro >= bound))
        );
        const expected = (isBefore ? wanted.toReversed() : wanted).slice(0, rows)
          .map(({ raw }) => JSON.stringify([raw]));
        assert.deepEqual((await lab.query(sql)).texts, expected, `seed ${seed}: ${sql}`);
      }
    }
  }
});
