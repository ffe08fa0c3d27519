/**
 * `/api/v1/sql/distributed` of several real servers gives the rows, the columns and the types that
 * a server alone gives. A plain DuckDB over a plain copy gives the same rows. The tables have files
 * of several schemas and rows that only the WAL holds.
 */

import assert from "node:assert/strict";
import { tableFromIPC } from "apache-arrow";
import { QueryFleet } from "../apps/query_fleet.ts";
import { plainAnswer } from "./plain_rows.ts";
import { askRecords, assertSameRows, HEADERS } from "./sql_answers.ts";
import { SqlLab } from "./sql_lab.ts";
import { STATEMENTS } from "./sql_statements.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_123);
/** Numbers of servers: `query/distributed/README.md`, "Tests". */
const COUNTS = (Deno.env.get("SVC_TEST_SERVERS") ?? "3").split(",").map(Number);
/** A fleet is asked every so many of the statements, each time other ones. */
const EVERY = Number(Deno.env.get("SVC_TEST_EVERY") ?? 6);

interface Phases {
  readonly phases: {
    readonly distributed?: {
      readonly mode: string;
      readonly reason?: string;
      readonly shards?: readonly { readonly server: string }[];
    };
  };
}

/** Streams whose rows are those of all shards together, and how many rows they have. */
const STREAMS = [
  ["SELECT count(*) AS n FROM (SELECT * FROM events LIMIT 1000000)", () => 1],
  ["SELECT 'row' AS one FROM events OFFSET 5", (events: number) => events - 5],
  ["SELECT 'row' AS one FROM events LIMIT 3 OFFSET 2", () => 3],
] as const;

async function streamedRows(url: string, query: string): Promise<number> {
  const body = JSON.stringify({ query, format: "ndjson", default_order: false });
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  const lines = (await response.text()).trimEnd().split("\n");
  assert(lines.every((line) => !line.includes('"_meta"')), lines.at(-1));
  return lines.length;
}

async function arrowRows(url: string, query: string): Promise<number> {
  const body = JSON.stringify({ query, format: "arrow", default_order: false });
  const response = await fetch(url, { method: "POST", headers: HEADERS, body });
  return tableFromIPC(await response.bytes()).numRows;
}

for (const count of COUNTS) {
  Deno.test({
    name: `POST /api/v1/sql/distributed of ${count} servers gives the rows of a plain DuckDB`,
    fn: async (t) => {
      await using lab = await SqlLab.open(SEED);
      const args = ["--threads", "1", "--memory-pool-bytes", String(256 * 2 ** 20)];
      await using fleet = await QueryFleet.start({ dataDir: lab.dir, count, args });
      const modes = new Map<string, number>();
      const servers = new Set<string>();
      for (const [i, statement] of STATEMENTS.entries()) {
        if (i % EVERY !== count % EVERY) continue;
        await t.step(`${i}: ${statement.sql.slice(0, 120)}`, async () => {
          const base = `${fleet.at(i % count).url}/api/v1/sql`;
          const expected = await plainAnswer(lab.plain, statement.plain ?? statement.sql);
          const shared = await askRecords(`${base}/distributed`, statement.sql, { types: true });
          const alone = await askRecords(`${base}/local`, statement.sql, { types: true });
          assert.deepEqual(shared.columns, expected.columns);
          assert.deepEqual(shared.types, alone.types);
          assertSameRows(shared.rows, expected, statement);
          const { mode = "none", shards = [] } = (shared.stats as Phases).phases.distributed ?? {};
          modes.set(mode, (modes.get(mode) ?? 0) + 1);
          for (const { server } of shards) servers.add(server);
        });
      }
      const { rows: [[events] = []] } = await askRecords(
        `${fleet.at(0).url}/api/v1/sql/local`,
        "SELECT count(*)::VARCHAR FROM events",
      );
      for (const [sql, rowsOf] of STREAMS) {
        const found = await streamedRows(`${fleet.at(0).url}/api/v1/sql/distributed`, sql);
        assert.equal(found, rowsOf(Number(events)), sql);
      }
      // The limit is within the rows of the last shard.
      const limit = Number(events) - 1;
      const limited = `SELECT 'row' AS one FROM events LIMIT ${limit}`;
      assert.equal(await arrowRows(`${fleet.at(0).url}/api/v1/sql/distributed`, limited), limit);
      const asked = modes.values().reduce((sum, one) => sum + one, 0);
      // A server without others has nobody to share with.
      const [local, told] = [modes.get("local") ?? 0, JSON.stringify([...modes])];
      assert(count === 1 ? local === asked : local < asked / 2, told);
      assert.equal(servers.size, count === 1 ? 0 : count);
    },
  });
}
