import assert from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";
import type { Parameters, ParameterValue } from "../types.ts";

const NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
/** Texts that would end a literal, a comment or a statement if they were read as SQL. */
const HOSTILE = [
  "'",
  "''",
  "' OR true --",
  '"',
  "\\",
  "*/",
  "$1",
  "?",
  "; SELECT 1",
  "\n",
  "🦊",
  "",
];

async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open();
  await lab.commit(HOSTILE.map((raw, at) => ({ ns: NS + BigInt(at) * 1_000n, raw })));
  return lab;
}

const CASES: readonly (readonly [sql: string, Parameters, expected: unknown])[] = [
  ["SELECT typeof(?), ?", ["a", "b"], ["VARCHAR", "b"]],
  ["SELECT $2, $1, $2", ["a", "b"], ["b", "a", "b"]],
  ["SELECT $x + 1, typeof($x)", { x: 41 }, [42, "INTEGER"]],
  ["SELECT $x, typeof($x)", { x: 0.1 }, [0.1, "DOUBLE"]],
  ["SELECT $x, typeof($x)", { x: 1e300 }, [1e300, "DOUBLE"]],
  ["SELECT $x, -$x", { x: -9_007_199_254_740_991 }, [
    -9_007_199_254_740_991,
    9_007_199_254_740_991,
  ]],
  ["SELECT ?::HUGEINT::VARCHAR", ["170141183460469231731687303715884105727"], [
    "170141183460469231731687303715884105727",
  ]],
  ["SELECT ($1 + 1)::VARCHAR, typeof($1)", [{ type: "HUGEINT", text: "9223372036854775808" }], [
    "9223372036854775809",
    "HUGEINT",
  ]],
  ["SELECT $yes AND NOT $no, typeof($yes)", { yes: true, no: false }, [true, "BOOLEAN"]],
  ["SELECT $1 IS NULL, coalesce($1, 'x')", [null], [true, "x"]],
  ["SELECT $1 AS named", ["v"], ["v"]],
  ["SELECT count(*) FROM events WHERE timestamp >= ? AND timestamp < ?", [
    "2026-11-20",
    "2026-11-21",
  ], [HOSTILE.length]],
  ["SELECT count(*) FROM (SELECT * FROM events LIMIT ?)", [3], [3]],
  ["WITH t AS (SELECT $1 AS a) SELECT a FROM t WHERE a IN ($1, $2)", ["p", "q"], ["p"]],
];

Deno.test({
  name: "parameters are values of their types, in any clause",
  async fn() {
    await using lab = await openLab();
    for (const [sql, parameters, expected] of CASES) {
      const { rows } = await lab.query(sql, { parameters });
      assert.deepEqual(rows, [expected], sql);
    }
    const { columns } = await lab.query("SELECT $1 AS named", { parameters: ["v"] });
    assert.deepEqual(columns, ["named"]);
  },
});

Deno.test({
  name: "a parameter's text is never read as SQL, and finds the very rows that have it",
  async fn() {
    await using lab = await openLab();
    for (const text of HOSTILE) {
      const { rows } = await lab.query("SELECT raw, $1 FROM events WHERE raw = $1", {
        parameters: [text],
      });
      assert.deepEqual(rows, [[text, text]], JSON.stringify(text));
    }
  },
});

Deno.test({
  name: "a statement with parameters is planned as with the values in their places",
  async fn() {
    await using lab = await openLab();
    const range = ["2026-11-20T00:00:00Z", "2026-11-20T00:01:00Z"];
    const bound = "SELECT count(*) FROM events WHERE timestamp >= ? AND timestamp < ?";
    const written = bound.replace("?", `'${range[0]}'`).replace("?", `'${range[1]}'`);
    const { served_by } = (await lab.query(written)).stats;
    assert.notEqual(served_by, "scan");
    assert.equal((await lab.query(bound, { parameters: range })).stats.served_by, served_by);
    const past = await lab.query("SELECT raw FROM events WHERE timestamp > ?", {
      parameters: ["2026-11-25"],
    });
    assert.equal(past.stats.rows_scanned, 0);
  },
});

const REFUSALS: readonly (readonly [sql: string, Parameters, RegExp])[] = [
  ["SELECT $1, $2", ["a"], /\$2 has no value; parameters has 1/],
  ["SELECT $1", ["a", "b"], /no parameter is \$2; parameters has 2/],
  ["SELECT 1", { x: 1 }, /no parameter is \$x/],
  ["SELECT $y", { x: 1 }, /\$y has no value/],
  ["SELECT $1", ["a\0b"], /\$1 holds the character U\+0000/],
  ["SELECT $1", ["a\ud800"], /\$1 holds half of a surrogate pair/],
  ["SELECT $1", [NaN as ParameterValue], /\$1 is no finite number/],
];

Deno.test({
  name: "parameters and values that do not fit are refused, and name the one",
  async fn() {
    await using lab = await openLab();
    for (const [sql, parameters, message] of REFUSALS) {
      const expected = { code: "invalid_argument", reason: "bad_parameters", message };
      await assert.rejects(lab.query(sql, { parameters }), expected, sql);
    }
    await assert.rejects(lab.query("SELECT $1"), { message: /member parameters/ });
    await assert.rejects(lab.query("SELECT $1, read_text('/etc/passwd')", { parameters: ["a"] }), {
      reason: "refused_function",
    });
  },
});

/** Statements with a mistake, what they give, and where it stands in the text as it was sent. */
const MISTAKES: readonly (readonly [sql: string, Parameters, RegExp])[] = [
  [
    "SELECT $1,\n  nope FROM events",
    ["a long text in place of the two letters"],
    /Referenced column "nope".*\n\nLINE 2: {3}nope FROM events\n {10}\^$/s,
  ],
  ["SELECT ? FROM nosuch", ["long text"], /"nosuch" at line 1, column 15:/],
  ["SELECT $1, getenv('x')", ["long text"], /"getenv" at line 1, column 12:/],
  [
    "SELECT raw FROM events WHERE raw = $1 AND year(host) = 1",
    ["a long text"],
    /LINE 1: SELECT raw FROM events WHERE raw = \$1 AND year\(host\) = 1\n {50}\^$/,
  ],
  ["DESCRIBE SELECT $1, nope FROM events", ["x"], /LINE 1: DESCRIBE .*\n {28}\^$/],
];

Deno.test({
  name: "a mistake beside parameters is told where it stands in the caller's text",
  async fn() {
    await using lab = await openLab();
    for (const [sql, parameters, message] of MISTAKES) {
      await assert.rejects(lab.query(sql, { parameters }), { message }, sql);
    }
  },
});

Deno.test({
  name: "a statement with a bounded call takes parameters as any other does",
  async fn() {
    await using lab = await openLab();
    const { rows, columns } = await lab.query(
      "SELECT repeat($1, $2), regexp_replace(raw, 'a', $3) AS r FROM events LIMIT 1",
      { parameters: ["ab", 2, "a replacement that is not short"] },
    );
    assert.equal(rows[0]?.[0], "abab");
    assert.equal(columns[1], "r");
  },
});
