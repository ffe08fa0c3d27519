/**
 * The query server as a process under its own permissions, with a memory limit of its own. Clients
 * browse, count and search meanwhile, as `deno task bench mixed` has them. The server and its
 * DuckDB processes together stay within the limit, and every kind of statement is answered.
 * Resident memory is `VmRSS` without pages of files, of all processes at one time.
 */

import assert from "node:assert/strict";
import { WarehouseLab } from "../../../shared/testing/warehouse_lab.ts";
import { PeakMemory } from "../../../shared/testing/process_memory.ts";
import { until } from "../../../shared/testing/until.ts";
import { askSql, RoleProcess } from "../../apps/role_process.ts";

const MIB = 2 ** 20;
const ROWS = 60_000;
const FILES = 4;
const CLIENTS = 16;
/** Answers of each kind, after which a load has been one. */
const ANSWERS_MIN = 12;
const LOAD_MS_MIN = 3_000;
const LOAD_MS_MAX = 90_000;
const SAMPLE_MS = 50;
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

const LIMITS: readonly { readonly mib: number; readonly processes: number }[] = [
  { mib: 256, processes: 1 },
  { mib: 512, processes: 1 },
  { mib: 2_048, processes: 2 },
];

const STATEMENTS = {
  browse: "SELECT timestamp, host, raw FROM events ORDER BY timestamp DESC LIMIT 100",
  count: "SELECT count(*) FROM events WHERE timestamp >= '2026-11-20T00:00:50Z'",
  search: "SELECT count(*) FROM events WHERE raw LIKE '%re_u%9_9%'",
  group: "SELECT host, count(*) FROM events GROUP BY host",
} as const;
type Kind = keyof typeof STATEMENTS;
const KINDS = ["browse", "count", "browse", "search", "group"] as const satisfies readonly Kind[];

Deno.test({
  name: "a query server and its DuckDB processes stay within --memory-bytes under a mixed load",
  ignore: Deno.build.os !== "linux",
  async fn(t) {
    await using lab = await WarehouseLab.open();
    for (let file = 0; file < FILES; file += 1) await lab.commit(rowsOf(file));
    for (const { mib, processes } of LIMITS) {
      await t.step(`${mib} MiB`, async () => {
        await using server = await RoleProcess.start("query", lab.dir, [
          ...["--memory-bytes", String(mib * MIB)],
          ...["--admission-wait-ms", "10000", "--dear-wait-ms", "10000"],
        ]);
        // The second comes behind the server.
        await until(() => server.memory().length === 1 + processes);
        const { peak, answered } = await mixedLoad(server);
        // deno-lint-ignore no-console
        console.log(`limit ${mib} MiB, peak ${peak.told}, answers ${JSON.stringify(answered)}`);
        assert.equal(peak.processes, 1 + processes, "DuckDB's processes");
        assert.ok(peak.bytes <= mib * MIB, `${peak.told} are more than ${mib}`);
        for (const kind of KINDS) assert.ok(answered[kind] >= ANSWERS_MIN, kind);
        await checkMetrics(server, mib * MIB);
      });
    }
  },
});

async function checkMetrics(server: RoleProcess, limitBytes: number): Promise<void> {
  const metrics = await server.metrics("svc_memory_");
  assert.equal(metrics.get("svc_memory_limit_bytes"), limitBytes);
  const limits = [...metrics].filter(([name]) => name.startsWith("svc_memory_part_limit_bytes"));
  assert.ok(limits.reduce((sum, [, bytes]) => sum + bytes, 0) <= limitBytes);
  for (const [name, limit] of limits) {
    const part = /part="(\w+)"/.exec(name)?.[1] ?? "";
    const used = metrics.get(name.replace("part_limit", "part"));
    assert.ok(used !== undefined && used >= 0, part);
    // These take what allocators keep of others, too; together they are judged above.
    if (!["server", "processes", "values"].includes(part)) {
      assert.ok(used <= limit, `${part}: ${used} of ${limit}`);
    }
  }
}

/** Until every kind had its answers; what the processes took together at most. */
async function mixedLoad(
  server: RoleProcess,
): Promise<{ readonly peak: PeakMemory; readonly answered: Record<Kind, number> }> {
  const answered = { browse: 0, count: 0, search: 0, group: 0 };
  using peak = new PeakMemory(
    () => server.memory().map(({ bytes }) => bytes),
    { everyMs: SAMPLE_MS },
  );
  const startMs = performance.now();
  const isOver = () => {
    const ms = performance.now() - startMs;
    const isEnough = KINDS.every((kind) => answered[kind] >= ANSWERS_MIN);
    return ms > LOAD_MS_MAX || (isEnough && ms > LOAD_MS_MIN);
  };
  await Promise.all(Array.from({ length: CLIENTS }, async (_, client) => {
    const kind = KINDS[client % KINDS.length] ?? "browse";
    while (!isOver()) {
      const { status, text } = await askSql(server, STATEMENTS[kind]);
      assert.ok([200, 429, 503].includes(status), text.slice(0, 500));
      if (status === 200) answered[kind] += 1;
      else await pause(50);
    }
  }));
  peak.sample();
  return { peak, answered };
}

function rowsOf(file: number) {
  const each = ROWS / FILES;
  return Array.from({ length: each }, (_, row) => {
    const n = file * each + row;
    return {
      ns: START_NS + BigInt(n) * 1_000_000n,
      host: `host-${n % 50}`,
      raw: `request ${n} served: GET /api/items/${n * 7919 % 1_000_003} from re_u${n % 97}9_9 ` +
        `in ${n % 977} ms, agent Mozilla/5.0 (X11; Linux x86_64) id ${n * 104_729 % 999_983}`,
    };
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
