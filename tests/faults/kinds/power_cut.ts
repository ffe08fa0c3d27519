/**
 * Power cuts: the disk forgets what was not flushed, all processes are killed, what is left is
 * mounted, read by the independent reader, and the roles start again. Some cuts come while they
 * start. Two controls break the promise on purpose: a disk that answers flushes without carrying
 * them out, and an ingest server whose syncs do nothing.
 */

import { join } from "node:path";
import { countPicture, readImage } from "../check/accounting.ts";
import type { Reader } from "../check/read_picture.ts";
import { delay, run, until } from "../commands.ts";
import type { Moment } from "../disk/fuse_daemon.ts";
import { type Cut, type CutReport, CUTS } from "../disk/volatile_cache.ts";
import { type FileSystem, randomMoment, VolatileDisk } from "../disk/volatile_disk.ts";
import { type Arena, type Fault, type Outcome, outcomeOf } from "../fault.ts";
import { findingsOf } from "../ledger.ts";
import { Life } from "../life.ts";
import { buildShim, shimMissing } from "../shim/shim.ts";

const CUTS_MAX = 6;
const LOAD_MS_MAX = 4_000;
const BOOT_MS_MAX = 4_000;
/** What a control takes before, and after, its promise is broken. */
const ROWS_BEFORE = 500;
/** How often the independent reader is PyIceberg, which takes seconds to start. */
const PYICEBERG_SHARE = 0.3;

/** How a control breaks the promise: one cut of an ext4 that keeps nothing unflushed. */
interface Breakage {
  readonly diskLies?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

async function cutLife(arena: Arena): Promise<Outcome> {
  const { random } = arena;
  const fileSystem = arena.fileSystems[random.below(arena.fileSystems.length)] ?? "ext4";
  await using disk = await VolatileDisk.make(arena.folder, fileSystem);
  await using life = new Life(join(disk.mountPoint, "data"), random);
  const cuts = 2 + random.below(CUTS_MAX - 1);
  for (let number = 1; number <= cuts; number += 1) {
    const cut = cutFor(fileSystem, random.below(CUTS.length));
    const isBoot = number > 1 && random.chance(0.2);
    const moment = randomMoment(cut, random);
    const starting = life.start();
    if (isBoot) {
      starting.catch(() => {});
      await delay(random.below(BOOT_MS_MAX));
    } else {
      await starting;
      if (number > 1) await life.checkBySql(`after cut ${number - 1}`);
      await life.senders.repeatUnanswered();
    }
    const report = isBoot
      ? await endPower(disk, life, moment)
      : await life.load(() => endPower(disk, life, moment, random.below(LOAD_MS_MAX)));
    await starting.catch(() => {});
    await disk.detach();
    arena.progress(
      `${fileSystem} cut ${number}/${cuts} ${cut}${isBoot ? " while starting" : ""}: kept ` +
        `${report.keptBytes} of ${report.unflushedBytes} unflushed bytes, ` +
        `${life.ledger.acknowledgedRows} rows acknowledged`,
    );
    await readCopy(arena, disk, life, `after cut ${number} (${cut})`);
    await disk.powerOn();
  }
  await life.end();
  await life.killAll();
  await run("sync", "-f", disk.mountPoint);
  await disk.detach();
  await readCopy(arena, disk, life, "at the end");
  return outcomeOf(life, cuts);
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
  arena.progress(`lost ${report.unflushedBytes} bytes that were to be flushed`);
  await readCopy(arena, disk, life, "after the cut");
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

/** Compares what is on the disk with the ledger. The roles' own start is not disturbed by it. */
async function readCopy(
  arena: Arena,
  disk: VolatileDisk,
  life: Life,
  when: string,
): Promise<void> {
  const image = join(arena.folder, "copy");
  await run("cp", "--sparse=always", disk.image, image);
  const { mountPoint, fileSystem } = disk;
  await comparePicture(arena, life, {
    ...{ image, fileSystem, mountPoint, when },
    promised: life.ledger.promises(),
  });
}

export interface Picture {
  readonly image: string;
  readonly fileSystem: FileSystem;
  readonly mountPoint: string;
  readonly when: string;
  /** What had been promised before the picture was taken. */
  readonly promised: ReadonlySet<number>;
}

/** Compares an image with what was promised when it was taken, and removes it. */
export async function comparePicture(arena: Arena, life: Life, picture: Picture): Promise<void> {
  const { promised, when, ...place } = picture;
  const reader: Reader = arena.hasPyIceberg && arena.random.chance(PYICEBERG_SHARE)
    ? "pyiceberg"
    : "icebird";
  const rows = await readImage({ ...place, dataDir: life.dataDir }, reader);
  const verdict = life.ledger.check(countPicture(rows), promised);
  life.compared += verdict.compared;
  life.checks += 1;
  life.findings.push(
    ...findingsOf(verdict, `${when}, by ${reader}`),
    ...rows.damage.map((damage) => `${when}: ${damage}`),
  );
  await Deno.remove(picture.image);
}

export const POWER_CUT: Fault = {
  name: "power-cut",
  summary: "the disk keeps none, the first, or any sectors of what was not flushed",
  unit: "power cuts",
  weight: 6,
  round: (arena) => cutLife(arena),
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
