import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { VALUE_MADE_MAX } from "../limits.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

/**
 * Statements that say too much of themselves, and what they are told: the function, the value, the
 * remedy.
 */
const REFUSED: readonly (readonly [sql: string, reason: string, message: RegExp])[] = [
  [
    `SELECT ${"hex(".repeat(11)}raw${")".repeat(11)} FROM events`,
    "value_too_large",
    /^Cannot call hex at line 1, column 8: .* 2048 times what it is given, and 1024 times/,
  ],
  [
    `SELECT bin(bin('${"x".repeat(40_000)}'))`,
    "value_too_large",
    /^Cannot call bin.* 1048576 bytes of a constant/,
  ],
  [
    "SELECT [[[[[a + b + c + d + e FOR a IN l] FOR b IN l] FOR c IN l] FOR d IN l] FOR e IN l] FROM (SELECT [1] AS l)",
    "value_too_large",
    /^Cannot run the lambda.*nested deeper than 4 levels; use unnest/,
  ],
  [
    `SELECT ${"kv_extract(".repeat(9)}raw${", 'a')".repeat(9)} FROM events`,
    "statement_too_large",
    /written out, are more than 8192 expressions/,
  ],
  [
    `WITH a0 AS (SELECT 1 AS x) ${
      Array.from(
        { length: 20 },
        (_, i) => `, a${i + 1} AS (SELECT {'p': x, 'q': x} AS x FROM a${i})`,
      )
        .join("")
    } SELECT x FROM a20`,
    "value_too_large",
    /structs.*more than 4096 members/,
  ],
  [
    "SELECT x || x FROM (SELECT y || y AS x FROM (SELECT repeat(z, 30000) || repeat(z, 30000) AS y FROM (SELECT host AS z FROM events)))",
    "harmless",
    /^/,
  ],
  [
    "SELECT length(hex(hex(x))) FROM (SELECT repeat(raw, 8000) || repeat(raw, 8000) || repeat(raw, 8000) || repeat(raw, 8000) || repeat(raw, 8000) AS x FROM events)",
    "statement_failed",
    /hex would make more than 1048576 bytes of values that the statement made before: shorten them with left/,
  ],
  [
    "SELECT list_transform(l, lambda x: list_transform(l, lambda y: x + y)) FROM (SELECT list(i) AS l FROM range(300) t(i))",
    "statement_failed",
    /a lambda within 2 levels of lambdas takes lists of up to 256 elements, and this one has 300: use unnest/,
  ],
  [
    "SELECT list_transform(l, lambda x: r || x) FROM (SELECT list(i::VARCHAR) AS l, repeat('x', 60000) AS r FROM range(300) t(i))",
    "statement_failed",
    /a lambda takes 60000 bytes from outside for each of 300 elements, at most 1048576 in all/,
  ],
  [
    "SELECT list_transform(['a', 'b'], lambda x: repeat(x, 300))",
    "statement_failed",
    /repeat would make more than 256 characters for each element of a list/,
  ],
  [
    "SELECT jaro_similarity(repeat(raw, 4000), repeat(raw, 4000)) FROM events",
    "statement_failed",
    /jaro_similarity compares at most 8388608 pairs of bytes, and its arguments have 32000 and 32000 bytes/,
  ],
  [
    "SELECT contains(repeat(raw, 8000), repeat(raw, 4000)) FROM events",
    "statement_failed",
    /a text of 32000 bytes is not looked for in one of 64000/,
  ],
];

Deno.test({
  name: "values that would grow too much are refused by function, value and remedy",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, host: "h", raw: "12345678" }]);
    for (const [sql, reason, message] of REFUSED) {
      await t.step(sql.slice(0, 100), async () => {
        if (reason === "harmless") return void await lab.query(sql);
        await rejects(lab.query(sql), (error: Error & { reason?: string; code?: string }) => {
          deepStrictEqual([error.code, error.reason], ["invalid_argument", reason]);
          match(error.message.replace(/^Invalid Input Error: /, ""), message);
          return true;
        });
      });
    }
  },
});

