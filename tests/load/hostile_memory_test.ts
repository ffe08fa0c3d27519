/**
 * What hostile statements take of memory: a query server in a process of its own, and its DuckDB
 * process below it. The peaks that the system saw of both, added up, stay within `--memory-bytes`.
 */

import assert from "node:assert/strict";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { HOSTILE } from "../../shared/testing/hostile_statements.ts";
import { PeakMemory } from "../../shared/testing/process_memory.ts";
import { askSql, RoleProcess } from "../apps/role_process.ts";

const MIB = 2 ** 20;
/** The plan gives DuckDB's process 272 MiB of it: `query/memory/memory_parts.ts`. */
const LIMIT_BYTES = 512 * MIB;
const SAMPLE_MS = 20;
const START_NS = 1_790_000_000_000_000_000n;
const LIMITS = { max_rows_returned: 2_000, timeout_seconds: 1 };

Deno.test({
  name: "values that grow and work within one row leave the server within its --memory-bytes",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    await using lab = await WarehouseLab.open();
    await lab.commit(Array.from({ length: 40 }, (_, n) => {
      return { ns: START_NS + BigInt(n), host: `h${n % 3}`, raw: `mine ${n}` };
    }));
    const args = ["--memory-bytes", String(LIMIT_BYTES), "--threads", "2"];
    await using server = await RoleProcess.start("query", lab.dir, args);
    assert.equal((await askSql(server, "SELECT count(*) FROM events")).status, 200);
    assert.equal(server.memory().length, 2, "DuckDB has a process of its own");
    const look = () => server.memory().map(({ bytesMost }) => bytesMost);
    using peak = new PeakMemory(look, { everyMs: SAMPLE_MS });
    for (const category of ["values that grow by factors", "work within one row"]) {
      const cases = HOSTILE[category] ?? [];
      assert.ok(cases.length > 10, category);
      for (const [, sql] of cases) {
        await askSql(server, sql, { format: "records", limits: LIMITS });
        peak.sample();
        const shown = `${peak.told} are more than ${LIMIT_BYTES / MIB} after ${sql.slice(0, 200)}`;
        assert.ok(peak.bytes <= LIMIT_BYTES, shown);
      }
    }
    // deno-lint-ignore no-console
    console.log(`limit ${LIMIT_BYTES / MIB} MiB, peak ${peak.told}`);
  },
});
