/**
 * Crash pictures: the roles run on under load while copies of what a power cut at this moment would
 * leave are taken and read by the independent reader. Many moments a minute, without a restart.
 */

import { join } from "node:path";
import { readImage } from "../check/accounting.ts";
import { delay } from "../commands.ts";
import { CUTS } from "../disk/volatile_cache.ts";
import { randomMoment, VolatileDisk } from "../disk/volatile_disk.ts";
import { type Fault, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import { compareRows } from "./power_cut.ts";

const PICTURES = 25;
const PAUSE_MS_MAX = 700;
/** How often the independent reader is PyIceberg, which takes seconds to start. */
const PYICEBERG_SHARE = 0.3;

export const PICTURE: Fault = {
  name: "picture",
  summary: "copies of what a power cut would leave, while the roles run on",
  unit: "pictures",
  weight: 3,
  round: async (arena) => {
    const { random } = arena;
    await using disk = await VolatileDisk.make(arena.folder, "ext4");
    await using life = new Life(join(disk.mountPoint, "data"), random);
    await life.start();
    await life.load(async () => {
      for (let number = 1; number <= PICTURES; number += 1) {
        await delay(random.below(PAUSE_MS_MAX));
        const promised = life.ledger.promises();
        const cut = CUTS[random.below(CUTS.length)] ?? "none";
        const image = join(arena.folder, "picture");
        const told = await disk.picture(image, randomMoment(cut, random));
        const reader = arena.hasPyIceberg && random.chance(PYICEBERG_SHARE)
          ? "pyiceberg"
          : "icebird";
        const { fileSystem, mountPoint } = disk;
        const place = { image, fileSystem, mountPoint, dataDir: life.dataDir };
        const rows = await readImage(place, reader);
        await Deno.remove(image);
        compareRows(life, rows, { when: `picture ${number} (${cut}), by ${reader}`, promised });
        arena.progress(
          `picture ${number}/${PICTURES} ${cut}: kept ${told.keptBytes} of ${told.unflushedBytes} ` +
            `unflushed bytes, ${life.ledger.acknowledgedRows} rows acknowledged`,
        );
      }
    });
    await life.end();
    return outcomeOf(life, PICTURES);
  },
};
