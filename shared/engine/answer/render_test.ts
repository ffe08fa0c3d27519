import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { textOf } from "../../base/bytes.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { csvHeader, uniqueNames } from "./render.ts";

/** Expression and the JSON text of its value, as docs/api/README.md#conventions says. */
const VALUES: readonly (readonly [json: string, sql: string])[] = [
  ["null", "NULL"],
  ["true", "true"],
  ["-128", "(-128)::TINYINT"],
  ["9223372036854775807", "9223372036854775807"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["18446744073709551615", "18446744073709551615::UBIGINT"],
  ["170141183460469231731687303715884105727", "170141183460469231731687303715884105727::HUGEINT"],
  ["1.10", "1.10::DECIMAL(18, 2)"],
  ["0.5", ".5"],
  ["-0.05", "(-0.05)::DECIMAL(2, 2)"],
  ["0.00", "0::DECIMAL(2, 2)"],
  [`{"a":[0.5,null]}`, "{'a': [.5, NULL]}"],
  ["12345678901234567890.123456789", "12345678901234567890.123456789::DECIMAL(38, 9)"],
  ["0.1", "0.1::DOUBLE"],
  ["0.1", "0.1::FLOAT"],
  ["1e300", "1e300"],
  ["-0.0", "-0.0::DOUBLE"],
  ["1e22", "10000000000000000000000::DOUBLE"],
  ["9007199254740993", "9007199254740993"],
  ["null", "'NaN'::DOUBLE"],
  ["null", "'-Infinity'::FLOAT"],
  [`"a\\"b\\\\c\\nd é 漢 \\u0001"`, `'a"b\\c' || chr(10) || 'd é 漢 ' || chr(1)`],
  [`"2026-11-20T21:04:05.123456Z"`, "TIMESTAMPTZ '2026-11-20 22:04:05.123456+01'"],
  [`"2026-11-20T21:04:05.000000Z"`, "TIMESTAMP '2026-11-20 21:04:05'"],
  [`"2026-11-20T21:04:05.123000Z"`, "'2026-11-20 21:04:05.123'::TIMESTAMP_MS"],
  [`"2026-11-20T21:04:05.000000Z"`, "'2026-11-20 21:04:05'::TIMESTAMP_S"],
  [`"3026-11-20T21:04:05.123000Z"`, "'3026-11-20 21:04:05.123'::TIMESTAMP_MS"],
  [`["0001-01-01T00:00:00.000000Z"]`, "['0001-01-01 00:00:00'::TIMESTAMP_S]"],
  [`"2026-11-20T21:04:05.123456789Z"`, "'2026-11-20 21:04:05.123456789'::TIMESTAMP_NS"],
  [`"2026-11-20"`, "DATE '2026-11-20'"],
  [`"21:04:05.5"`, "TIME '21:04:05.5'"],
  [`"P14M3DT4.5S"`, "INTERVAL '1 year 2 months 3 days 4.5 seconds'"],
  [`"P0M0DT-60S"`, "INTERVAL '-1 minute'"],
  [`"q80="`, "'\\xAB\\xCD'::BLOB"],
  [`"4ac7a9e9-607c-4c8a-84f3-843f0191e3fd"`, "'4ac7a9e9-607c-4c8a-84f3-843f0191e3fd'::UUID"],
  [`"101"`, "'101'::BIT"],
  [`"a"`, "'a'::ENUM('a', 'b')"],
  [`{"a":[1,2]}`, `'{"a":[1,2]}'::JSON`],
  ["[1,null,3]", "[1, NULL, 3]"],
  ["[]", "[]"],
  ["[1,2]", "[1, 2]::INTEGER[2]"],
  ["[null,1.5]", "['NaN'::DOUBLE, 1.5]"],
  [`[["2026-11-20T00:00:00.000000Z"],null]`, "[[TIMESTAMP '2026-11-20'], NULL]"],
  [`{"a":1,"b c":"x"}`, `{'a': 1, 'b c': 'x'}`],
  [`{"a":null,"b":"q80="}`, `{'a': 'NaN'::DOUBLE, 'b': '\\xAB\\xCD'::BLOB}`],
  [`[1,"a",null]`, "(1, 'a', NULL)"],
  [`{"a":[[1,2],null]}`, "{'a': [(1, 2), NULL]}"],
  ["null", "NULL::STRUCT(a INTEGER)"],
  [`[{"t":"2026-11-20T00:00:00.000000Z"}]`, "[{'t': TIMESTAMPTZ '2026-11-20 00:00:00Z'}]"],
  [`{"a":1,"b":2}`, "MAP {'a': 1, 'b': 2}"],
  [`{"1":"2026-11-20T00:00:00.000000Z"}`, "MAP {1: TIMESTAMP '2026-11-20'}"],
  ["null", "NULL::MAP(VARCHAR, INTEGER)"],
  ["{}", "MAP {}"],
  [`{"a":{"b":[1.50,null]}}`, "{'a': {'b': [1.50::DECIMAL(4, 2), NULL]}}"],
  [
    `{"a":[12345678901234567890.123456789]}`,
    "MAP {'a': [12345678901234567890.123456789::DECIMAL(38, 9)]}",
  ],
  [`[{"a":18446744073709551615}]`, "[{'a': 18446744073709551615::UBIGINT}]"],
  [`{"k\\"":"v\\n"}`, `MAP {'k"': 'v' || chr(10)}`],
  [`{"a":1}`, `('{"a":' || chr(10) || ' 1}')::JSON`],
  ["[[1,2],[]]", "[[1, 2], []]"],
  ["[[1.5,null]]", "[[1.5::DOUBLE, 'Infinity']::DOUBLE[2]]"],
];

Deno.test({
  name: "renderingSql JSON of each type",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    for (const [json, sql] of VALUES) {
      await t.step(sql, async () => {
        deepStrictEqual((await lab.query(`SELECT ${sql}`)).texts, [`[${json}]`]);
        // A semicolon before the end makes the engine write the statement anew, digit by digit.
        deepStrictEqual((await lab.query(`SELECT ${sql}; --`)).texts, [`[${json}]`]);
      });
    }
  },
});

