/**
 * Files of another writer, read with just the bytes that `FileLayout` names and garbage elsewhere.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import { deepStrictEqual, ok } from "node:assert/strict";
import type { Column } from "../../../schema/schema.ts";
import { type ColumnChunk, parseFooter } from "../../../parquet/footer.ts";
import { HOLE_BYTE } from "../../../testing/hole_revealing_files.ts";
import { relationSql } from "../../bind/relation.ts";
import { type FilePart, filePart, fileTable } from "../../plan/plan.ts";
import { dataFile } from "../../../testing/data_file.ts";
import { FileLayout } from "./file_layout.ts";

const COLUMNS: readonly Column[] = [
  { id: 1, name: "n", type: "long", required: false },
  { id: 2, name: "few", type: "string", required: false },
  { id: 3, name: "unique", type: "string", required: false },
  { id: 4, name: "d", type: "double", required: false },
];
const ROWS = 30_000;
const ROW_GROUP_ROWS = 6_144;

const SOURCE = `SELECT i AS n, CASE WHEN i % 7 > 0 THEN 'value ' || (i % 90) END AS few,
  md5(i::VARCHAR) AS "unique", CASE WHEN i % 3 > 0 THEN i / 7.0 END AS d FROM range(${ROWS}) t(i)`;
const FIELD_IDS = `FIELD_IDS {${COLUMNS.map(({ id, name }) => `"${name}": ${id}`).join(", ")}}`;

const WRITERS: readonly string[] = [
  "COMPRESSION zstd",
  "COMPRESSION snappy, PARQUET_VERSION v2",
  "COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT 1",
  "COMPRESSION lz4, STRING_DICTIONARY_PAGE_SIZE_LIMIT 1000000",
];

/** Columns that a statement over `t` names, the rows it is given, and the statement. */
const STATEMENTS:
  readonly (readonly [string[], { first: number; end: number } | undefined, string])[] = [
    [["n"], undefined, "SELECT count(*) FROM t WHERE n = 12345"],
    [["few"], undefined, "SELECT count(*) FROM t WHERE few = 'value 13'"],
    [["few"], undefined, "SELECT count(*) FROM t WHERE few = 'absent'"],
    [["few", "d"], undefined, "SELECT few, sum(d) FROM t GROUP BY ALL ORDER BY ALL"],
    [["unique"], { first: 7_000, end: 9_000 }, 'SELECT max("unique"), count(*) FROM t'],
    [["d"], { first: 6_144, end: 12_288 }, "SELECT min(d), count(d) FROM t"],
    [["n", "unique"], undefined, 'SELECT "unique" FROM t ORDER BY n DESC LIMIT 4'],
    [[], { first: 100, end: 200 }, "SELECT count(*) FROM t"],
    [["n", "few"], undefined, "SELECT n FROM t WHERE few IN ('value 1', 'value 2') AND n > 29000"],
  ];

Deno.test({
  name: "FileLayout.scanned names all that is read of a file of another writer, Bloom filters too",
  fn: async (t) => {
    const dir = await Deno.makeTempDir({ prefix: "foreign-files-" });
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const rowsOf = async (sql: string) => (await connection.runAndReadAll(sql)).getRowsJson();
    let blooms = 0;
    for (const [writer, options] of WRITERS.entries()) {
      const whole = `${dir}/whole-${writer}.parquet`;
      const format = `FORMAT parquet, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, ${FIELD_IDS}, ${options}`;
      await connection.run(`COPY (${SOURCE}) TO '${whole}' (${format})`);
      const bytes = await Deno.readFile(whole);
      const layout = new FileLayout(parseFooter(bytes, whole), bytes.byteLength);
      const chunks = layout.footer.rowGroups.flatMap((group): readonly ColumnChunk[] =>
        group.columns
      );
      blooms += chunks.filter((chunk) => chunk.bloomFilter !== undefined).length;
      for (const [at, [names, range, sql]] of STATEMENTS.entries()) {
        await t.step(`${options}: ${sql}`, async () => {
          const projected = COLUMNS.filter(({ name }) => names.includes(name));
          const holey = new Uint8Array(bytes.byteLength).fill(HOLE_BYTE);
          for (const { start, end } of layout.scanned(projected, range)) {
            holey.set(bytes.subarray(start, end), start);
          }
          const path = `${dir}/holey-${writer}-${at}.parquet`;
          await Deno.writeFile(path, holey);
          const over = (file: string) =>
            `WITH t AS NOT MATERIALIZED (${relation(file, { projected, range })}) ${sql}`;
          deepStrictEqual(await rowsOf(over(path)), await rowsOf(over(whole)));
        });
      }
    }
    ok(blooms > 0, "some of the files have Bloom filters");
    connection.closeSync();
    instance.closeSync();
    await Deno.remove(dir, { recursive: true });
  },
});

function relation(
  path: string,
  { projected, range }: {
    readonly projected: readonly Column[];
    readonly range: { readonly first: number; readonly end: number } | undefined;
  },
): string {
  const part: FilePart = {
    ...filePart(dataFile({ rows: ROWS }), path),
    range,
    source: { kind: "copy", path },
  };
  return relationSql({
    ...fileTable(part.file, projected, [part]),
    schema: { columns: COLUMNS, tags: [] },
  });
}
