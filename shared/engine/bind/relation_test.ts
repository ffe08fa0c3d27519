import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { batchOfRows } from "../../columns/rows.ts";
import type { Column, TableSchema } from "../../schema/schema.ts";
import { writeParquet } from "../../parquet/write_parquet.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { nativeDriver } from "../duckdb/native_driver.ts";
import {
  type FilePart,
  filePart,
  fileTable,
  type RowRange,
  rowsInRange,
  type ScanPart,
  type TablePlan,
} from "../plan/plan.ts";
import { relationSql } from "./relation.ts";
import { dataFile } from "../../testing/data_file.ts";

/** The table as it was when the files were written. */
const OLD: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true },
    { id: 2, name: "timestamp_ns", type: "long", required: true },
    { id: 3, name: "old name", type: "string", required: false },
    { id: 4, name: "dropped", type: "int", required: false },
  ],
  tags: [],
};

/** The table now: one column renamed and moved, one dropped, one of each type added. */
const NOW: readonly Column[] = [
  { id: 3, name: 'new "name"', type: "string", required: false },
  { id: 1, name: "timestamp", type: "timestamptz", required: true },
  { id: 2, name: "timestamp_ns", type: "long", required: true },
  { id: 5, name: "dropped", type: "string", required: false },
  { id: 6, name: "d", type: "double", required: false },
  { id: 7, name: "b", type: "bool", required: false },
  { id: 8, name: "i", type: "int", required: false },
];

/** The rows of file n are numbered from 10 n on. */
const ROWS_OF_FILES = [10, 10, 1_000];

interface Lab extends AsyncDisposable {
  readonly dir: string;
  readonly connection: EngineConnection;
}

async function openLab(): Promise<Lab> {
  const dir = await Deno.makeTempDir({ prefix: "relation-" });
  await Deno.mkdir(`${dir}/scratch`);
  for (const [file, count] of ROWS_OF_FILES.entries()) {
    const rows = Array.from({ length: count }, (_, i) => ({
      timestamp: BigInt(file * 10 + i),
      timestamp_ns: BigInt(file * 10 + i) * 1000n,
      "old name": `r${file * 10 + i}`,
      dropped: 7,
    }));
    const { bytes } = writeParquet([batchOfRows(OLD, rows)], {
      schema: OLD,
      rowGroupRowsMax: count * 2 / 5,
    });
    await Deno.writeFile(`${dir}/it's ${file}.parquet`, bytes);
  }
  const database = await nativeDriver({ readFile: (path) => Deno.readFile(path) }).open({
    readableDirs: [dir],
    scratchDir: `${dir}/scratch`,
    memoryBytesMax: 256 * 2 ** 20,
    spillBytesMax: 2 ** 20,
    threads: 2,
    connections: 1,
    setup: [],
  });
  return {
    dir,
    connection: await database.connect(new AbortController().signal),
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await Deno.remove(dir, { recursive: true });
    },
  };
}

function part(dir: string, file: number, range?: RowRange): FilePart {
  const whole = dataFile({ rows: ROWS_OF_FILES[file] ?? 0, splitOffsets: [4, 8, 12] });
  return { ...filePart(whole, `${dir}/it's ${file}.parquet`), range };
}

/** A part as it is read from a copy of some columns; here the copy has all of them. */
function copied(part: FilePart): FilePart {
  return { ...part, source: { kind: "copy", path: part.path } };
}

function columnsOf(ids: readonly number[]): readonly Column[] {
  return NOW.filter(({ id }) => ids.includes(id));
}

function planOf(parts: readonly ScanPart[], projected = NOW): TablePlan {
  return {
    ...fileTable(dataFile(), projected, parts),
    schema: { columns: NOW, tags: [] },
  };
}

/** The rows' `new "name"`, sorted by their number. */
async function namesOf(lab: Lab, parts: readonly ScanPart[]): Promise<(string | null)[]> {
  const sql = `SELECT "new ""name""" FROM (${relationSql(planOf(parts))}) ORDER BY timestamp`;
  return (await lab.connection.texts(sql)).map((row) => row[0] ?? null);
}

function numbered(from: number, to: number): string[] {
  return Array.from({ length: to - from }, (_, i) => `r${from + i}`);
}

Deno.test({
  name: "relationSql reads columns by field id, whatever their names and places were",
  fn: async () => {
    await using lab = await openLab();
    const described = await lab.connection.describe(relationSql(planOf([part(lab.dir, 0)])), []);
    deepStrictEqual(described.map(({ name, type }) => [name, type.kind]), [
      ['new "name"', "VARCHAR"],
      ["timestamp", "TIMESTAMP_TZ"],
      ["timestamp_ns", "BIGINT"],
      ["dropped", "VARCHAR"],
      ["d", "DOUBLE"],
      ["b", "BOOLEAN"],
      ["i", "INTEGER"],
    ]);
    const [row] = await lab.connection.texts(
      `SELECT "new ""name""", timestamp_ns::VARCHAR, dropped, d::VARCHAR, b::VARCHAR, i::VARCHAR ` +
        `FROM (${relationSql(planOf([part(lab.dir, 1)]))}) ORDER BY timestamp LIMIT 1`,
    );
    deepStrictEqual(row, ["r10", "10000", null, null, null, null]);
  },
});

