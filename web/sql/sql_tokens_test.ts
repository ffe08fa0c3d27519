import { deepStrictEqual } from "node:assert/strict";
import { splitStatements, tablesOfSchema } from "./sql_tokens.ts";

Deno.test("splitStatements cuts at semicolons that no text, name or comment holds", () => {
  const cases: readonly (readonly [string, readonly (readonly [string, number])[]])[] = [
    ["", []],
    [" ; -- nothing\n;/* ; */", []],
    ["SELECT 1", [["SELECT 1", 0]]],
    ["SELECT 1;\n SELECT 2 ;", [["SELECT 1", 0], ["SELECT 2", 11]]],
    ["SELECT ';', \"a;b\", 'it''s;' -- ;\n", [["SELECT ';', \"a;b\", 'it''s;'", 0]]],
    ["SELECT $$a;b$$, $x$;$x$; SELECT 2", [["SELECT $$a;b$$, $x$;$x$", 0], ["SELECT 2", 25]]],
    ["SELECT 'open; SELECT 2", [["SELECT 'open; SELECT 2", 0]]],
  ];
  for (const [text, statements] of cases) {
    deepStrictEqual(splitStatements(text).map(({ sql, from }) => [sql, from]), statements, text);
  }
});

Deno.test("tablesOfSchema finds local tables where a table may stand, and no columns", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["SELECT * FROM local.errors", ["errors"]],
    ['from LOCAL.Errors e, local . "more" WHERE x IN (SELECT y FROM local.third)', [
      "errors",
      "more",
      "third",
    ]],
    ["SELECT * FROM events JOIN local.a USING (x) LEFT JOIN (local.b JOIN local.c ON true) ON 1", [
      "a",
      "b",
      "c",
    ]],
    ["SELECT * FROM f(a, b), local.d", ["d"]],
    ["WITH x AS (FROM local.e) SELECT * FROM x", ["e"]],
    ["SUMMARIZE local.f", ["f"]],
    ["SELECT a, local.raw FROM events local WHERE local.raw = 'from local.x'", []],
    ["SELECT 1 FROM events WHERE a = 1 GROUP BY a, local.b -- FROM local.c", []],
    ["SELECT * FROM localhost.a", []],
  ];
  for (const [sql, tables] of cases) {
    deepStrictEqual([...tablesOfSchema(sql, "local")], tables, sql);
  }
});
