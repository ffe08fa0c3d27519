import { DuckDBInstance } from "@duckdb/node-api";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { argumentTypes, preferredType } from "./argument_types.ts";
import type { TreeNode } from "./statement/syntax_tree.ts";

const ZONED = "TIMESTAMP WITH TIME ZONE";

Deno.test("preferredType takes what PostgreSQL prefers, and nothing where that is not clear", () => {
  const cases: readonly (readonly [types: readonly string[], type: string | undefined])[] = [
    [["INTEGER"], "INTEGER"],
    [["TINYINT", "INTEGER", "DOUBLE", "DECIMAL"], "DOUBLE"],
    [["SMALLINT", "BIGINT"], "BIGINT"],
    [["BOOLEAN", "INTEGER", "DOUBLE"], "DOUBLE"],
    [["DOUBLE", "DOUBLE[]"], "DOUBLE"],
    [["DATE", "INTERVAL", "TIMESTAMP", ZONED], ZONED],
    [["DATE", "TIMESTAMP"], "TIMESTAMP"],
    [["BIGINT", ZONED], undefined],
    [["VARCHAR", "BIGINT"], undefined],
    [["ANY"], undefined],
    [["T"], undefined],
    [["VARCHAR[]"], undefined],
    [[], undefined],
  ];
  for (const [types, type] of cases) strictEqual(preferredType(types), type, types.join());
});

Deno.test("argumentTypes looks arguments up by their place and the number of arguments", async () => {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const texts = async (sql: string) =>
    (await connection.runAndReadAll(sql)).getRows()
      .map((row) => row.map((value) => value === null ? null : String(value)));
  const cases: readonly (readonly [sql: string, types: Readonly<Record<string, string>>])[] = [
    ["SELECT round($1, 2), date_trunc('hour', $2), chr($3)", {
      ...{ "1": "DOUBLE", "2": ZONED, "3": "INTEGER" },
    }],
    ["SELECT regexp_extract('a', $1, $2), epoch_ms($3), nowhere($4)", { "2": "INTEGER" }],
    ["SELECT i FROM range($1) r(i) WHERE quantile_cont(i, $2) > round(round($1))", {
      ...{ "1": "BIGINT", "2": "DOUBLE" },
    }],
    // A macro has no types.
    ["SELECT split_part('a', 'b', $1)", {}],
  ];
  for (const [sql, types] of cases) {
    const [[tree]] = await texts(`SELECT json_serialize_sql('${sql.replaceAll("'", "''")}')`) as [
      [string],
    ];
    const root = JSON.parse(tree) as TreeNode;
    const found = await argumentTypes({ texts }, root, new Set(["1", "2", "3", "4"]));
    deepStrictEqual(Object.fromEntries(found), types, sql);
  }
  connection.closeSync();
  instance.closeSync();
});
