import { deepStrictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const ATTRIBUTES = JSON.stringify({
  "http.status": 200,
  nested: { a: [1, "x"] },
  'q"uote': "q",
  "sl/ash": "s",
  "til~de": "t",
  "": "empty",
  "0": "zero",
  nothing: null,
  flag: true,
  big: "x",
}).replace(`"big":"x"`, `"big":9223372036854775807`);

/**
 * docs/api/query.md#functions; date_bin's bins are PostgreSQL's documented
 * ones.
 */
const CASES: readonly (readonly [value: unknown, sql: string])[] = [
  ["200", "attr_get(a, 'http.status')"],
  [null, "attr_get(a, 'http')"],
  [null, "attr_get(a, 'absent')"],
  [null, "attr_get(a, 'nothing')"],
  ['{"a":[1,"x"]}', "attr_get(a, 'nested')"],
  [null, "attr_get(a, 'nested.a')"],
  ["q", `attr_get(a, 'q"uote')`],
  ["s", "attr_get(a, 'sl/ash')"],
  ["t", "attr_get(a, 'til~de')"],
  ["empty", "attr_get(a, '')"],
  ["five", `attr_get('{"5":"five"}', 5)`],
  ["zero", "attr_get(a, '0')"],
  ["true", "attr_get(a, 'flag')"],
  ["9223372036854775807", "attr_get(a, 'big')"],
  [null, "attr_get(NULL, 'flag')"],
  [null, "attr_get('plain text', 'flag')"],
  [null, "attr_get('', 'flag')"],
  [null, "attr_get('{\"flag\": 1', 'flag')"],
  [null, `attr_get('{"flag": "\\ud800"}', 'flag')`],
  [
    "1",
    `(SELECT max(attr_get(x, 'a')) FROM unnest(['no json', '{"a": 1}', '{"a": "\\udc00"}', NULL]) t(x))`,
  ],
  ["1", `attr_get((SELECT '{"a": 1}'), 'a')`],
  [null, "attr_get(a, NULL)"],
  ["200", "attr_get(a, lower('HTTP.STATUS'))"],
  [null, "attr_get(a, '*')"],

  ["alice", "kv_extract('user=alice id=7', 'user')"],
  ["7", "kv_extract('user=alice id=7', 'id')"],
  ["7", "kv_extract('user_id=3 x.id=4 a-id=5 id=7', 'id')"],
  ["a b", `kv_extract('m="a b" c=1', 'm')`],
  [`a "b" \\c`, `kv_extract('m="a \\"b\\" \\\\c" c=1', 'm')`],
  ["a b", `kv_extract('m=''a b'' c=1', 'm')`],
  ["root", "kv_extract('[user=root, uid=0]', 'user')"],
  ["0", "kv_extract('[user=root, uid=0]', 'uid')"],
  ["", "kv_extract('ruser= rhost=1.2.3.4', 'ruser')"],
  ["1.2.3.4", "kv_extract('ruser= rhost=1.2.3.4', 'rhost')"],
  ["", `kv_extract('m=""', 'm')`],
  ["2", "kv_extract('GET /x?a=1&b=2 200', 'b')"],
  [null, "kv_extract('no pairs here', 'user')"],
  [null, "kv_extract(NULL, 'user')"],
  [null, "kv_extract('user=a', NULL)"],
  ["v", "kv_extract('a.b+c=v', 'a.b+c')"],
  [null, "kv_extract('axb=v', 'a.b')"],
  ["é漢", "kv_extract('k=é漢 l=1', 'k')"],

  ["2026-11-20T21:04:05.123456789Z", "to_timestamp_nanos(1795208645123456789)"],
  ["1970-01-01T00:00:00.000000000Z", "to_timestamp_nanos(0)"],
  [null, "to_timestamp_nanos(NULL)"],

  ["2020-02-11T15:30:00.000000Z", "date_bin('15 minutes', TIMESTAMP '2020-02-11 15:44:17')"],
  [
    "2020-02-11T15:32:30.000000Z",
    "date_bin(INTERVAL '15 minutes', TIMESTAMP '2020-02-11 15:44:17', TIMESTAMP '2001-01-01 00:02:30')",
  ],
  ["1969-12-31T23:45:00.000000Z", "date_bin('15 minutes', TIMESTAMPTZ '1969-12-31 23:59:00Z')"],
  ["2026-11-20T00:00:00.000000Z", "date_bin('1 day', TIMESTAMPTZ '2026-11-20 21:04:05Z')"],
  ["2026-11-19T00:00:00.000000Z", "date_bin('1 week', TIMESTAMPTZ '2026-11-20 21:04:05Z')"],
  ["2026-11-01T00:00:00.000000Z", "date_bin('1 month', TIMESTAMPTZ '2026-11-20 21:04:05Z')"],
  [
    "2026-11-20T21:04:05.120000Z",
    "date_bin('10 milliseconds', TIMESTAMP '2026-11-20 21:04:05.129')",
  ],
  [
    "1999-12-31T12:00:00.000000Z",
    "date_bin('1 day', TIMESTAMP '2000-01-01 11:59:59', TIMESTAMP '2020-01-01 12:00:00')",
  ],
  [null, "date_bin('1 day', NULL::TIMESTAMP)"],

  [3, "(SELECT approx_distinct(x) FROM unnest([1, 2, 3, 3]) t(x))"],
  [1, "(SELECT approx_distinct(x) FILTER (WHERE x = 3) FROM unnest([1, 2, 3, 3]) t(x))"],
  [2, "(SELECT approx_median(x) FROM unnest([1, 2, 3]) t(x))"],
  ["a", "btrim('  a ')"],
  [1, "nvl(NULL, 1)"],
  [true, "regexp_like('abc', 'b')"],
  ["1970-01-01T00:00:01.000000Z", "to_timestamp_seconds(1)"],
  ["1970-01-01T00:00:00.001000Z", "to_timestamp_millis(1)"],
  ["1970-01-01T00:00:00.000001Z", "to_timestamp_micros(1)"],
  [1, "to_unixtime(TIMESTAMPTZ '1970-01-01 00:00:01.9Z')"],
];

Deno.test({
  name: "dialect functions by value",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    const text = ATTRIBUTES.replaceAll("'", "''");
    for (const [value, sql] of CASES) {
      await t.step(sql, async () => {
        const answer = await lab.query(`SELECT ${sql} FROM (SELECT '${text}' AS a)`);
        deepStrictEqual(answer.rows, [[value]]);
      });
    }
  },
});
