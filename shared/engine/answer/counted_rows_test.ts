/**
 * Rows that are counts of summaries are written without DuckDB, byte for byte as DuckDB does. As
 * lines DuckDB writes them itself.
 */

import assert from "node:assert/strict";
import { textOf } from "../../base/bytes.ts";
import type { EngineConnection, EngineDatabase, EngineDriver } from "../duckdb/driver.ts";
import type { RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { nativeDriver } from "../duckdb/native_driver.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import type { TextShape } from "../types.ts";

const MINUTE_NS = 60_000_000_000n;
const START_NS = 1_790_000_040_000_000_000n;

const HOSTS = [
  ...["a", "A", "", " ", "ä", "z", 'quo"te', "back\\slash", "back\\u001fslash", "/", "\u2028"],
  ...["tab\t", "line\n", "\r\f\b", "\u0001\u000b\u001f\u007f", "\uff5e", "😀", "🀀a", "日本"],
  ...["null", null],
];

/** First minutes of a day each: some before 1970 and far ahead as well. */
const FIRST_NS = [START_NS, START_NS + 5n * MINUTE_NS, -120n * MINUTE_NS, 9_000_000n * MINUTE_NS];

/** Some rows of each host, of some minutes from `first` on. */
function events(first: bigint): RowObject[] {
  const rows = HOSTS.flatMap((host, n) =>
    Array.from({ length: 1 + (n * 7) % 4 }, (_, row) => {
      const ns = first + BigInt(row) * MINUTE_NS / 2n;
      const raw = n % 3 === 0 ? "a login failed" : "a login";
      const source = `source-${n % 3}`;
      const others = { sourcetype: "t", index: "main", attributes: null };
      return { timestamp: ns / 1_000n, timestamp_ns: ns, host, source, raw, ...others };
    })
  );
  return rows.sort((one, other) => Number(one.timestamp_ns - other.timestamp_ns));
}

async function filledLab(driver: EngineDriver): Promise<EngineLab> {
  const lab = await EngineLab.open({ engine: { driver } });
  // A table in which a row may have no host.
  const columns = EVENTS_SCHEMA.columns.map((column) =>
    column.name === "host" ? { ...column, required: false } : column
  );
  const ident = { namespace: "svc", name: "events" };
  const table = { ident, schema: { ...EVENTS_SCHEMA, columns } };
  for (const first of FIRST_NS) await lab.commitRows(events(first), { ...table, derived: true });
  return lab;
}

const MINUTE = "date_trunc('minute', timestamp)";
const AT = (ns: bigint) => `make_timestamptz(${ns / 1_000n})`;

/** Statements whose rows have one order. */
const ORDERED = [
  "SELECT count(*) FROM events",
  "SELECT count(*) AS n, count(*) FROM events WHERE match_terms(raw, 'failed')",
  `SELECT count(*) FROM events WHERE timestamp < ${AT(START_NS)}`,
  "SELECT count(*) FROM events WHERE timestamp < '1900-01-01'",
  "SELECT host, count(*) FROM events WHERE timestamp < '1900-01-01' GROUP BY host",
  "SELECT count(*) FROM events LIMIT 0",
  "SELECT count(*) FROM events LIMIT 3 OFFSET 1",
  "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY host",
  "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY host DESC",
  "SELECT host h, count(*) AS n FROM events GROUP BY 1 ORDER BY h NULLS FIRST LIMIT 7 OFFSET 2",
  "SELECT count(*) n, e.host FROM events e GROUP BY ALL ORDER BY 1 DESC, 2 ASC NULLS LAST",
  "SELECT HOST FROM events GROUP BY Host ORDER BY hOST DESC NULLS FIRST",
  `SELECT ${MINUTE} AS m, count(*) AS n FROM events GROUP BY m ORDER BY m`,
  `SELECT ${MINUTE}, count(*) FROM events GROUP BY ALL ORDER BY ${MINUTE} DESC`,
  `SELECT ${MINUTE} AS m, host AS h, count(*) FROM events GROUP BY ALL ORDER BY h DESC, m`,
  "SELECT source, host, count(*) AS n FROM events GROUP BY 1, host ORDER BY n, source, host",
  "SELECT count(*) AS n FROM events GROUP BY host ORDER BY n",
] as const;

/** Statements whose rows have any order. */
const UNORDERED = [
  "SELECT source, count(*) AS n FROM events GROUP BY source",
  `SELECT ${MINUTE}, source, count(*) FROM events GROUP BY ALL`,
  "SELECT host, source FROM events GROUP BY ALL",
] as const;

/** Statements that are left to DuckDB, though they look like others. */
const LEFT = [
  "SELECT host, count(*) AS n FROM events GROUP BY host HAVING count(*) > 3 ORDER BY host",
  "SELECT DISTINCT source FROM events ORDER BY source",
  "SELECT host, count(*) AS n FROM events WHERE host > 'b' GROUP BY host ORDER BY host",
  "SELECT host, count(*) FILTER (source = 'source-1') FROM events GROUP BY host ORDER BY host",
  "SELECT host, count(source) FROM events GROUP BY host ORDER BY host",
  "SELECT host, count(*) + 1 FROM events GROUP BY host ORDER BY host",
  "SELECT host, count(*) FROM events GROUP BY host ORDER BY ALL",
  "SELECT host AS source, source AS host FROM events GROUP BY ALL ORDER BY source, host",
  "SELECT host, count(*) FROM events GROUP BY host ORDER BY upper(host), host",
] as const;

Deno.test("countedRows writes the bytes that DuckDB writes", async (t) => {
  let asked = 0;
  await using lab = await filledLab(countingDriver(() => asked += 1));
  const textsOf = async (sql: string, shape: TextShape) => {
    await using prepared = await lab.prepare(sql);
    await using running = await prepared.run();
    let texts = "";
    for await (const chunk of running.chunks(shape)) texts += textOf(chunk.bytes());
    return texts;
  };
  for (const sql of [...ORDERED, ...UNORDERED, ...LEFT]) {
    await t.step(sql, async () => {
      const before = asked;
      const own = await textsOf(sql, "arrays");
      assert.equal(asked - before, isIn(LEFT, sql) ? 1 : 0, "what DuckDB ran");
      const lines = (await textsOf(sql, "array_lines")).split(",\n").filter((row) => row !== "");
      assert.equal(asked - before, isIn(LEFT, sql) ? 2 : 1, "what DuckDB ran");
      if (!isIn(UNORDERED, sql)) assert.equal(own, lines.map((row) => `${row},`).join(""));
      // No value has a bracket.
      else assert.deepEqual(own.match(/\[[^\]]*\]/g)?.sort(), lines.sort());
    });
  }
});