Deno.test({
  name: "relationSql whole files and row ranges together",
  fn: async () => {
    await using lab = await openLab();
    const whole = [part(lab.dir, 0), part(lab.dir, 1)];
    deepStrictEqual(await namesOf(lab, whole), numbered(0, 20));
    const range = part(lab.dir, 0, { first: 3, end: 9 });
    deepStrictEqual(await namesOf(lab, [range]), numbered(3, 9));
    deepStrictEqual(await namesOf(lab, [range, part(lab.dir, 1)]), [
      ...numbered(3, 9),
      ...numbered(10, 20),
    ]);
    const apart = [
      part(lab.dir, 1, { first: 0, end: 1 }),
      part(lab.dir, 1, { first: 9, end: 10 }),
      part(lab.dir, 0, { first: 4, end: 8 }),
    ];
    deepStrictEqual(await namesOf(lab, apart), [...numbered(4, 8), "r10", "r19"]);
  },
});

const SELECTED: readonly (readonly [string, (row: number) => boolean])[] = [
  ["a few rows", (row) => [53, 400, 401, 699].includes(row)],
  ["single rows", (row) => row % 30 === 7],
  ["a few runs", (row) => row % 300 < 50],
  ["blocks of 16 rows", (row) => (row >> 4) % 3 === 2],
  ["runs of another length", (row) => row % 50 < 9],
];
for (const [what, isWanted] of SELECTED) {
  for (const range of [{ first: 0, end: 1_000 }, { first: 41, end: 700 }]) {
    Deno.test(`relationSql reads just ${what} of [${range.first}, ${range.end})`, async () => {
      await using lab = await openLab();
      const own = Array.from({ length: range.end - range.first }, (_, at) => range.first + at);
      const rowNumbers = Uint32Array.from(own.filter(isWanted));
      deepStrictEqual(
        await namesOf(lab, [{ ...part(lab.dir, 2, range), rowNumbers, isTold: true }]),
        Array.from(rowNumbers, (row) => `r${20 + row}`),
      );
    });
  }
}

Deno.test({
  name: "relationSql reads a part that is all of its file in the scan of whole files",
  fn: async () => {
    await using lab = await openLab();
    const all = { ...part(lab.dir, 1, { first: 0, end: 10 }), rowNumbers: Uint32Array.of(3) };
    const untold = [part(lab.dir, 0), { ...all, isTold: false }];
    strictEqual(relationSql(planOf(untold)).split("read_parquet").length, 2);
    deepStrictEqual(await namesOf(lab, untold), numbered(0, 20));
    const told = [part(lab.dir, 0), { ...all, isTold: true }];
    strictEqual(relationSql(planOf(told)).split("read_parquet").length, 3);
    deepStrictEqual(await namesOf(lab, told), [...numbered(0, 10), "r13"]);
  },
});

Deno.test({
  name: "relationSql nothing to read is no row of the right types",
  fn: async () => {
    await using lab = await openLab();
    deepStrictEqual(await namesOf(lab, []), []);
    const empty = await lab.connection.describe(relationSql(planOf([])), []);
    const full = await lab.connection.describe(relationSql(planOf([part(lab.dir, 0)])), []);
    deepStrictEqual(empty, full);
  },
});

Deno.test({
  name: "relationSql gives what the statement can need of files and copies, and no other column",
  fn: async () => {
    await using lab = await openLab();
    const files = [part(lab.dir, 0, { first: 2, end: 5 }), part(lab.dir, 1, { first: 4, end: 6 })];
    for (const parts of [files, files.map(copied), [part(lab.dir, 0), ...files.slice(1)]]) {
      const over = (ids: readonly number[], sql: string) => {
        const plan = planOf(parts, columnsOf(ids));
        return lab.connection.texts(`WITH t AS NOT MATERIALIZED (${relationSql(plan)}) ${sql}`);
      };
      const [[rows] = []] = await over([2], "SELECT count(timestamp_ns) FROM t");
      strictEqual(Number(rows), parts.reduce((sum, one) => sum + rowsInRange(one), 0));
      // A select list has one column at least.
      deepStrictEqual(await over([], "SELECT count(*) FROM t"), [[rows ?? null]]);
      deepStrictEqual(await over([6], "SELECT count(d) FROM t"), [["0"]]);
      await rejects(over([2], "SELECT max(timestamp) FROM t"), /"timestamp" not found/);
    }
  },
});

Deno.test({
  name:
    "relationSql of two files is one text, and the path that is bound decides, also when it is kept",
  fn: async () => {
    await using lab = await openLab();
    const texts = new Set<string>();
    const firstName = async (own: FilePart) => {
      const values: string[] = [];
      const relation = relationSql(planOf([own]), (text) => `$${values.push(text)}::VARCHAR`);
      const sql = `SELECT min("new ""name""") FROM (${relation})`;
      texts.add(sql);
      const parts: string[] = [];
      for await (const chunk of lab.connection.rows({ sql, values })) {
        parts.push(new TextDecoder().decode(chunk.bytes()));
      }
      return parts.join();
    };
    for (let round = 0; round < 3; round += 1) {
      strictEqual(await firstName(part(lab.dir, 0)), "r0");
      strictEqual(await firstName(part(lab.dir, 1)), "r10");
    }
    strictEqual(texts.size, 1);
    const range = { first: 3, end: 6 };
    for (let round = 0; round < 2; round += 1) {
      strictEqual(await firstName(part(lab.dir, 0, range)), "r3");
      strictEqual(await firstName(part(lab.dir, 1, range)), "r13");
    }
    strictEqual(texts.size, 2);
  },
});
