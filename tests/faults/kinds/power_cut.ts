/**
 * Power cuts: the disk forgets what was not flushed, and all processes are killed. What is left is
 * mounted, read by the independent reader, and the roles start again. Some cuts come while they
 * start. Two controls break the promise on purpose: a disk that answers flushes without carrying
 * them out, and an ingest server whose syncs do nothing.
 */

import { join } from "node:path";
import { countPicture } from "../check/accounting.ts";
import { type PictureRows, type Reader, readPicture } from "../check/read_picture.ts";
import { delay, run, succeeds, until } from "../commands.ts";
import type { Moment } from "../disk/fuse_daemon.ts";
import { type Cut, type CutReport, CUTS } from "../disk/volatile_cache.ts";
import { type FileSystem, randomMoment, VolatileDisk } from "../disk/volatile_disk.ts";
import { type Arena, type Fault, faultNumbers, type Outcome, outcomeOf } from "../fault.ts";
import { findingsOf, type Promises } from "../ledger.ts";
import { Life, ROLES } from "../life.ts";
import { buildShim, shimMissing } from "../shim/shim.ts";

/** Cuts of a disk's life. */
const CUTS_MIN = 10;
const CUTS_MAX = 20;
/** Before most cuts the load is short, before some long enough for merges. */
const SHORT_LOAD_MS_MAX = 500;
const LOAD_MS_MAX = 4_000;
const SHORT_SHARE = 0.8;
const BOOT_MS_MAX = 2_000;
/** How often each role runs when the power ends. A query server is asked as soon as it is up. */
const SHARES = { ingest: 1, compactor: 0.7, query: 0.4 } as const;
/** How often a delete task has just begun when the load does. */
const DELETE_SHARE = 0.6;
/** What a control takes before, and after, its promise is broken. */
const ROWS_BEFORE = 500;

