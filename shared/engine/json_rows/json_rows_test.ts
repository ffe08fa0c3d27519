/**
 * Rows that are written from pages are byte for byte those that DuckDB renders: random tables and
 * statements, seeded. `SVC_TEST_SEED` sets the first seed, `SVC_TEST_JSON_ROWS_SEEDS` how many.
 */

import assert from "node:assert/strict";
import { concatBytes, textOf } from "../../base/bytes.ts";
import { addColumns } from "../../iceberg/add_columns.ts";
import type { RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import type { RowShape } from "../types.ts";
import { filesAtOnce } from "./json_rows_form.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_JSON_ROWS_SEEDS") ?? 1);
const STATEMENTS = 10;
const START_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const FILES = 4;
const ROWS_A_FILE = 9_000;
const IDENT = { namespace: "svc", name: "events" };
/** DuckDB gives so many rows at a time. */
const CHUNK_ROWS = 2_048;

const MORE: readonly Column[] = [
  { id: 101, name: "word", type: "string", required: false },
  { id: 102, name: "number", type: "long", required: false },
  { id: 103, name: "share", type: "double", required: false },
];
const LATER: Column = { id: 104, name: 'it"s la\\ter', type: "string", required: false };

async function openLab(random: SeededRandom): Promise<EngineLab> {
  const lab = await EngineLab.open({ wal: true });
  // Two files overlap in time. No two rows have the same microsecond.
  const own = Array.from({ length: FILES * ROWS_A_FILE }, (_, at) => {
    const file = Math.min(FILES - 1, Math.floor(at / ROWS_A_FILE));
    return file === 1 && random.chance(0.5) ? 2 : file;
  });
  for (let file = 0; file < FILES; file += 1) {
    const columns = [...EVENTS_SCHEMA.columns, ...MORE, ...file > 1 ? [LATER] : []];
    const schema: TableSchema = { ...EVENTS_SCHEMA, columns };
    if (file === 2) await addColumns(lab, IDENT, schema);
    const make = rowMaker(random);
    const rows = own.flatMap((of, at) => of === file ? [make(at)] : []);
    await lab.commitRows(rows, {
      ...{ ident: IDENT, schema, sorted: true },
      rowGroupRowsMax: 1_000 + random.below(5_000),
    });
  }
  return lab;
}

/** Makes rows of one file, whose columns have few values or many. */
function rowMaker(random: SeededRandom): (at: number) => RowObject {
  const nulls = random.chance(0.4) ? 0 : random.float();
  const words = random.chance(0.5) ? 5 : Infinity;
  const length = random.chance(0.3) ? 600 : 60;
  return (at) => {
    const n = words === 5 ? random.below(5) : at;
    const orNull = <T>(value: T) => random.chance(nulls) ? null : value;
    return {
      timestamp: START_NS / 1_000n + BigInt(at) * 777_777n,
      timestamp_ns: START_NS + BigInt(at) * 777_777_000n + BigInt(random.below(1_000)),
      host: `h${n % 3}`,
      source: `s"${n % 4}\n`,
      sourcetype: "t",
      index: "main",
      raw: at % 7_001 === 5 ? 'long " '.repeat(20_000) : randomText(random, random.below(length)),
      attributes: orNull(JSON.stringify({ [randomText(random, 5)]: n, user: `u${n}` })),
      word: orNull(words === 5 ? `w\\${n}` : randomText(random, random.below(30))),
      number: orNull(randomInteger(random)),
      share: orNull(random.float()),
      [LATER.name]: orNull(`later ${n}`),
    };
  };
}

function randomText(random: SeededRandom, length: number): string {
  const kind = random.below(4);
  return Array.from({ length }, () => {
    if (kind === 0) return String.fromCharCode(97 + random.below(26));
    if (kind === 1) return random.chance(0.3) ? '"' : "x";
    if (kind === 2) return String.fromCharCode(random.below(128));
    return String.fromCodePoint([0x22, 0x5c, 0x7f, 0xe9, 0x2028, 0x1_f600][random.below(6)] ?? 0);
  }).join("");
}

