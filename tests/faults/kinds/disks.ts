/**
 * Disks that take no more: one that is full to its last byte for some seconds, and one that breaks,
 * so that the kernel makes its file system read-only. Rows are refused meanwhile, answers are right
 * or errors, and nothing that was acknowledged is lost.
 */

import { dirname, join } from "node:path";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { delay, run } from "../commands.ts";
import { VolatileDisk } from "../disk/volatile_disk.ts";
import { type Arena, type Fault, faultNumbers, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import { LIGHT_LOAD } from "../senders.ts";

const FILLS = 12;
const BREAKS = 3;
const CHUNK_BYTES = 256 * 1024;
const LOAD_MS_MAX = 2_500;
/** Most disks are full for a moment, some longer than a request is held. */
const SHORT_FULL_MS_MAX = 1_000;
const FULL_MS_MAX = 5_000;
const SHORT_SHARE = 0.7;
/** What a disk that is filled at once has left for the last bytes. */
const LEFT_BYTES = 2 * 1024 * 1024;

/** Takes nearly all that is free, then writes until nothing more fits; flushes none of it. */
async function fill(path: string): Promise<void> {
  const spareBytes = await new DenoFileSystem().freeBytes(dirname(path)) - LEFT_BYTES;
  if (spareBytes > 0) await run("fallocate", "--length", `${spareBytes}`, path);
  using file = await Deno.open(path, { write: true, create: true, append: true });
  for (let bytes = CHUNK_BYTES; bytes >= 512;) {
    try {
      await file.write(new Uint8Array(bytes));
    } catch (error) {
      if (!/No space/.test(String(error))) throw error;
      bytes >>= 1;
    }
  }
}

/** An answer must be right; an error is right, too, while the disk is. */
async function checkMeanwhile(life: Life, when: string): Promise<void> {
  await life.checkBySql(when).catch(() => {});
}

export const FULL_DISK: Fault = {
  name: "full-disk",
  summary: "a disk of WAL, tables and catalog that is full to its last byte for some seconds",
  unit: "full disks",
  weight: 2,
  round: async (arena: Arena) => {
    const { random } = arena;
    await using disk = await VolatileDisk.make(arena.folder, "ext4");
    await using life = new Life(join(disk.mountPoint, "data"), random, {
      // Without a floor rows meet the full disk itself.
      env: random.chance(0.5) ? { SVC_INGEST_FREE_SPACE_FLOOR_MIB: "0" } : {},
    });
    await life.start();
    let done = 0;
    await life.load(async () => {
      for (const number of faultNumbers(arena, FILLS)) {
        done = number;
        await delay(random.below(random.chance(SHORT_SHARE) ? SHORT_FULL_MS_MAX : LOAD_MS_MAX));
        const filler = join(disk.mountPoint, "filler");
        await fill(filler);
        await delay(random.below(random.chance(SHORT_SHARE) ? SHORT_FULL_MS_MAX : FULL_MS_MAX));
        await checkMeanwhile(life, `disk ${number} full`);
        if (random.chance(0.4)) {
          await life.stack.kill("ingest");
          await Deno.remove(filler);
          await life.stack.ensure("ingest");
        } else await Deno.remove(filler);
        await life.untilTaken();
        life.ledger.includeAuto();
        await life.checkBySql(`after disk ${number}`);
        arena.progress(
          `full ${number}/${FILLS}, ${life.ledger.acknowledgedRows} rows acknowledged`,
        );
      }
    }, LIGHT_LOAD);
    life.ledger.includeAuto();
    await life.end();
    return outcomeOf(life, done);
  },
};

export const READ_ONLY: Fault = {
  name: "read-only",
  summary: "a disk that takes no more writes, so that its file system becomes read-only",
  unit: "broken disks",
  weight: 2,
  round: async (arena: Arena) => {
    const { random } = arena;
    await using disk = await VolatileDisk.make(arena.folder, "ext4");
    await using life = new Life(join(disk.mountPoint, "data"), random);
    for (let number = 1; number <= BREAKS; number += 1) {
      await life.start();
      if (number > 1) await life.checkBySql(`after break ${number - 1}`);
      await life.senders.repeatUnanswered();
      await life.load(async () => {
        await delay(300 + random.below(LOAD_MS_MAX));
        await disk.breakDown();
        await delay(500 + random.below(LOAD_MS_MAX));
        await checkMeanwhile(life, `disk ${number} broken`);
        await life.killAll();
      });
      await disk.detach();
      await disk.powerOn();
      arena.progress(
        `broke ${number}/${BREAKS}, ${life.ledger.acknowledgedRows} rows acknowledged`,
      );
    }
    await life.end();
    return outcomeOf(life, BREAKS);
  },
};
