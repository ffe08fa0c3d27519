/**
 * Services that the roles need and that go away. PostgreSQL is killed and started again with its
 * data, and so is the object store (`s3rver`), which also refuses every request for some seconds,
 * or answers none. The WAL is mirrored into the store meanwhile. Readers and senders go on as they
 * can.
 */

import { join } from "node:path";
import { PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { type S3Fault, S3Process } from "../../../shared/testing/s3_process.ts";
import { delay } from "../commands.ts";
import { type Arena, type Fault, type Outcome, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import { killed, missingPostgres, type Outage } from "../outage.ts";

const OUTAGES = 5;
const CALM_MS_MAX = 3_000;
const AWAY_MS_MAX = 6_000;
const REFUSED: S3Fault = { status: 503, code: "SlowDown" };

export const SERVICES: Fault = {
  name: "services",
  summary: "PostgreSQL and the object store are killed, or it refuses or hangs",
  unit: "outages",
  weight: 2,
  missing: missingPostgres,
  round: outages,
};

async function outages(arena: Arena): Promise<Outcome> {
  const { random } = arena;
  await using postgres = await PostgresProcess.start();
  await using s3 = await S3Process.start();
  await using life = new Life(join(arena.folder, "data"), random, {
    catalogUri: await postgres.newDatabase(),
    warehouseUrl: "s3://warehouse/lake",
    env: s3.environment,
  });
  await life.start();
  const ways = waysToGo(postgres, s3);
  await life.load(async () => {
    for (let number = 1; number <= OUTAGES; number += 1) {
      await delay(random.below(CALM_MS_MAX));
      const first = random.below(ways.length);
      const both = random.chance(0.3) ? [first, (first + 1) % ways.length] : [first];
      const away = ways.filter((_, at) => both.includes(at));
      for (const outage of away) await outage.begin();
      await delay(random.below(AWAY_MS_MAX));
      // An answer is right, or an error.
      await life.checkBySql(`outage ${number}`).catch(() => {});
      for (const outage of away) await outage.end();
      const what = away.map((one) => one.what).join(" and ");
      arena.progress(
        `${number}/${OUTAGES}: ${what}, ${life.ledger.acknowledgedRows} rows acknowledged`,
      );
    }
  });
  life.ledger.includeAuto();
  await life.end();
  return outcomeOf(life, OUTAGES);
}

function waysToGo(postgres: PostgresProcess, s3: S3Process): readonly Outage[] {
  const faulty = (what: string, fault: S3Fault): Outage => ({
    what,
    begin: () => void (s3.faultOf = () => fault),
    end: () => void (s3.faultOf = () => undefined),
  });
  return [
    killed("PostgreSQL", postgres),
    killed("the store", s3),
    faulty("the store refuses", REFUSED),
    faulty("the store hangs", "hang"),
  ];
}
