/**
 * Machines that share no disk with who drains them. The ingest server mirrors its WAL into MinIO,
 * and a query server reads the WAL and the tables. Two compactors claim what the mirror has, and a
 * third clears the WAL. The catalog is in PostgreSQL. Each role is a host of its own on a network
 * that parts: requests vanish, or answers, or both, for longer than a claim lasts. PostgreSQL,
 * MinIO and roles are killed besides.
 */

import { join } from "node:path";
import { makeDataFolders } from "../../../cli/data_folders.ts";
import { PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import type { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { Stack, type StackOptions } from "../../apps/stack.ts";
import { tableLife } from "../check/table_metadata.ts";
import { delay } from "../commands.ts";
import { type Arena, type Fault, faultNumbers, type Outcome, outcomeOf } from "../fault.ts";
import { Life, READY_MS_MAX, ROLES } from "../life.ts";
import { findMinio, MINIO_MODULE, MinioProcess } from "../minio_process.ts";
import { Network } from "../network.ts";
import { killed, missingPostgres, type Outage } from "../outage.ts";

const FAULTS_A_ROUND = 15;
const CALM_MS_MAX = 3_000;
const KILLED_MS_MAX = 4_000;
/** Longer than a statement of the catalog may take. */
const PARTED_MS_MAX = 15_000;
const PARTED_SHARE = 0.6;
const BOTH_SHARE = 0.3;
const LEASE_SECS = 4;
/** Claims expire here all the time, which is no fault of a segment. */
const ATTEMPTS_MAX = 1_000;

const SERVICES = ["postgres", "minio"] as const;
/** Names of hosts: the three roles of the life, the other compactor, and who clears the WAL. */
const HOSTS = [...ROLES, "second", "sweeper"] as const;
type Host = typeof HOSTS[number];
const LOST = ["requests", "answers", "both"] as const;

export const MACHINES: Fault = {
  name: "machines",
  summary: "hosts, MinIO and PostgreSQL are parted or killed; compactors claim the WAL's mirror",
  unit: "outages",
  weight: 3,
  missing: async () => {
    if (await findMinio() === undefined) return `there is no MinIO: go install ${MINIO_MODULE}`;
    return missingPostgres();
  },
  round: outages,
};

async function outages(arena: Arena): Promise<Outcome> {
  const { random } = arena;
  await using network = await Network.create(HOSTS, SERVICES);
  const stored = join(arena.folder, "minio");
  await Deno.mkdir(stored);
  await using postgres = await PostgresProcess.start(network.addressOf("postgres"));
  const program = await findMinio() ?? "minio";
  await using minio = await MinioProcess.start(program, stored, network.addressOf("minio"));
  const shared = {
    catalogUri: await postgres.newDatabase(),
    warehouseUrl: minio.warehouseUrl,
    env: minio.environment,
  };
  const dataDir = join(arena.folder, "data");
  await using life = new Life(dataDir, random, {
    ...shared,
    ...placed(network, Object.fromEntries(ROLES.map((role) => [role, role]))),
    ingestArgs: ["--remote-drain"],
    compactorArgs: CLAIMS,
  });
  const compactor = async (host: Host, folder: string, compactorArgs: readonly string[]) => {
    await makeDataFolders(folder);
    const options = { ...shared, ...placed(network, { compactor: host }), compactorArgs };
    return Stack.unstarted(folder, { ...options, readyMsMax: READY_MS_MAX });
  };
  await using second = await compactor("second", join(arena.folder, "second"), CLAIMS);
  await using sweeper = await compactor("sweeper", dataDir, SWEEPS);
  await Promise.all([life.start(), second.ensure("compactor"), sweeper.ensure("compactor")]);
  const killable: readonly Outage[] = [
    killed("PostgreSQL", postgres),
    killed("MinIO", minio),
    ...ROLES.map((role) => killedRole(role, life.stack, role)),
    killedRole("the second compactor", second, "compactor"),
    killedRole("the sweeper", sweeper, "compactor"),
  ];
  let done = 0;
  await life.load(async () => {
    for (const number of faultNumbers(arena, FAULTS_A_ROUND)) {
      done = number;
      await delay(random.below(CALM_MS_MAX));
      const isParted = random.chance(PARTED_SHARE);
      const outage = isParted
        ? partedPair(network, random)
        : killable[random.below(killable.length)];
      if (outage === undefined) continue;
      await outage.begin();
      await delay(random.below(isParted ? PARTED_MS_MAX : KILLED_MS_MAX));
      // An answer is right, or an error.
      await life.checkBySql(`outage ${number}`).catch(() => {});
      await outage.end();
      arena.progress(
        `${number}/${FAULTS_A_ROUND}: ${outage.what}, ${life.ledger.acknowledgedRows} rows ` +
          "acknowledged",
      );
    }
  });
  life.ledger.includeAuto();
  await life.end();
  const { commits } = await tableLife(life.stack, "events");
  if (commits === 0) life.findings.push("no compactor drained the mirror");
  return outcomeOf(life, done);
}

const CLAIMS = [
  ...["--catalog-claim", "--claim-lease-secs", `${LEASE_SECS}`],
  ...["--claim-attempts-max", `${ATTEMPTS_MAX}`],
];
const SWEEPS = ["--role", "maintenance", "--wal-only"];

/** Each role on its host. */
function placed(network: Network, hosts: Readonly<Record<string, string>>): StackOptions {
  const of = <T>(pick: (host: string) => T) =>
    Object.fromEntries(Object.entries(hosts).map(([role, host]) => [role, pick(host)]));
  return {
    addresses: of((host) => network.addressOf(host)),
    launchers: of((host) => network.launcherOf(host)),
  };
}

function killedRole(what: string, stack: Stack, role: typeof ROLES[number]): Outage {
  return {
    what: `${what} killed`,
    begin: () => stack.kill(role),
    end: () => stack.ensure(role),
  };
}

/** What a host sends to a service vanishes, or what it would get, or both. */
function partedPair(network: Network, random: SeededRandom): Outage {
  const host = HOSTS[random.below(HOSTS.length)] ?? "ingest";
  const services = random.chance(BOTH_SHARE)
    ? SERVICES
    : SERVICES.slice(random.below(SERVICES.length)).slice(0, 1);
  const lost = LOST[random.below(LOST.length)] ?? "both";
  const ways = services.flatMap((service) => [
    ...(lost === "answers" ? [] : [{ from: host, to: service }]),
    ...(lost === "requests" ? [] : [{ from: service, to: host }]),
  ]);
  return {
    what: `${host} parted from ${services.join(" and ")} (${lost})`,
    begin: () => Promise.all(ways.map(({ from, to }) => network.part(from, to))),
    end: () => Promise.all(ways.map(({ from, to }) => network.join(from, to))),
  };
}