/** How a control breaks the promise: one cut of an ext4 that keeps nothing unflushed. */
interface Breakage {
  readonly diskLies?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

async function cutLife(arena: Arena, fileSystem: FileSystem): Promise<Outcome> {
  const { random } = arena;
  await using disk = await VolatileDisk.make(arena.folder, fileSystem);
  await using life = new Life(join(disk.mountPoint, "data"), random);
  const cuts = CUTS_MIN + random.below(CUTS_MAX - CUTS_MIN + 1);
  let done = 0;
  for (const number of faultNumbers(arena, cuts)) {
    done = number;
    const cut = cutFor(fileSystem, random.below(CUTS.length));
    const isBoot = number > 1 && random.chance(0.2);
    const moment = randomMoment(cut, random);
    const roles = ROLES.filter((role) => random.chance(SHARES[role]));
    const isAsked = roles.includes("query");
    const starting = life.start(roles);
    if (isBoot) {
      starting.catch(() => {});
      await delay(random.below(BOOT_MS_MAX));
    } else {
      await starting;
      if (number > 1 && isAsked) await life.checkBySql(`after cut ${number - 1}`);
      await life.senders.repeatUnanswered();
    }
    life.asksForDeletes = isAsked && !isBoot;
    if (life.asksForDeletes && random.chance(DELETE_SHARE)) await life.tasks.begin(random);
    const loadMs = random.below(random.chance(SHORT_SHARE) ? SHORT_LOAD_MS_MAX : LOAD_MS_MAX);
    const report = isBoot
      ? await endPower(disk, life, moment)
      : await life.load(() => endPower(disk, life, moment, loadMs));
    await starting.catch(() => {});
    await disk.detach();
    await disk.powerOn();
    arena.progress(
      `${fileSystem} cut ${number}/${cuts} ${cut}${isBoot ? " while starting" : ""}: kept ` +
        `${report.keptBytes} of ${report.unflushedBytes} unflushed bytes, ` +
        `${life.ledger.acknowledgedRows} rows acknowledged`,
    );
    await compareDisk(life, `after cut ${number} (${cut})`, "icebird");
  }
  await life.end();
  await life.killAll();
  await run("sync", "-f", disk.mountPoint);
  await disk.detach();
  await disk.powerOn();
  await compareDisk(life, "at the end", "icebird");
  if (arena.hasPyIceberg) await compareDisk(life, "at the end", "pyiceberg");
  return outcomeOf(life, done);
}

/** One cut of which rows must be missing. What was sent before the promise breaks is kept. */
async function controlLife(arena: Arena, breakage: Breakage): Promise<Outcome> {
  await using disk = await VolatileDisk.make(arena.folder, "ext4");
  await using life = new Life(join(disk.mountPoint, "data"), arena.random, {
    env: breakage.env ?? {},
  });
  life.asksForDeletes = false;
  await life.start();
  const report = await life.load(async () => {
    await until("rows are taken", () => life.ledger.acknowledgedRows > ROWS_BEFORE);
    if (breakage.diskLies) await disk.lie();
    const before = life.ledger.acknowledgedRows;
    await until("more rows are taken", () => life.ledger.acknowledgedRows > before + ROWS_BEFORE);
    return await endPower(disk, life, { cut: "none", at: "now", count: 0, seed: 0 });
  });
  await disk.detach();
  await disk.powerOn();
  arena.progress(`lost ${report.unflushedBytes} bytes that were to be flushed`);
  await compareDisk(life, "after the cut", "icebird");
  return outcomeOf(life, 1);
}

async function endPower(
  disk: VolatileDisk,
  life: Life,
  moment: Moment,
  loadMs = 0,
): Promise<CutReport> {
  await delay(loadMs);
  const report = await disk.cut(moment);
  await life.killAll();
  return report;
}

/** Torn writes of many sectors are more than xfs bears: its own recovery refuses to mount. */
function cutFor(fileSystem: FileSystem, at: number): Cut {
  const cut = CUTS[at] ?? "none";
  return fileSystem === "xfs" && cut === "sectors" ? "first" : cut;
}

/** Compares what is on the disk, before any role runs, with the ledger. */
async function compareDisk(life: Life, when: string, reader: Reader): Promise<void> {
  const rows = await readPicture(life.dataDir, reader);
  compareRows(life, rows, { when: `${when}, by ${reader}`, promised: life.ledger.promises() });
}

/** Compares what the independent reader found with what was promised when it was there. */
export function compareRows(
  life: Life,
  rows: PictureRows,
  { when, promised }: { readonly when: string; readonly promised: Promises },
): void {
  const verdict = life.ledger.check(countPicture(rows), promised);
  life.compared += verdict.compared;
  life.checks += 1;
  life.findings.push(
    ...findingsOf(verdict, when),
    ...rows.damage.map((damage) => `${when}: ${damage}`),
  );
}

export const POWER_CUT: Fault = {
  name: "power-cut",
  summary: "an ext4 disk keeps none, the first, or any sectors of what was not flushed",
  unit: "power cuts",
  weight: 4,
  round: (arena) => cutLife(arena, "ext4"),
};

export const POWER_CUT_XFS: Fault = {
  name: "power-cut-xfs",
  summary: "an xfs disk keeps none or the first of what was not flushed",
  unit: "power cuts",
  weight: 2,
  missing: async () =>
    await succeeds("mkfs.xfs", "-V") ? undefined : "there is no mkfs.xfs: apt-get install xfsprogs",
  round: (arena) => cutLife(arena, "xfs"),
};

export const LYING_DISK: Fault = {
  name: "control-disk",
  summary: "control: a power cut of a disk that carries out no flush; rows must be missing",
  unit: "power cuts",
  weight: 0,
  mustFail: true,
  round: (arena) => controlLife(arena, { diskLies: true }),
};

export const NO_SYNC: Fault = {
  name: "control-sync",
  summary:
    "control: a power cut of roles whose fsync of the WAL does nothing; rows must be missing",
  unit: "power cuts",
  weight: 0,
  mustFail: true,
  missing: shimMissing,
  round: async (arena) => {
    const shim = await buildShim(arena.folder);
    return await controlLife(arena, { env: { LD_PRELOAD: shim, FAULTS_NO_SYNC: "/wal/" } });
  },
};
