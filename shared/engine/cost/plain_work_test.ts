import { deepStrictEqual, ok } from "node:assert/strict";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { nativeDriver } from "../duckdb/native_driver.ts";
import { parse } from "../statement/parse.ts";
import { plainWork } from "./plain_work.ts";

/** What tells the groups apart, or undefined where the work is not plain. */
const CASES: readonly (readonly [grouped: readonly string[] | undefined, sql: string])[] = [
  [["host", "n"], "SELECT host, count(*) AS n FROM events GROUP BY host ORDER BY n DESC LIMIT 5"],
  [["host"], "SELECT host, count(*) FROM events GROUP BY 1"],
  [["host"], "SELECT host, count(*) FROM events GROUP BY ALL"],
  [["host"], "SELECT DISTINCT host FROM events"],
  [["e", "host", "level"], "SELECT e.host, level, avg(ms) FROM events e GROUP BY ALL"],
  [[], "SELECT count(*) FROM events"],
  [[], "SELECT min(ms), max(ms), sum(ms), count(ms) FROM events WHERE host = 'a' AND ms > 5"],
  [
    [],
    "SELECT count(*) FILTER (WHERE host IN ('a', 'b')) FROM events WHERE NOT (ok OR raw IS NULL)",
  ],
  [[], "SELECT count(*) FROM events WHERE timestamp > now() - INTERVAL 1 HOUR"],
  [[], "SELECT count(*) FROM events WHERE timestamp BETWEEN '2026-11-20' AND '2026-11-21' AND ok"],
  [
    [],
    "SELECT round(avg(ms), 2), count(*) / 60::DOUBLE, CASE WHEN sum(ms) > 1 THEN 'a' END FROM events",
  ],
  [["host"], "SELECT host, sum(ms) FROM events GROUP BY host HAVING count(*) > 3"],
  [["host", "n"], "SELECT host, count(*) AS n FROM events GROUP BY host HAVING n > 3"],

  [undefined, "SELECT host FROM events"],
  [undefined, "SELECT * FROM events WHERE host = 'a'"],
  [undefined, "SELECT count(*) FROM events WHERE raw LIKE '%a%'"],
  [undefined, "SELECT count(*) FROM events WHERE lower(host) = 'a'"],
  [undefined, "SELECT count(*) FROM events WHERE ms + 1 > 2"],
  [undefined, "SELECT count(*) FROM events WHERE ms::VARCHAR = '2'"],
  [undefined, "SELECT count(*) FROM events WHERE timestamp - INTERVAL 1 DAY > '2026-11-20'"],
  [undefined, "SELECT count(*) FROM events WHERE host IN (SELECT host FROM others)"],
  [undefined, "SELECT sum(length(raw)) FROM events"],
  [undefined, "SELECT count(*) FILTER (WHERE raw LIKE '%a%') FROM events"],
  [undefined, "SELECT count(DISTINCT host) FROM events"],
  [undefined, "SELECT approx_quantile(ms, 0.5) FROM events"],
  [undefined, "SELECT string_agg(host, ',' ORDER BY ms) FROM events"],
  [undefined, "SELECT max(host ORDER BY ms) FROM events"],
  [undefined, "SELECT upper(host), count(*) FROM events GROUP BY 1"],
  [undefined, "SELECT count(*) FROM events GROUP BY attr_get(attributes, 'a')"],
  [undefined, "SELECT host, level, count(*) FROM events GROUP BY ROLLUP (host, level)"],
  [undefined, "SELECT DISTINCT ON (host) host, ms FROM events"],
  [undefined, "SELECT host, count(*) OVER () FROM events GROUP BY host"],
  [undefined, "SELECT host, count(*) FROM events GROUP BY host QUALIFY row_number() OVER () = 1"],
  [undefined, "SELECT host, count(*) FROM events GROUP BY host LIMIT (SELECT 1)"],
  [undefined, "SELECT count(*) FROM events, others"],
  [undefined, "SELECT count(*) FROM (SELECT * FROM events)"],
  [undefined, "SELECT count(*) FROM events USING SAMPLE 10 %"],
  [undefined, "WITH few AS (SELECT 1) SELECT count(*) FROM events"],
  [undefined, "SELECT count(*) FROM events UNION ALL SELECT count(*) FROM events"],
  [undefined, "SELECT count(*) FROM range(5)"],
  [undefined, "SELECT 1"],
];

Deno.test({
  name: "plainWork: comparing, counting and adding up, and nothing else",
  fn: async (t) => {
    const files = new DenoFileSystem();
    const dir = await Deno.makeTempDir({ prefix: "plain-work-" });
    const database = await nativeDriver({ readFile: (path) => files.readFile(path) }).open({
      readableDirs: [],
      scratchDir: dir,
      memoryBytesMax: 64 * 2 ** 20,
      spillBytesMax: 0,
      threads: 1,
      connections: 1,
      setup: [],
    });
    try {
      const connection = await database.connect(new AbortController().signal);
      for (const [grouped, sql] of CASES) {
        await t.step(sql, async () => {
          const { root } = await parse((text) => connection.serialize(text), sql);
          deepStrictEqual(plainWork(root)?.grouped, grouped && new Set(grouped));
        });
      }
    } finally {
      await database.close();
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "plainWork is in the price of what the engine prepares",
  fn: async () => {
    await using lab = await EngineLab.open();
    const ns = 1_795_132_800_000_000_000n;
    await lab.commit(
      Array.from({ length: 40_000 }, (_, n) => ({ ns: ns + BigInt(n), host: `h${n % 5}` })),
    );
    const secsOf = async (sql: string) => {
      await using prepared = await lab.prepare(sql);
      return prepared.cost.estimated_runtime_seconds;
    };
    const secs = await secsOf("SELECT host, count(*) FROM events GROUP BY host");
    ok(secs < await secsOf("SELECT upper(host), count(*) FROM events GROUP BY 1"));
  },
});
