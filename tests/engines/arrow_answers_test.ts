/** Answers as Arrow and Parquet in the programs that people read them with, types and values. */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { startLabServer } from "../doubles/lab_server.ts";
import { hasPackages, NO_PYTHON, runPython } from "./python.ts";

const NAME = "polars, pandas, pyarrow and duckdb read answers as Arrow and as Parquet";

const HAS_READERS = await hasPackages(["duckdb", "pandas", "polars", "pyarrow"]);

const QUERY = `SELECT i AS n, (i % 2 = 0) AS even, i::UTINYINT AS small, sum(i) AS huge,
  (i / 3)::DECIMAL(7,2) AS price, i / 2 AS half, CASE WHEN i = 1 THEN NULL ELSE 'text no ' || i END
  AS words, DATE '2026-11-20' + i::INTEGER AS day, TIMESTAMPTZ '2026-11-20 01:02:03.000004+00' AS happened,
  [i, NULL] AS items, {'a': i, 'b': 'x'} AS pair, MAP {'k': i} AS tags
  FROM range(3) AS r(i) GROUP BY i ORDER BY i`;

const ROWS = [0, 1, 2].map((i) => ({
  n: i,
  even: i % 2 === 0,
  small: i,
  huge: String(i),
  price: ["0.00", "0.33", "0.67"][i],
  half: i / 2,
  words: i === 1 ? null : `text no ${i}`,
  day: `2026-11-2${i}`,
  happened: "2026-11-20T01:02:03.000004+00:00",
  items: [i, null],
  pair: { a: i, b: "x" },
  tags: [["k", i]],
}));

Deno.test({
  name: HAS_READERS ? NAME : `${NAME} (${NO_PYTHON})`,
  ignore: !HAS_READERS,
  async fn() {
    await using lab = await WarehouseLab.open();
    await using server = await startLabServer(lab);
    const files: string[] = [];
    for (const format of ["arrow", "parquet"]) {
      const response = await fetch(`${server.url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: QUERY, format }),
      });
      strictEqual(response.status, 200);
      files.push(join(lab.dir, `answer.${format}`));
      await Deno.writeFile(files.at(-1) ?? "", new Uint8Array(await response.arrayBuffer()));
    }
    const told = JSON.parse(await runPython("read_answers.py", files));
    deepStrictEqual(told.arrow, ROWS);
    deepStrictEqual(told.parquet, ROWS);
    const rows = "[(0, 'text no 0', Decimal('0.00')), (1, None, Decimal('0.33')), " +
      "(2, 'text no 2', Decimal('0.67'))]";
    strictEqual(told.polars_arrow, rows);
    strictEqual(told.polars_parquet, rows);
    deepStrictEqual(told.pandas, [0, 1, 2]);
    strictEqual(/^\[\(3, '1\.00'\)\]$/.test(told.duckdb_arrow), true, told.duckdb_arrow);
    deepStrictEqual(told.duckdb_parquet, [
      ["DECIMAL(7,2)", "TIMESTAMP WITH TIME ZONE", "DECIMAL(38,0)", "MAP(VARCHAR, BIGINT)"],
    ]);
  },
});