/** Statements as people write them, with what they answer. */
const ORDINARY:
  readonly (readonly [sql: string, columns: readonly string[], row: readonly unknown[]])[] = [
    [
      "SELECT r || ':' || r AS a, a || '!' AS b FROM (SELECT raw AS r FROM events)",
      ["a", "b"],
      ["12345678:12345678", "12345678:12345678!"],
    ],
    ["SELECT lpad(host, 3, '0') AS a, a || '!' AS b FROM events", ["a", "b"], ["00h", "00h!"]],
    [
      "SELECT upper(x) || y FROM (SELECT host AS x, raw AS y FROM events)",
      ["(upper(x) || y)"],
      ["H12345678"],
    ],
    [
      `SELECT ${"replace(".repeat(30)}raw${", '1', '2')".repeat(30)} AS a FROM events`,
      ["a"],
      ["22345678"],
    ],
    [
      "SELECT replace(replace(replace(replace(raw, '1', '&amp;'), '2', '&lt;'), '3', '&quot;'), '4', '&#39;') AS a FROM events",
      ["a"],
      ["&amp;&lt;&quot;&#39;5678"],
    ],
    [
      "SELECT list_transform(string_split(raw, '4'), lambda x: upper(x) || host) AS a FROM events",
      ["a"],
      [["123h", "5678h"]],
    ],
    [
      "SELECT list_transform([1, 2], lambda x: list_transform([10], lambda y: x * y + strlen(raw))) AS a FROM events",
      ["a"],
      [[[18], [28]]],
    ],
    ["SELECT list_filter([1, 2, 3], lambda x, i: i > 1 AND x < strlen(raw)) AS a FROM events", [
      "a",
    ], [[2, 3]]],
    [
      "SELECT json_object('raw', r, 'host', h, 'both', r || h) AS a FROM (SELECT raw AS r, host AS h FROM events)",
      ["a"],
      [{ raw: "12345678", host: "h", both: "12345678h" }],
    ],
    [
      "SELECT '[' || string_agg(host, ',') || '|' || string_agg(raw, ',') || ']' AS a FROM events",
      ["a"],
      ["[h|12345678]"],
    ],
    [
      "SELECT (SELECT max(raw) FROM events) || (SELECT max(host) FROM events) AS a",
      ["a"],
      ["12345678h"],
    ],
    [
      "SELECT x || x AS a, count(*) AS n FROM (SELECT host AS x FROM events) GROUP BY x || x ORDER BY x || x",
      ["a", "n"],
      ["hh", 1],
    ],
    [
      "SELECT contains(raw, host), instr(raw, host), split_part(raw, host || '', 1) FROM events",
      ["contains(raw, host)", "instr(raw, host)", "split_part(raw, (host || ''), 1)"],
      [false, 0, "12345678"],
    ],
    ["SELECT list_concat(l, l) AS a, [l, l] AS b FROM (SELECT [1] AS l)", ["a", "b"], [[1, 1], [
      [1],
      [1],
    ]]],
    ["SELECT x || x AS a FROM (SELECT '\\x01'::BLOB AS x)", ["a"], ["AQE="]],
    ["SELECT jaro_similarity('ab', 'ab') AS a, jaro_winkler_similarity('ab', 'ab', 0.5) AS b", [
      "a",
      "b",
    ], [1, 1]],
  ];

Deno.test({
  name: "ordinary statements answer what they did, under the names that they had",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, host: "h", raw: "12345678" }]);
    for (const [sql, columns, row] of ORDINARY) {
      await t.step(sql.slice(0, 100), async () => {
        const answer = await lab.query(sql);
        deepStrictEqual(answer.columns, columns);
        deepStrictEqual(answer.rows, [row]);
      });
    }
  },
});

Deno.test({
  name: "what is made of stored columns alone is not measured, and what is made of them again is",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{
      ns: 1_790_000_000_000_000_000n,
      host: "h",
      raw: "x".repeat(VALUE_MADE_MAX - 1_000),
    }]);
    for (
      const sql of [
        "SELECT strlen(raw || ' ' || host || raw) FROM events",
        "SELECT strlen(json_object('a', raw, 'b', json_object('c', raw))) FROM events",
        "SELECT strlen(hex(raw)) FROM (SELECT raw FROM events WHERE host = 'h')",
        "SELECT strlen('[' || string_agg(raw, ',') || raw || ']') FROM events GROUP BY raw",
      ]
    ) strictEqual(Number((await lab.query(sql)).rows[0]?.[0]) > VALUE_MADE_MAX, true, sql);
    for (
      const sql of [
        "SELECT x || x FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT upper(raw) AS x, hex(x) FROM events",
        "SELECT hex(string_agg(raw, ',')) FROM events",
        "SELECT max(x || x) FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT first_value(x || x) OVER () FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT lpad(x || x, 5, ' ') FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT CASE WHEN x || x = 'a' THEN 1 END FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT max(length(x || x)) FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT unnest([x, x]) FROM (SELECT upper(raw) AS x FROM events)",
        "SELECT 1 FROM (SELECT upper(raw) AS x FROM events) ORDER BY x || x",
        "SELECT [x || y || x FOR y IN ['a']] FROM (SELECT upper(raw) AS x FROM events)",
      ]
    ) await rejects(lab.query(sql), { reason: "statement_failed" }, sql);
  },
});
