/** Rows taken, and what that costs until the system has nothing more to do. */

import { folderBytes } from "./folder_bytes.ts";
import type { IngestResult } from "./result.ts";
import { type SendOrder, type SendReport, sendRows } from "./row_sender.ts";
import type { ServerProcess } from "./server_process.ts";
import type { ShapeName } from "./shape.ts";
import type { MeasuredSystem } from "./systems/system.ts";

export interface IngestOrder {
  readonly shape: ShapeName;
  readonly lines?: string;
  readonly batch: number;
  readonly connections: number;
  /** A multiple of the rows of a request. */
  readonly rows: number;
  readonly total: number;
  /** A system that takes rows slowly gets fewer of them in the measured part. */
  readonly loadSecs: number;
  readonly settleSecsMax: number;
  /** Whether all rows are to be there in the end, however long that takes. */
  readonly keep: boolean;
}

/** These are sent before the others, and no figure has them: they warm the system's code up. */
const WARM_UP_ROWS_MAX = 20_000;
/** Beside the time after which a load stops: a server may take so long for what it has begun. */
const SEND_SECS_MORE = 300;
/** Rows of a request that no figure has; each divides the rows of all shapes' templates. */
const REST_BATCHES = [5_000, 2_500, 1_000, 500];
const POLL_MS = 500;
/**
 * A system is idle while it uses no more than this share of a processor. It may use a little more
 * at a time, as timers and collectors of memory do.
 */
const IDLE_SHARE = 0.08;
const BUSY_SECS = 0.1;
/** It is looked at more closely once it was idle for so long. */
const IDLE_SECS = 3;

export async function measureIngest(
  system: MeasuredSystem,
  server: ServerProcess,
  order: IngestOrder,
): Promise<IngestResult> {
  const { shape, batch, connections } = order;
  const warmUp = warmUpRows(order);
  await send(system, server, order, { first: 0, rows: warmUp, batch });
  const before = server.cpuSecsByRole();
  const sent = await send(system, server, order, {
    ...{ first: warmUp, rows: order.rows - warmUp, batch, stopSecs: order.loadSecs },
  });
  const sentMs = performance.now();
  const sending = spent(before, server.cpuSecsByRole());
  const present = warmUp + sent.rows;
  const { settled, last } = await waitUntilSettled(system, server, order, present);
  const all = spent(before, last.cpuSecs);
  const peakBytesByRole = Object.fromEntries(server.peakBytesByRole);
  if (order.keep && present < order.rows) await sendRest(system, server, order, present);
  const rows = order.keep ? order.rows : present;
  const usPerRow = (secs: number) => secs / sent.rows * 1e6;
  return {
    measure: "ingest",
    shape,
    system: system.name,
    batch,
    connections,
    rows: sent.rows,
    sentBytesPerRow: sent.bytesPerRow,
    rowsPerSec: sent.rows / sent.secs,
    secs: sent.secs + (last.ms - sentMs) / 1_000,
    settled,
    cpuUsPerRow: usPerRow(sum(all)),
    sendingCpuUsPerRow: usPerRow(sum(sending)),
    cpuUsPerRowByRole: Object.fromEntries([...all].map(([role, secs]) => [role, usPerRow(secs)])),
    peakBytesByRole,
    liveBytesPerRow: await system.liveBytes(server) / rows,
    diskBytesPerRow: await folderBytes(server.folder) / rows,
    p99Ms: sent.p99Ms,
    retried: sent.retried,
  };
}

/** What a slow system did not take in the measured time, in long requests, which no figure has. */
async function sendRest(
  system: MeasuredSystem,
  server: ServerProcess,
  order: IngestOrder,
  present: number,
): Promise<void> {
  const rows = order.rows - present;
  const batch = REST_BATCHES.find((size) => rows % size === 0) ?? order.batch;
  await send(system, server, order, { first: present, rows, batch });
  await waitUntilSettled(system, server, order, order.rows);
}

function send(
  { form, ingestPath }: MeasuredSystem,
  { launch }: ServerProcess,
  { shape, connections, total, lines, loadSecs }: IngestOrder,
  part: Pick<SendOrder, "first" | "rows" | "batch" | "stopSecs">,
): Promise<SendReport> {
  return sendRows({
    ...{ shape, connections, total, form, port: launch.ingestPort, path: ingestPath },
    ...{ secsMax: loadSecs + SEND_SECS_MORE, ...part },
    ...(lines === undefined ? {} : { lines }),
  });
}

/** At most a tenth of the rows, in whole requests. */
export function warmUpRows({ rows, batch }: { rows: number; batch: number }): number {
  const wanted = Math.min(WARM_UP_ROWS_MAX, rows / 10);
  return Math.max(batch, Math.floor(wanted / batch) * batch);
}

interface Moment {
  readonly ms: number;
  readonly cpuSecs: SecsByRole;
}

/**
 * Waits until it is idle and, by its own account, done. `last` is the moment since which it was
 * idle, so that no figure has what it uses while there is nothing to do.
 */
async function waitUntilSettled(
  system: MeasuredSystem,
  server: ServerProcess,
  { settleSecsMax }: IngestOrder,
  rows: number,
): Promise<{ readonly settled: boolean; readonly last: Moment }> {
  await system.flush?.(server.call);
  const until = performance.now() + settleSecsMax * 1_000;
  const now = () => ({ ms: performance.now(), cpuSecs: server.cpuSecsByRole() });
  let last = now();
  let idleSince = last.ms;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const next = now();
    const busy = sum(spent(last.cpuSecs, next.cpuSecs));
    if (busy > BUSY_SECS + IDLE_SHARE * (next.ms - last.ms) / 1_000) {
      last = next;
      idleSince = next.ms;
    } else if (next.ms - idleSince >= IDLE_SECS * 1_000) {
      if (await system.isSettled(server, rows)) return { settled: true, last };
      idleSince = performance.now();
    }
  }
  return { settled: false, last };
}

type SecsByRole = ReadonlyMap<string, number>;

function spent(before: SecsByRole, after: SecsByRole): SecsByRole {
  return new Map([...after].map(([role, secs]) => [role, secs - (before.get(role) ?? 0)]));
}

function sum(secs: SecsByRole): number {
  return [...secs.values()].reduce((total, each) => total + each, 0);
}