function randomInteger(random: SeededRandom): bigint {
  const edges = [0n, 1n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 10n ** 18n, 999_999_999n, -(10n ** 9n)];
  const bits = random.below(64);
  const wide = BigInt(random.below(2 ** 32)) << 32n | BigInt(random.below(2 ** 32));
  return random.chance(0.3)
    ? edges[random.below(edges.length)] ?? 0n
    : BigInt.asIntN(64, wide) >> BigInt(bits);
}

/** A bound of time, which may be that of a row, and cuts some row group as a rule. */
function bound(random: SeededRandom, compares: string): string {
  const at = BigInt(random.below(FILES * ROWS_A_FILE));
  const micros = START_NS / 1_000n + at * 777_777n + BigInt(random.below(3)) - 1n;
  return `timestamp ${compares} make_timestamptz(${micros})`;
}

interface Answer {
  readonly text: string;
  readonly rows: number;
  /** Rows of the first chunk. */
  readonly first: number;
}

async function answer(
  lab: EngineLab,
  sql: string,
  { shape, rowsMax = 1_000_000 }: { readonly shape: RowShape; readonly rowsMax?: number },
): Promise<Answer> {
  await using prepared = await lab.prepare(sql, {
    ...{ defaultOrder: true, rowsMax, fastPaths: false, deadlineMs: 60_000 },
  });
  await using running = await prepared.run();
  const parts: Uint8Array[] = [];
  let [rows, first] = [0, 0];
  for await (const chunk of running.chunks(shape)) {
    if (first === 0) first = chunk.rowCount;
    rows += chunk.rowCount;
    parts.push(chunk.bytes());
  }
  return { text: textOf(concatBytes(parts)), rows, first };
}

/** What DuckDB makes of it: of a subquery nothing is known. */
function rendered(lab: EngineLab, { list, where, direction, limit }: Parts, shape: RowShape) {
  const inner = `SELECT ${list} FROM events ${where} ORDER BY timestamp ${direction} ${limit}`;
  return answer(lab, `SELECT * FROM (${inner}) AS rows`, { shape });
}

interface Parts {
  readonly list: string;
  readonly where: string;
  readonly direction: "ASC" | "DESC";
  readonly limit: string;
}

