/**
 * Services that the roles need and that go away. PostgreSQL is killed and started again with its
 * data, and so is the object store, which also refuses every request for some seconds, or answers
 * none. Or the network is parted: nothing passes, and no connection breaks. The WAL is mirrored
 * into the store meanwhile. Readers and senders go on as they can.
 */

import { join } from "node:path";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { type S3Fault, S3Process } from "../../../shared/testing/s3_process.ts";
import { TcpProxy } from "../../../shared/testing/tcp_proxy.ts";
import { delay } from "../commands.ts";
import { type Arena, type Fault, type Outcome, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";

const OUTAGES = 5;
const CALM_MS_MAX = 3_000;
const AWAY_MS_MAX = 6_000;
/** Longer than a statement of the catalog may take, and than a lease is held without a renewal. */
const PARTED_MS_MAX = 20_000;
const REFUSED: S3Fault = { status: 503, code: "SlowDown" };

/** A way to take a service away, and to bring it back. */
interface Outage {
  readonly what: string;
  begin(): Promise<void> | void;
  end(): Promise<void> | void;
}

interface Services {
  readonly postgres: PostgresProcess;
  readonly s3: S3Process;
  /** The ways to them. */
  readonly toPostgres: TcpProxy;
  readonly toStore: TcpProxy;
}

export const SERVICES: Fault = {
  name: "services",
  summary: "PostgreSQL and the object store are killed, or it refuses or hangs",
  unit: "outages",
  weight: 2,
  missing: noPostgres,
  round: (arena) => outages(arena, AWAY_MS_MAX, goneServices),
};

export const PARTITION: Fault = {
  name: "partition",
  summary: "nothing passes between the roles and PostgreSQL, the object store or both",
  unit: "partitions",
  weight: 2,
  missing: noPostgres,
  round: (arena) => outages(arena, PARTED_MS_MAX, partedWays),
};

function noPostgres(): string | undefined {
  return POSTGRES === undefined ? "npm has no PostgreSQL for this platform" : undefined;
}

async function outages(
  arena: Arena,
  awayMsMax: number,
  outagesOf: (services: Services) => readonly Outage[],
): Promise<Outcome> {
  const { random } = arena;
  await using postgres = await PostgresProcess.start();
  await using s3 = await S3Process.start();
  await using toPostgres = TcpProxy.to(postgres.port);
  await using toStore = TcpProxy.to(Number(new URL(s3.url).port));
  const catalogUri = new URL(await postgres.newDatabase());
  catalogUri.port = `${toPostgres.port}`;
  await using life = new Life(join(arena.folder, "data"), random, {
    catalogUri: catalogUri.href,
    warehouseUrl: "s3://warehouse/lake",
    env: { ...s3.environment, AWS_ENDPOINT_URL: `http://127.0.0.1:${toStore.port}` },
  });
  await life.start();
  const ways = outagesOf({ postgres, s3, toPostgres, toStore });
  await life.load(async () => {
    for (let number = 1; number <= OUTAGES; number += 1) {
      await delay(random.below(CALM_MS_MAX));
      const first = random.below(ways.length);
      const both = random.chance(0.3) ? [first, (first + 1) % ways.length] : [first];
      const away = ways.filter((_, at) => both.includes(at));
      for (const outage of away) await outage.begin();
      await delay(random.below(awayMsMax));
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

function goneServices({ postgres, s3 }: Services): readonly Outage[] {
  const faulty = (what: string, fault: S3Fault): Outage => ({
    what,
    begin: () => void (s3.faultOf = () => fault),
    end: () => void (s3.faultOf = () => undefined),
  });
  return [
    {
      what: "PostgreSQL killed",
      begin: () => postgres.kill(),
      end: () => postgres.resume(),
    },
    { what: "the store killed", begin: () => s3.kill(), end: () => s3.resume() },
    faulty("the store refuses", REFUSED),
    faulty("the store hangs", "hang"),
  ];
}

function partedWays({ toPostgres, toStore }: Services): readonly Outage[] {
  const parted = (what: string, way: TcpProxy): Outage => ({
    what: `${what} parted`,
    begin: () => way.part(),
    end: () => way.join(),
  });
  return [parted("PostgreSQL", toPostgres), parted("the store", toStore)];
}
