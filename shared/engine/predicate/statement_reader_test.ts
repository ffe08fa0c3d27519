/**
 * What statements read of attributes, found in their text, where a promoted column would serve
 * them.
 */

import assert from "node:assert/strict";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import { openStatementReader } from "./statement_reader.ts";

/** Statement, and `table: attributes` that it reads; none when absent. */
const CASES: readonly [sql: string, reads?: string][] = [
  ["SELECT raw FROM events WHERE attr_get(attributes, 'a') = '1'", "events: a"],
  [
    "SELECT count(*) FROM Events e WHERE lower(ATTR_GET(e.attributes, 'a.b')) LIKE 'x%' OR attr_get(attributes, 'c') IS NULL OR attr_get(attributes, 'c') = '2'",
    "events: a.b, c",
  ],
  ["EXPLAIN SELECT raw FROM svc.events WHERE attr_get(attributes, 'a') = '1';", "events: a"],
  ["WITH w AS (SELECT 1) SELECT raw FROM logs WHERE attr_get(attributes, 'a') > '1'", "logs: a"],
  ["SELECT raw FROM acme.events WHERE attr_get(attributes, 'a') = '1'"],
  ["SELECT attr_get(attributes, 'a') FROM events"],
  ["SELECT attr_get(attributes, 'a') AS a, count(*) FROM events GROUP BY a", "events: a"],
  [
    "SELECT count(*) FROM events WHERE attr_get(attributes, 'b') <> '' GROUP BY attr_get(attributes, 'a')",
    "events: b, a",
  ],
  ["SELECT attr_get(attributes, 'a') AS a, count(*) FROM events GROUP BY ALL", "events: a"],
  ["SELECT attr_get(attributes, 'a'), count(*) FROM events GROUP BY 1"],
  ["SELECT raw FROM events WHERE attr_get(attributes, raw) = '1'"],
  ["SELECT raw FROM events WHERE attr_get(raw, 'a') = '1'"],
  ["SELECT raw FROM events WHERE raw IN (SELECT attr_get(attributes, 'a') FROM events)"],
  ["SELECT raw FROM events, logs WHERE attr_get(events.attributes, 'a') = '1'"],
  ["SELECT raw FROM (SELECT * FROM events) t WHERE attr_get(attributes, 'a') = '1'"],
  ["SELECT raw FROM events WHERE 'attr_get(attributes, ''a'')' = raw"],
  ["SELECT raw FROM events WHERE attr_get(attributes, 'a'"],
  ["SELECT attr_get(attributes, 'a') FROM read_text('/etc/passwd') WHERE true"],
  ["DROP TABLE attr_get"],
  ["attr_get \0"],
  [`SELECT 1 FROM events WHERE ${"(".repeat(3_000)}attr_get(attributes, 'a')`],
  ["SELECT 1"],
];

Deno.test({
  name:
    "attributes of a statement are those that its WHERE reads of its one table, and all where it groups",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-statements-" });
    try {
      await using reader = await openStatementReader({
        files: new DenoFileSystem(),
        scratchDir: `${dir}/engine`,
      });
      const found = await reader.attributes(CASES.map(([sql]) => sql), { namespace: "svc" });
      assert.equal(found.length, CASES.length);
      for (const [at, [sql, expected]] of CASES.entries()) {
        const one = found[at];
        const text = one === undefined
          ? undefined
          : `${one.table}: ${[...one.attributes].join(", ")}`;
        assert.equal(text, expected, sql);
      }
      const stopped = AbortSignal.abort(new Error("stopped"));
      await assert.rejects(
        reader.attributes(CASES.map(([sql]) => sql), { namespace: "svc", signal: stopped }),
        /stopped/,
      );
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