/** Values of kinds that DuckDB's writer takes as they are, as texts or not at all. */
const ROW_VALUES = [
  "true",
  "(-128)::TINYINT",
  "-9223372036854775808",
  "18446744073709551615::UBIGINT",
  "0.1::FLOAT",
  "'NaN'::DOUBLE",
  "TIMESTAMPTZ 'infinity'",
  "'2026-11-20 21:04:05.123456789'::TIMESTAMP_NS",
  "INTERVAL '-1 minute'",
  "'\\xAB\\xCD'::BLOB",
  `'a"b\\c' || chr(10) || 'd é 漢 ' || chr(1) || chr(127)`,
];

Deno.test({
  name: "renderingSql writes values side by side as it writes each of them alone",
  fn: async () => {
    await using lab = await EngineLab.open();
    const linesOf = async (values: readonly string[], shape: "arrays" | "objects") => {
      await using prepared = await lab.prepare(
        `SELECT ${values.map((value, at) => `${value} AS "c ""${at}"`).join(", ")}`,
      );
      await using running = await prepared.run();
      let rows = "";
      for await (const chunk of running.chunks(shape)) rows += textOf(chunk.bytes());
      return rows;
    };
    const alone: string[] = [];
    for (const value of ROW_VALUES) {
      alone.push((await linesOf([value, "1::HUGEINT"], "arrays")).slice(1, -"1],".length - 1));
    }
    const all = [...ROW_VALUES, "NULL::VARCHAR"];
    const expected = [...alone, "null"];
    strictEqual(await linesOf(all, "arrays"), `[${expected.join(",")}],`);
    const members = expected.map((value, at) => `${JSON.stringify(`c "${at}`)}:${value}`);
    strictEqual(await linesOf(all, "objects"), `{${members.join(",")}}\n`);
  },
});

Deno.test({
  name: "renderingSql objects carry every column under its own name",
  fn: async () => {
    await using lab = await EngineLab.open();
    await using prepared = await lab.prepare(
      `SELECT 1 AS a, 2 AS a, 3 AS a_1, 'x' AS "it's ""q""", 4 AS "\x1f" -- and a comment`,
    );
    await using running = await prepared.run();
    let rows = "";
    for await (const chunk of running.chunks("objects")) rows += textOf(chunk.bytes());
    deepStrictEqual(rows, `{"a":1,"a_2":2,"a_1":3,"it's \\"q\\"":"x","\\u001f":4}\n`);
    const names = ["a", "a", "a_1", `it's "q"`, "\x1f"];
    deepStrictEqual(running.columns.map((column) => column.name), names);
  },
});

/** Expression and the cell of its value: texts in quotes, and nothing for NULL. */
const CELLS: readonly (readonly [cell: string, sql: string])[] = [
  ["", "NULL"],
  ["", "NULL::INTEGER[]"],
  ['""', "''"],
  ["true", "true"],
  ["-9223372036854775808", "-9223372036854775808"],
  ["0.50", "0.50::DECIMAL(2, 2)"],
  ["1e+300", "1e300"],
  ["nan", "'NaN'::DOUBLE"],
  ['"a ""b"", c\r\nd é 漢"', `'a "b", c' || chr(13) || chr(10) || 'd é 漢'`],
  ["2026-11-20T21:04:05.123456Z", "TIMESTAMPTZ '2026-11-20 22:04:05.123456+01'"],
  ["2026-11-20T21:04:05.123456789Z", "'2026-11-20 21:04:05.123456789'::TIMESTAMP_NS"],
  ["2026-11-20", "DATE '2026-11-20'"],
  ['"q80="', "'\\xAB\\xCD'::BLOB"],
  ['""', "''::BLOB"],
  ['"[1,null,3]"', "[1, NULL, 3]"],
  ['"{""a"":1,""b c"":""x""}"', `{'a': 1, 'b c': 'x'}`],
  ['"{""a"":[1,2]}"', `'{"a":[1,2]}'::JSON`],
  ['"a"', "'a'::ENUM('a', 'b')"],
];

Deno.test({
  name: "renderingSql writes each value of the table as a cell of a CSV file",
  fn: async () => {
    await using lab = await EngineLab.open();
    const csvOf = async (sql: string) => {
      await using prepared = await lab.prepare(sql);
      await using running = await prepared.run();
      let rows = "";
      for await (const chunk of running.chunks("csv")) rows += textOf(chunk.bytes());
      return csvHeader(running.columns.map(({ name }) => name)) + rows;
    };
    for (const [cell, sql] of CELLS) {
      strictEqual(
        await csvOf(`SELECT ${sql} AS "a ""b""", 1 AS n`),
        `"a ""b""","n"\r\n${cell},1\r\n`,
      );
    }
    strictEqual(await csvOf("SELECT 1 AS a WHERE false"), '"a"\r\n');
  },
});

Deno.test({
  name: "renderingSql keeps the statement's order over many chunks and stops one past rowsMax",
  fn: async () => {
    await using lab = await EngineLab.open();
    const sql = "SELECT i FROM range(100000) t(i) ORDER BY i DESC";
    const { rows } = await lab.query(sql, { rowsMax: 50_000 });
    strictEqual(rows.length, 50_001);
    deepStrictEqual(
      rows.map((row) => row[0]),
      Array.from({ length: 50_001 }, (_, i) => 99_999 - i),
    );
  },
});

Deno.test({
  name: "uniqueNames renames only what repeats",
  fn: () => {
    deepStrictEqual(uniqueNames(["a", "b"]), ["a", "b"]);
    deepStrictEqual(uniqueNames(["a", "a", "a"]), ["a", "a_1", "a_2"]);
    deepStrictEqual(uniqueNames(["a", "a", "a_1"]), ["a", "a_2", "a_1"]);
  },
});
