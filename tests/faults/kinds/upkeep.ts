/**
 * SIGKILL of roles, mostly of the compactor, while tables lose rows and files on purpose. An index
 * keeps its rows for an hour and gets older ones, and snapshots expire after a second. A row that
 * the retention took must not come back, and all that are past it must be gone at the end.
 */

import { join } from "node:path";
import type { RoleName } from "../../apps/stack.ts";
import { tableLife } from "../check/table_metadata.ts";
import { delay, until } from "../commands.ts";
import { type Arena, type Fault, faultNumbers, type Outcome, outcomeOf } from "../fault.ts";
import { Life } from "../life.ts";
import { BRIEF, LIGHT_LOAD } from "../senders.ts";
import { checkSoon } from "./signals.ts";

/** Some three minutes: files go 90 s after the last snapshot that has them. */
const KILLS = 50;
const CALM_MS_MAX = 4_000;
const COMPACTOR_SHARE = 0.7;
const ENVIRONMENT = { SVC_SNAPSHOT_RETAIN_SECS: "1" };
/** A compactor looks once a minute what is past its retention, when it has started and drained. */
const EXPIRED_MS_MAX = 240_000;

export const UPKEEP: Fault = {
  name: "upkeep",
  summary: "SIGKILL, mostly of the compactor, while rows and snapshots expire",
  unit: "kills",
  weight: 2,
  round: expiringLife,
};

async function expiringLife(arena: Arena): Promise<Outcome> {
  const { random } = arena;
  await using life = new Life(join(arena.folder, "data"), random, { env: ENVIRONMENT });
  await life.start();
  await life.includeBrief();
  let done = 0;
  await life.load(async () => {
    for (const number of faultNumbers(arena, KILLS)) {
      done = number;
      await delay(random.below(CALM_MS_MAX));
      const role = roleFor(random.float());
      await life.stack.kill(role);
      await life.stack.ensure(role);
      life.ledger.includeAuto();
      await checkSoon(life, `after kill ${number} of ${role}`);
      const { acknowledgedRows, expired } = life.ledger;
      arena.progress(
        `${number}/${KILLS} ${role}, ${acknowledgedRows} rows acknowledged, ${expired} requests expired`,
      );
    }
  }, LIGHT_LOAD);
  await life.end();
  await until("all rows past their retention are gone", async () => {
    await delay(1_000);
    await life.checkBySql("while the last rows expire");
    return life.ledger.overdue === 0;
  }, EXPIRED_MS_MAX);
  if (life.ledger.expired === 0) life.findings.push("no request expired");
  await checkSnapshots(life);
  return outcomeOf(life, done);
}

function roleFor(draw: number): RoleName {
  if (draw < COMPACTOR_SHARE) return "compactor";
  return draw < (1 + COMPACTOR_SHARE) / 2 ? "ingest" : "query";
}

/** A table has had more commits than it has snapshots, else none expired. */
async function checkSnapshots({ stack, findings }: Life): Promise<void> {
  for (const table of ["events", BRIEF.table]) {
    const { commits, snapshots } = await tableLife(stack, table);
    if (snapshots >= commits) findings.push(`none of the ${commits} snapshots of ${table} expired`);
  }
}
