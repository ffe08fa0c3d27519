/** Which statements have the same columns whatever is searched for. */

import assert from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { present } from "../../base/assert.ts";
import { columnsShape } from "../statement/columns_shape.ts";
import { isNode, nodeAt, nodesAt } from "../statement/syntax_tree.ts";
import { soughtTexts } from "./sought_texts.ts";

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
  [
    false,
    "SELECT EXISTS (FROM t WHERE match_terms(raw, 'a'))",
    "SELECT EXISTS (FROM t WHERE match_terms(raw, 'b'))",
  ],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_phrase(raw, 'a')"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(host, 'a')"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(raw, 1)"],
  [false, "FROM t WHERE match_terms(raw, 'a')", "FROM t WHERE match_terms(raw, NULL)"],
  [false, "FROM t WHERE match_terms('x', 'a')", "FROM t WHERE match_terms('y', 'a')"],
  [false, "FROM t WHERE regexp_matches(raw, 'a')", "FROM t WHERE regexp_matches(raw, '(')"],
  [false, "FROM t WHERE ts > '2026-01-01'", "FROM t WHERE ts > 'yesterday'"],
  [false, "FROM t WHERE n = 1", "FROM t WHERE n = 2"],
  [true, "FROM t WHERE attr_get(a, 'x') = 'a'", "FROM t WHERE attr_get(a, 'x') = 'b c'"],
  [true, "FROM t WHERE 'a' < attr_get(a, 'x')", "FROM t WHERE 'b' < attr_get(a, 'x')"],
  [
    true,
    "FROM (FROM t WHERE a->>'$.x' <> 'a') WHERE n > 1 OR attr_get(a, 'x') IN ('a', 'b')",
    "FROM (FROM t WHERE a->>'$.x' <> 'c') WHERE n > 1 OR attr_get(a, 'x') IN ('d', 'e')",
  ],
  [false, "FROM t WHERE attr_get(a, 'x') = 'a'", "FROM t WHERE attr_get(a, 'y') = 'a'"],
  [false, "FROM t WHERE attr_get(a, 'x') = 'a'", "FROM t WHERE attr_get(a, 'x') <> 'a'"],
  [false, "FROM t WHERE attr_get(a, 'x') = 'a'", "FROM t WHERE attr_get(a, 'x') = NULL"],
  [false, "FROM t WHERE attr_get(a, 'x') = '1'", "FROM t WHERE attr_get(a, 'x') = 1"],
  [
    false,
    "FROM t WHERE attr_get(a, 'x') = DATE '2026-01-01'",
    "FROM t WHERE attr_get(a, 'x') = DATE '2026-01-02'",
  ],
  [false, "FROM t WHERE attr_get(a, 'x')::INT = '1'", "FROM t WHERE attr_get(a, 'x')::INT = 'a'"],
  [false, "FROM t WHERE (a->'$.x') = '1'", "FROM t WHERE (a->'$.x') = '{'"],
  [false, "FROM t WHERE 'a' = '1'", "FROM t WHERE 'a' = '2'"],
  [false, "FROM t WHERE a = '1'", "FROM t WHERE a = '2'"],
  [
    false,
    "FROM t WHERE attr_get(a, 'x') IN ('1', n)",
    "FROM t WHERE attr_get(a, 'x') IN ('a', n)",
  ],
  [false, "SELECT attr_get(a, 'x') = 'a' FROM t", "SELECT attr_get(a, 'x') = 'b' FROM t"],
  [
    false,
    "SELECT (SELECT count(*) FROM t WHERE attr_get(a, 'x') = 'a')",
    "SELECT (SELECT count(*) FROM t WHERE attr_get(a, 'x') = 'b')",
  ],
];

Deno.test("columnsShape leaves out the words and attributes that a WHERE searches for, and no other constant", async () => {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  const shapeOf = async (sql: string) => {
    const reader = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [sql]);
    const document = JSON.parse(String(reader.getRows()[0]?.[0]));
    assert.ok(isNode(document) && document["error"] === false, JSON.stringify(document));
    const root = present(nodeAt(present(nodesAt(document, "statements")[0]), "node"), sql);
    return columnsShape(document, { micros: new Map() }, soughtTexts(root));
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
