import assert from "node:assert/strict";
import fc from "fast-check";
import { openDuckdbConnection } from "../../testing/duckdb_connection.ts";
import { shapeOf } from "./statement_shape.ts";
import { StatementCache } from "./statement_cache.ts";

const fragment = fc.constantFrom(
  ...[
    "SELECT ",
    "DATE ",
    "TIMESTAMP ",
    "x'",
    "E'",
    "'",
    '"',
    "$$",
    "$a$",
    "--",
    "\n",
    "/*",
    "*/",
    "::DATE",
    "::BLOB",
    "BIT",
    "U&'",
  ],
  ...[" AS ", "timestamp", ">", ",", " ", "FROM t WHERE ", "''", "1", "(", ")", "[", "]", ":"],
);
const instant = fc.constantFrom(
  ...["2026-11-20", "2026-11-21", "2026-11-20 10:00:00", "2026-11-20T10:00:00Z", "0001-00-00"],
  ...["2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.123456789Z", "0001-00-00T00:00:00Z"],
);
const id = fc.constantFrom(
  ...[
    "30c944061cc093c3cd396deb28680f9e",
    "deadbeefdeadbeef",
    "00000000",
    "ab1fffff",
    "1e10",
    "ABCDEF01",
  ],
);
const quoted = fc.oneof(instant, id).map((text) => `'${text}'`);
const identifier = fc.oneof(instant, id).map((text) => `"${text}"`);
const likely = fc.tuple(quoted, fc.oneof(quoted, identifier), instant).map(([from, to, more]) =>
  `SELECT ${to} AS "${more}", '${more}'::DATE FROM t /* ${from} */ WHERE timestamp >= ${from} -- ${to}`
);
const anything = fc.array(fc.oneof(fragment, quoted, identifier, instant, id), { maxLength: 12 })
  .map((parts) => parts.join(""));

Deno.test({
  name: "StatementCache: a tree made of another statement's shape = its own, and so its text",
  async fn() {
    await using lab = await openDuckdbConnection();
    const { connection } = lab;
    const cache = new StatementCache();
    await fc.assert(
      fc.asyncProperty(fc.oneof(likely, anything), async (sql) => {
        const own = await connection.serialize(sql);
        assert.equal(await cache.tree(connection, sql), own);
        if (!own.includes('"node"')) return;
        assert.equal(await cache.text(connection, own), await connection.deserialize(own));
      }),
      { numRuns: Number(Deno.env.get("SVC_TEST_RUNS") ?? 300) },
    );
  },
});

Deno.test({
  name: "shapeOf is one for all instants of a form, and none where it could not be undone",
  fn() {
    const between = (from: string, to: string) => `SELECT 1 WHERE t >= '${from}' AND t < '${to}'`;
    const [a, b] = [
      shapeOf(between("2026-11-20T10:00:00Z", "2026-11-21")),
      shapeOf(between("2025-01-02T03:04:05Z", "2026-11-20")),
    ];
    assert.equal(a?.text, b?.text);
    assert.equal(a?.restored(a.text), between("2026-11-20T10:00:00Z", "2026-11-21"));
    assert.notEqual(a?.text, shapeOf(between("2026-11-20T10:00:00.5Z", "2026-11-21"))?.text);
    const trace = (one: string) => `FROM t WHERE id = '${one}'`;
    const [c, d] = [shapeOf(trace("0123456789abcdef")), shapeOf(trace("fedcba9876543210"))];
    assert.equal(c?.text, d?.text);
    assert.equal(c?.restored(c.text), trace("0123456789abcdef"));
    assert.notEqual(c?.text, shapeOf(trace("0123456789abcdef0"))?.text);
    assert.equal(c?.restored("what a BLOB is written as"), undefined);
    for (
      const sql of [
        "SELECT 1",
        "SELECT '2026-11-20', '0001-00-00'",
        "SELECT '2026-11-2'",
        "SELECT x'0123456789abcdef'",
        "SELECT 'ABCDEF012345'",
        "SELECT '2026-11-20', '0001-00'\n'-00'",
        "SELECT E'\\0', '2026-11-20'",
      ]
    ) {
      assert.equal(shapeOf(sql), undefined, sql);
    }
    assert.equal(shapeOf(`SELECT ${Array(9).fill("'2026-11-20'").join()}`), undefined);
  },
});
