/**
 * Resident memory of the ingest server at its maximum rate: what it holds after the first tenth of
 * the run it may hold for ever. Sealed segments are removed as they come, in place of a compactor,
 * so that the disk does not fill and nothing else takes the machine's time.
 */

import { join } from "node:path";
import { formatBytes } from "../../shared/base/bytes.ts";
import { EVENTS_TABLE } from "../../shared/schema/events.ts";
import { DEFAULT_TENANT } from "../../shared/tenant/tenant.ts";
import { stateDirectory } from "../../shared/wal/layout.ts";
import { BenchServers } from "./bench_servers.ts";
import { type Benchmark, type BenchRow, formatCount, formatRatio, median } from "./benchmark.ts";
import { driveLoad } from "./drive_load.ts";

const LOAD = { recordsPerRequest: 500, connections: 16 } as const;
const SAMPLE_MS = 1_000;
const SEALED_AGE_MS_MAX = 3_000;
const GROWTH_MAX = 1.15;
const LANE = { tenant: DEFAULT_TENANT, index: EVENTS_TABLE };

export const MEMORY: Benchmark = {
  name: "memory",
  summary: "resident memory of the ingest server at its maximum rate",
  sizes: { small: { rows: 0, seconds: 60 }, full: { rows: 0, seconds: 600 } },
  async run({ seconds }) {
    await using servers = await BenchServers.create("memory");
    const { port, pid } = await servers.startIngest();
    const sealed = stateDirectory(join(servers.dataDir, "wal"), LANE, "sealed");
    const samples: number[] = [];
    const watch = setInterval(() => {
      samples.push(residentBytes(pid));
      removeOlder(sealed, Date.now() - SEALED_AGE_MS_MAX);
    }, SAMPLE_MS);
    const load = await driveLoad(port, "/v1/logs", { ...LOAD, seconds })
      .finally(() => clearInterval(watch));

    const tenth = Math.floor(samples.length / 10);
    const first = median(samples.slice(Math.floor(tenth / 2), tenth + 1));
    const highest = Math.max(...samples.slice(tenth));
    const second = median(samples.slice(tenth, 2 * tenth));
    const last = median(samples.slice(-tenth));
    const rate = `${formatCount(load.rows / load.seconds)} rows/s for ${seconds} s`;
    return [
      memoryRow(`highest after the first tenth; ${rate}`, highest, {
        what: "end of the first tenth",
        bytes: first,
      }),
      memoryRow("median of the last tenth", last, { what: "second tenth", bytes: second }),
    ];
  },
};

function memoryRow(
  what: string,
  bytes: number,
  reference: { what: string; bytes: number },
): BenchRow {
  const growth = bytes / reference.bytes;
  return {
    what,
    ours: formatBytes(bytes),
    reference: `${reference.what} ${formatBytes(reference.bytes)}`,
    ratio: formatRatio(growth),
    target: `≤ ${formatRatio(GROWTH_MAX)}`,
    reached: growth <= GROWTH_MAX,
  };
}

function residentBytes(pid: number): number {
  const match = /^VmRSS:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
  if (match === null) throw new Error(`process ${pid} has no resident memory: it ended`);
  return Number(match[1]) * 1024;
}

/** Removes what was last written before `ms`; the directory may be yet to come. */
function removeOlder(directory: string, ms: number): void {
  try {
    for (const { name } of Deno.readDirSync(directory)) {
      const path = join(directory, name);
      if ((Deno.statSync(path).mtime?.getTime() ?? 0) < ms) Deno.removeSync(path);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
