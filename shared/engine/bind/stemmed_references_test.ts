import { deepStrictEqual } from "node:assert/strict";
import { DuckDBInstance } from "@duckdb/node-api";
import { gate } from "../gate/gate.ts";
import { parse } from "../statement/parse.ts";
import { stemmedReferences } from "./stemmed_references.ts";
import { listAt } from "../statement/syntax_tree.ts";

/**
 * Table `t` has columns `k`, `s` and `p`, of which `s` has stems; `u` has `k` and `s`, and no
 * stems.
 */
const TABLES = new Map([
  ["t", { columns: ["k", "s", "p"], stemmed: new Set(["s"]) }],
  ["u", { columns: ["k", "s"], stemmed: new Set<string>() }],
]);

/** All references that are stemmed, by what is written. */
const CASES: readonly (readonly [sql: string, stemmed: readonly string[]])[] = [
  ["SELECT lower(s), lower(p) FROM t", ["s"]],
  ["SELECT 1 FROM t WHERE lower(S) = '' AND lower(t.s) = '' AND lower(x.s) = ''", ["S", "t.s"]],
  ["SELECT 1 FROM t AS x WHERE lower(x.s) = '' AND lower(t.s) = ''", ["x.s"]],
  ["SELECT 1 FROM t x(a, b) WHERE lower(b) = '' AND lower(a) = '' AND lower(p) = ''", ["b"]],
  ["SELECT 1 FROM u WHERE lower(s) = ''", []],
  ["SELECT 1 FROM t JOIN u ON lower(t.s) = lower(u.s)", ["t.s"]],
  ["SELECT 1 FROM (SELECT s AS p, p AS s FROM t) WHERE lower(p) = lower(s)", ["s", "p"]],
  ["SELECT 1 FROM (SELECT p || '' AS s FROM t) WHERE lower(s) = ''", []],
  ["SELECT 1 FROM (SELECT s || '' AS s FROM t) WHERE lower(s) = ''", ["s"]],
  ["SELECT 1 FROM (SELECT * FROM t) q WHERE lower(q.s) = ''", ["q.s"]],
  ["SELECT 1 FROM (SELECT t.*, u.k AS z FROM t, u) WHERE lower(s) = lower(z)", ["s"]],
  ["SELECT 1 FROM (SELECT * EXCLUDE (s) FROM t) WHERE lower(s) = ''", []],
  ["SELECT 1 FROM (SELECT * REPLACE ('' AS s) FROM t) WHERE lower(s) = ''", []],
  ["SELECT 1 FROM (SELECT * RENAME (s AS r) FROM t) WHERE lower(r) = lower(s)", ["r"]],
  ["WITH w AS (SELECT s FROM t) SELECT lower(s) FROM w", ["s", "s"]],
  ["WITH w(a) AS (SELECT s FROM t), v AS (FROM w) SELECT lower(a) FROM v", ["s", "a"]],
  ["WITH t AS (SELECT p AS s FROM svc.t) SELECT lower(s) FROM t", []],
  ["SELECT 1 FROM (SELECT s FROM t UNION SELECT s FROM t) WHERE lower(s) = ''", ["s", "s", "s"]],
  ["SELECT 1 FROM (SELECT s FROM t UNION SELECT s FROM u) WHERE lower(s) = ''", ["s"]],
  ["SELECT s AS m FROM t WHERE lower(m) = ''", ["s", "m"]],
  ["SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM t WHERE lower(t.s) = lower(u.s))", ["t.s"]],
  ["SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE lower(s) = '')", []],
  ["SELECT 1 FROM t WHERE EXISTS (SELECT 1 FROM range(3) r(k) WHERE lower(s) = '')", ["s"]],
  ["SELECT 1 FROM t, LATERAL (SELECT lower(s) AS q) WHERE lower(q) = ''", ["s"]],
  ["SELECT list_filter([''], lambda s: lower(s) = lower(p)) FROM t", []],
  ["SELECT list_filter([''], lambda x: x = lower(s)) FROM t", ["s"]],
  ["SELECT count(*) FILTER (WHERE lower(s) = '') FROM t GROUP BY p HAVING min(lower(s)) = ''", [
    "s",
    "s",
  ]],
];

Deno.test({
  name: "stemmedReferences follows a column through the scopes of a statement",
  fn: async () => {
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const serialize = async (sql: string) => {
      const read = await connection.runAndReadAll("SELECT json_serialize_sql($1::VARCHAR)", [sql]);
      return String(read.getRows()[0]?.[0]);
    };
    for (const [sql, expected] of CASES) {
      const { root } = await parse(serialize, sql);
      const { references } = gate(root, { namespace: "svc" });
      const tables = references.flatMap(({ table, node }) => {
        const known = TABLES.get(table);
        return known === undefined ? [] : [{ ...known, node }];
      });
      const found = stemmedReferences(root, tables);
      deepStrictEqual(
        [...found].map((node) => listAt(node, "column_names").join(".")).toSorted(),
        expected.toSorted(),
        sql,
      );
    }
    connection.closeSync();
    instance.closeSync();
  },
});
