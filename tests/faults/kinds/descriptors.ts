/**
 * An ingest server that may open few files, under more connections than it has descriptors. It may
 * refuse what it likes meanwhile. When the crowd has gone it takes rows again, and has lost none.
 */

import { join } from "node:path";
import { delay } from "../commands.ts";
import { type Fault, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import type { Load } from "../senders.ts";

const CROWDS = 3;
/** Descriptors of the ingest server: what it takes to start, and some. */
const DESCRIPTORS_MIN = 48;
const DESCRIPTORS_MAX = 96;
const CROWD: Load = { senders: 60, pauseMsMax: 20 };
const CROWD_MS_MAX = 8_000;

export const DESCRIPTORS: Fault = {
  name: "descriptors",
  summary: "an ingest server with 48 to 96 descriptors under 60 senders",
  unit: "crowds",
  weight: 1,
  round: async (arena) => {
    const { random } = arena;
    const few = DESCRIPTORS_MIN + random.below(DESCRIPTORS_MAX - DESCRIPTORS_MIN + 1);
    await using life = new Life(join(arena.folder, "data"), random, {
      launchers: { ingest: ["sh", "-c", `ulimit -n ${few} && exec "$0" "$@"`] },
    });
    await life.start();
    for (let number = 1; number <= CROWDS; number += 1) {
      await life.load(() => delay(2_000 + random.below(CROWD_MS_MAX)), CROWD);
      await life.load(() => life.untilTaken());
      const statuses = [...life.senders.statuses].map(([status, count]) => `${count} × ${status}`);
      arena.progress(
        `crowd ${number}/${CROWDS} at ${few} descriptors, ${life.ledger.acknowledgedRows} rows ` +
          `acknowledged; answers: ${statuses.join(", ")}`,
      );
    }
    life.ledger.includeAuto();
    await life.end();
    return outcomeOf(life, CROWDS);
  },
};
