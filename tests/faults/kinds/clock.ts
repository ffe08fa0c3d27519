/**
 * The machine's clock jumps by hours, forward and back, under all roles, and now and then the
 * ingest server is killed before. `libfaketime` tells each process another time of day; what
 * measures durations goes on as it does. What had no answer is sent again before the next jump: a
 * server that starts anew has only the time of day to tell how old a key is. An index keeps its
 * rows for an hour, so a jump takes some of them: they must not come back when the clock does.
 */

import { join } from "node:path";
import { delay } from "../commands.ts";
import { type Fault, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";

const JUMPS = 6;
const CALM_MS_MAX = 5_000;
const HOURS_MAX = 10;
const KILLED_SHARE = 0.4;

/** Where Debian's package `faketime` has it. */
const LIBRARIES = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map((platform) =>
  `/usr/lib/${platform}/faketime/libfaketimeMT.so.1`
);

export const CLOCK: Fault = {
  name: "clock",
  summary: "the clock of all roles jumps by hours, both ways",
  unit: "jumps",
  weight: 1,
  missing: () =>
    library() === undefined ? "there is no libfaketime: apt-get install faketime" : undefined,
  round: async (arena) => {
    const { random } = arena;
    const offset = join(arena.folder, "offset");
    const jumpTo = (seconds: number) =>
      Deno.writeTextFile(offset, `${seconds < 0 ? "-" : "+"}${Math.abs(seconds)}\n`);
    await jumpTo(0);
    await using life = new Life(join(arena.folder, "data"), random, {
      env: {
        LD_PRELOAD: library() ?? "",
        FAKETIME_TIMESTAMP_FILE: offset,
        FAKETIME_NO_CACHE: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      },
    });
    await life.start();
    await life.includeBrief({ mayAllGo: true });
    await life.load(async () => {
      for (let number = 1; number <= JUMPS; number += 1) {
        await delay(1_000 + random.below(CALM_MS_MAX));
        const seconds = Math.floor((random.float() * 2 - 1) * HOURS_MAX * 3_600);
        const isKilled = random.chance(KILLED_SHARE);
        if (isKilled) {
          await life.stack.kill("ingest");
          await life.stack.ensure("ingest");
          await life.senders.repeatUnanswered();
        }
        await jumpTo(number === JUMPS ? 0 : seconds);
        await life.untilTaken();
        await life.checkBySql(`after jump ${number}`);
        arena.progress(
          `${number}/${JUMPS}: ${seconds} s${isKilled ? ", ingest killed" : ""}, ` +
            `${life.ledger.acknowledgedRows} rows acknowledged`,
        );
      }
    });
    life.ledger.includeAuto();
    await life.end();
    return outcomeOf(life, JUMPS);
  },
};

function library(): string | undefined {
  return LIBRARIES.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}