const SHAPES = ["objects", "arrays", "array_lines"] as const;
const WRITTEN = [
  "timestamp, timestamp_ns, host, source, sourcetype, raw, attributes, word, number",
  'raw, word AS "wo\\rd", raw, events.number',
  `timestamp, "it""s la\\ter", number`,
  "number, timestamp",
] as const;
const NOT_WRITTEN = ["*", "timestamp, share", "raw || '!' AS raw", "* REPLACE (upper(raw) AS raw)"];

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`rows written from pages are those that DuckDB renders: seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    const pick = <T>(of: readonly T[]) => of[random.below(of.length)] as T;
    const between = () => `WHERE ${bound(random, ">")} AND ${bound(random, "<=")}`;
    await using lab = await openLab(random);
    for (let round = 0; round < STATEMENTS; round += 1) {
      const isWritten = random.chance(0.8);
      const limit = pick([1, 7, 300, 4_097, 20_001, 1_000_000]);
      const parts: Parts = {
        list: pick(isWritten ? WRITTEN : NOT_WRITTEN),
        where: pick(["", `WHERE ${bound(random, ">=")}`, `WHERE ${bound(random, "<")}`, between()]),
        direction: pick(["ASC", "DESC"]),
        limit: `LIMIT ${limit}`,
      };
      const shape = pick(SHAPES);
      const { list, where, direction } = parts;
      const sql =
        `SELECT ${list} FROM events ${where} ORDER BY timestamp ${direction} LIMIT ${limit}`;
      const own = await answer(lab, sql, { shape });
      const expected = await rendered(lab, parts, shape);
      assert.ok(own.text === expected.text, `seed ${seed}: ${sql} as ${shape}`);
      // Fewer rows are one chunk, whoever writes them.
      if (own.rows > CHUNK_ROWS) assert.equal(own.first !== CHUNK_ROWS, isWritten, sql);
    }
  });
}

for (
  const [most, ...times] of [
    [0],
    [1, [1, 2], [3, 4]],
    [2, [1, 3], [3, 4], [4, 5]],
    [3, [1, 9], [2, 3], [3, 4], [5, 9]],
  ] as const
) {
  Deno.test(`filesAtOnce of ${JSON.stringify(times)} is ${most}`, () => {
    const parts = times.map(([min, max]) => ({
      times: { timestampNsMin: BigInt(min), timestampNsMax: BigInt(max) },
    }));
    assert.equal(filesAtOnce(parts), most);
  });
}

Deno.test({
  name: "a cap cuts rows that are written, and rows of the WAL come before them",
  async fn() {
    const random = new SeededRandom(7);
    await using lab = await openLab(random);
    await lab.append([{ ns: START_NS + 10n ** 15n, raw: "newest" }]);
    const sql = "SELECT raw FROM events";
    const { text } = await answer(lab, sql, { shape: "objects", rowsMax: 20_000 });
    const lines = text.trimEnd().split("\n");
    assert.equal(lines.length, 20_001);
    assert.equal(lines[0], '{"raw":"newest"}');
    const all = await rendered(lab, {
      ...{ list: "raw", where: "", direction: "DESC", limit: "LIMIT 20001" },
    }, "objects");
    assert.ok(text === all.text);
  },
});

Deno.test({
  name: "all columns are written, and a star that changes some is not",
  async fn() {
    await using lab = await EngineLab.open();
    await lab.commit(
      Array.from({ length: 9_000 }, (_, at) => ({
        ns: START_NS + BigInt(at) * 1_000n,
        raw: `line ${at}`,
      })),
    );
    const list = (select: string) =>
      ({ list: select, where: "", limit: "", direction: "DESC" }) as const;
    for (
      const [select, isOwn] of [
        ["*", true],
        ["events.*, raw AS again", true],
        ["* REPLACE (upper(raw) AS raw)", false],
        ["* RENAME (host AS raw, raw AS host)", false],
        ["* EXCLUDE (host)", false],
      ] as const
    ) {
      const own = await answer(lab, `SELECT ${select} FROM events`, { shape: "objects" });
      assert.equal(own.first !== CHUNK_ROWS, isOwn, select);
      const expected = await rendered(lab, list(select), "objects");
      assert.ok(own.text === expected.text, select);
    }
  },
});

for (
  const [name, lastNs, isOwn] of [
    ["the last that is exact as a number", 9_007_199_254_740_991_000n, true],
    ["later than that", 9_223_372_036_854_775_000n, false],
  ] as const
) {
  Deno.test(`each microsecond of a time is told: ${name}`, async () => {
    await using lab = await EngineLab.open();
    await lab.commit(
      Array.from({ length: 9_000 }, (_, at) => ({
        ns: lastNs - BigInt(8_999 - at) * 1_000n,
        raw: `line ${at}`,
      })),
    );
    for (const direction of ["ASC", "DESC"] as const) {
      const sql = `SELECT timestamp, raw FROM events ORDER BY timestamp ${direction} LIMIT 9000`;
      const own = await answer(lab, sql, { shape: "objects" });
      assert.equal(own.first !== CHUNK_ROWS, isOwn, sql);
      const list = { list: "timestamp, raw", where: "", direction, limit: "LIMIT 9000" };
      const expected = await rendered(lab, list, "objects");
      assert.ok(own.text === expected.text, sql);
    }
  });
}

Deno.test({
  name: "a reader that leaves rows that are written leaves no file open",
  async fn() {
    await using lab = await openLab(new SeededRandom(8));
    await using prepared = await lab.prepare("SELECT raw FROM events", {
      ...{ defaultOrder: true, rowsMax: 30_000 },
    });
    await using running = await prepared.run();
    // The test runner tells of what is left open.
    for await (const chunk of running.chunks("objects")) {
      assert.ok(chunk.rowCount !== CHUNK_ROWS);
      break;
    }
  },
});
