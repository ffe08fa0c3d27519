/** Which statements have the same columns whatever is searched for. */

import assert from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { present } from "../../base/assert.ts";
import { columnsShape } from "../statement/columns_shape.ts";
import { isNode, nodeAt, nodesAt } from "../statement/syntax_tree.ts";
import { searchedWords } from "./match_calls.ts";

/** Two statements, and whether their answers have the same columns for certain. */
const PAIRS: readonly (readonly [isAlike: boolean, one: string, other: string])[] = [
  [true, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(raw, 'b c')"],
  [true, "FROM t WHERE NOT Match_Any(raw, 'a')", "FROM t WHERE NOT Match_Any(raw, '')"],
  [
    true,
    "SELECT n FROM (FROM t WHERE n > 1 AND match(raw, 'a')) WHERE match_prefix(raw, 'b')",
    "SELECT n FROM (FROM t WHERE n > 1 AND match(raw, 'c')) WHERE match_prefix(raw, 'd')",
  ],
  [false, "SELECT match_terms(raw, 'a') FROM t", "SELECT match_terms(raw, 'b') FROM t"],
  [
    false,
    "SELECT match_terms(raw, 'a') FROM t WHERE match_terms(raw, 'a')",
    "SELECT match_terms(raw, 'b') FROM t WHERE match_terms(raw, 'b')",
  ],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_phrase(raw, 'a')"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(host, 'a')"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(raw, 1)"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(raw, NULL)"],
  [false, "FROM t WHERE match_terms('x', 'a')", "FROM t WHERE match_terms('y', 'a')"],
  [false, "FROM t WHERE regexp_matches(raw, 'a')", "FROM t WHERE regexp_matches(raw, '(')"],
  [false, "FROM t WHERE ts > '2026-01-01'", "FROM t WHERE ts > 'yesterday'"],
  [false, "FROM t WHERE n = 1", "FROM t WHERE n = 2"],
];

Deno.test("columnsShape leaves out the words that a WHERE searches for, and no other constant", async () => {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  const shapeOf = async (sql: string) => {
    const reader = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [sql]);
    const document = JSON.parse(String(reader.getRows()[0]?.[0]));
    assert.ok(isNode(document) && document["error"] === false, JSON.stringify(document));
    const root = present(nodeAt(present(nodesAt(document, "statements")[0]), "node"), sql);
    return columnsShape(document, { micros: new Map() }, searchedWords(root));
  };
  try {
    for (const [isAlike, one, other] of PAIRS) {
      const [a, b] = [await shapeOf(one), await shapeOf(other)];
      assert.equal(a === b, isAlike, `${one} and ${other}`);
    }
  } finally {
    connection.closeSync();
  }
});