Deno.test("countedRows gives no more rows than are wanted", async () => {
  await using lab = await filledLab(countingDriver(() => {}));
  const { rows } = await lab.query("SELECT host, count(*) FROM events GROUP BY ALL ORDER BY host", {
    rowsMax: 2,
  });
  // One more tells that there are others.
  assert.deepEqual(rows.map(([host]) => host), ["", "\u0001\u000b\u001f\u007f", "\r\f\b"]);
});

function isIn(statements: readonly string[], sql: string): boolean {
  return statements.includes(sql);
}

/** A driver that calls `onRows` whenever a statement runs. */
function countingDriver(onRows: () => void): EngineDriver {
  const driver = nativeDriver({ readFile: (path) => Deno.readFile(path) });
  const counted = (connection: EngineConnection): EngineConnection =>
    new Proxy(connection, {
      get(target, member) {
        if (member === "rows") onRows();
        const value: unknown = Reflect.get(target, member);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const countedDatabase = (database: EngineDatabase): EngineDatabase =>
    new Proxy(database, {
      get(target, member) {
        if (member === "connect") {
          return async (...args: Parameters<EngineDatabase["connect"]>) =>
            counted(await target.connect(...args));
        }
        const value: unknown = Reflect.get(target, member);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return {
    open: async (options) => countedDatabase(await driver.open(options)),
  };
}
