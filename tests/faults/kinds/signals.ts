/**
 * SIGKILL of each role, and SIGSTOP with SIGCONT, at random moments. A reader compares all the
 * time: what was acknowledged before it asked is there once, what it saw stays. A killed process
 * loses nothing that it wrote, so rows of `auto` count, too.
 */

import { join } from "node:path";
import { delay, until } from "../commands.ts";
import { type Arena, type Fault, faultNumbers, type Outcome, outcomeOf } from "../fault.ts";
import { Life, ROLES } from "../life.ts";
import { LIGHT_LOAD } from "../senders.ts";
import type { RoleName } from "../../apps/stack.ts";

const FAULTS_A_ROUND = 25;
/** Most faults follow soon, some when there was time for merges. */
const SHORT_CALM_MS_MAX = 500;
const CALM_MS_MAX = 2_500;
const SHORT_SHARE = 0.8;
const AWAY_MS_MAX = 400;
const READ_PAUSE_MS = 5_000;
const STOPPED_MS_MAX = 6_000;

/** Puts a role, or several, out of action for a while, and says how. */
type Strike = (arena: Arena, life: Life) => Promise<string>;

async function strikes(arena: Arena, strike: Strike): Promise<Outcome> {
  await using life = new Life(join(arena.folder, "data"), arena.random);
  await life.start();
  let done = 0;
  await life.load(async () => {
    const over = new AbortController();
    const reading = readUntil(life, over.signal);
    try {
      for (const number of faultNumbers(arena, FAULTS_A_ROUND)) {
        done = number;
        const { random } = arena;
        const calmMs = random.chance(SHORT_SHARE) ? SHORT_CALM_MS_MAX : CALM_MS_MAX;
        await delay(100 + random.below(calmMs));
        const how = await strike(arena, life);
        // A process that is killed loses nothing that it wrote.
        life.ledger.includeAuto();
        await checkSoon(life, `after ${number} (${how})`);
        arena.progress(
          `${number}/${FAULTS_A_ROUND} ${how}, ${life.ledger.acknowledgedRows} rows acknowledged`,
        );
      }
    } finally {
      over.abort();
      await reading;
    }
  }, LIGHT_LOAD);
  life.ledger.includeAuto();
  await life.end();
  return outcomeOf(life, done);
}

/** Asks all the time; a server that is away is asked again. */
async function readUntil(life: Life, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await life.checkBySql("meanwhile");
    } catch (error) {
      if (!isAway(error)) life.findings.push(`a reader was answered ${error}`);
    }
    await delay(READ_PAUSE_MS);
  }
}

/** Compares as soon as there is an answer. */
export async function checkSoon(life: Life, when: string): Promise<void> {
  await until(`an answer ${when}`, async () => {
    try {
      await life.checkBySql(when);
      return true;
    } catch (error) {
      if (isAway(error)) return false;
      throw error;
    }
  });
}

/** Connections that break, answers in time, and refusals that say "later". */
function isAway(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof DOMException) return true;
  return error instanceof Error && /^(503|504|429) /.test(error.message);
}

function someRoles(arena: Arena): readonly RoleName[] {
  const some = ROLES.filter(() => arena.random.chance(0.4));
  return some.length > 0 ? some : ROLES.slice(0, 1);
}

export const KILL: Fault = {
  name: "kill",
  summary: "SIGKILL of ingest, compactor and query, alone or together, at random moments",
  unit: "times some roles",
  weight: 3,
  round: (arena) =>
    strikes(arena, async (_, life) => {
      const roles = someRoles(arena);
      await Promise.all(roles.map((role) => life.stack.kill(role)));
      await delay(arena.random.below(AWAY_MS_MAX));
      await Promise.all(roles.map((role) => life.stack.ensure(role)));
      return `killed ${roles.join(", ")}`;
    }),
};

export const PAUSE: Fault = {
  name: "pause",
  summary: "SIGSTOP of a role for up to six seconds, then SIGCONT",
  unit: "pauses",
  weight: 1,
  round: (arena) =>
    strikes(arena, async (_, life) => {
      const roles = someRoles(arena);
      for (const role of roles) life.stack.signal(role, "SIGSTOP");
      await delay(arena.random.below(STOPPED_MS_MAX));
      for (const role of roles) life.stack.signal(role, "SIGCONT");
      return `stopped ${roles.join(", ")}`;
    }),
};
