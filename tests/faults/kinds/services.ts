/**
 * Services that the roles need and that go away. PostgreSQL is killed and started again with its
 * data. The object store refuses every request for some seconds, or answers none. The WAL is
 * mirrored into the store meanwhile. Readers and senders go on as they can.
 */

import { join } from "node:path";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { type S3Fault, S3Process } from "../../../shared/testing/s3_process.ts";
import { delay } from "../commands.ts";
import { type Arena, type Fault, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";

const OUTAGES = 5;
const CALM_MS_MAX = 3_000;
const AWAY_MS_MAX = 6_000;
const REFUSED: S3Fault = { status: 503, code: "SlowDown" };

export const SERVICES: Fault = {
  name: "services",
  summary: "PostgreSQL is killed, the object store refuses or hangs, alone or together",
  unit: "outages",
  weight: 2,
  missing: () => POSTGRES === undefined ? "npm has no PostgreSQL for this platform" : undefined,
  round: async (arena: Arena) => {
    const { random } = arena;
    await using postgres = await PostgresProcess.start();
    await using s3 = await S3Process.start();
    await using life = new Life(join(arena.folder, "data"), random, {
      catalogUri: await postgres.newDatabase(),
      warehouseUrl: "s3://warehouse/lake",
      env: s3.environment,
    });
    await life.start();
    await life.load(async () => {
      for (let number = 1; number <= OUTAGES; number += 1) {
        await delay(random.below(CALM_MS_MAX));
        const which = random.below(3);
        const fault = random.chance(0.5) ? REFUSED : "hang";
        if (which !== 0) s3.faultOf = () => fault;
        if (which !== 1) await postgres.kill();
        await delay(random.below(AWAY_MS_MAX));
        // An answer is right, or an error.
        await life.checkBySql(`outage ${number}`).catch(() => {});
        s3.faultOf = () => undefined;
        if (which !== 1) await postgres.resume();
        const what = ["PostgreSQL", "the store", "both"][which];
        arena.progress(
          `${number}/${OUTAGES}: ${what} away, ${life.ledger.acknowledgedRows} rows acknowledged`,
        );
      }
    });
    life.ledger.includeAuto();
    await life.end();
    return outcomeOf(life, OUTAGES);
  },
};
