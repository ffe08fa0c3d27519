/**
 * SIGKILL of ingest, compactor and query at random moments while senders write numbered rows with
 * `wait_for` and a reader queries all the time. Holds when, throughout and at the end,
 *
 * - each acknowledged row is in the answer exactly once,
 * - a row that an answer once held is in every later answer,
 * - no answer holds a row twice.
 *
 * A row whose request failed may be there or not; its number is never sent again. Seconds of chaos:
 * `SVC_TEST_CHAOS_SECS` (default 4), and at least four kills.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { RoleName, Stack } from "../apps/stack.ts";

const CHAOS_SECS = Number(Deno.env.get("SVC_TEST_CHAOS_SECS") ?? "4");
const SENDERS = 4;
const ROWS_PER_REQUEST = 20;
const SETTLE_MS_MAX = 90_000;
const KILLS_MIN = 4;
const ROLES: readonly RoleName[] = ["ingest", "compactor", "query"];

/** `disturb` is called before each kill. */
export async function survivesChaos(
  stack: Stack,
  seed: number,
  disturb: () => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const ledger = new Ledger();
  const over = new AbortController();
  const work = [
    ...Array.from(
      { length: SENDERS },
      (_, sender) => sendRows(stack, sender, ledger, over.signal),
    ),
    readRows(stack, ledger, over.signal),
  ];
  try {
    await killAtRandom(stack, { seed, seconds: CHAOS_SECS, disturb });
  } finally {
    over.abort();
    await Promise.all(work);
  }
  for (const role of ROLES) await stack.ensure(role);
  ledger.check(await finalIds(stack), ledger.acknowledgedSoFar());
  assert.ok(ledger.acknowledgedSoFar().size > 0, `seed ${seed}: no row was acknowledged at all`);
  assert.ok(ledger.answers > 0, `seed ${seed}: no query was answered during the chaos`);
}

/** What was promised and what was seen. */
class Ledger {
  readonly #acknowledged = new Set<string>();
  readonly #seen = new Set<string>();
  answers = 0;

  acknowledge(ids: readonly string[]): void {
    for (const id of ids) this.#acknowledged.add(id);
  }

  acknowledgedSoFar(): ReadonlySet<string> {
    return new Set(this.#acknowledged);
  }

  /** `promised`: what had been acknowledged before the query was sent. */
  check(answer: readonly string[], promised: ReadonlySet<string>): void {
    const ids = new Set(answer);
    const doubled = answer.length - ids.size;
    const lost = [...promised].filter((id) => !ids.has(id));
    const vanished = [...this.#seen].filter((id) => !ids.has(id));
    assert.equal(doubled, 0, `${doubled} of ${answer.length} rows are there twice`);
    assert.deepEqual(lost.slice(0, 5), [], `${lost.length} acknowledged rows are missing`);
    assert.deepEqual(vanished.slice(0, 5), [], `${vanished.length} rows were seen and vanished`);
    for (const id of ids) this.#seen.add(id);
    this.answers += 1;
  }
}

async function sendRows(
  stack: Stack,
  sender: number,
  ledger: Ledger,
  signal: AbortSignal,
): Promise<void> {
  for (let batch = 0; !signal.aborted; batch += 1) {
    const ids = Array.from({ length: ROWS_PER_REQUEST }, (_, row) => `${sender}-${batch}-${row}`);
    if (await stack.sendLogs(ids, { commit: "wait_for" })) ledger.acknowledge(ids);
    else await delay(50);
  }
}

async function readRows(stack: Stack, ledger: Ledger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const promised = ledger.acknowledgedSoFar();
    let answer: string[];
    try {
      answer = await queryIds(stack);
    } catch (error) {
      if (!(error instanceof TypeError) && !isUnavailable(error)) throw error;
      await delay(50);
      continue;
    }
    ledger.check(answer, promised);
  }
}

/**
 * Connection refused or reset is a TypeError of fetch; a query server that has just started may
 * answer 503.
 */
function isUnavailable(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("503");
}

async function queryIds(stack: Stack): Promise<string[]> {
  const answer = await stack.sql("SELECT raw FROM events", {
    default_order: false,
    limits: { max_rows_returned: 1_000_000 },
  });
  return answer.rows.map((row) => String(row[0]));
}

/** The last word: what may pass is waited for. */
async function finalIds(stack: Stack): Promise<string[]> {
  const endMs = Date.now() + SETTLE_MS_MAX;
  for (;;) {
    try {
      return await queryIds(stack);
    } catch (error) {
      if (!isUnavailable(error) || Date.now() > endMs) throw error;
      await delay(200);
    }
  }
}

async function killAtRandom(
  stack: Stack,
  { seed, seconds, disturb }: {
    readonly seed: number;
    readonly seconds: number;
    readonly disturb: () => Promise<void>;
  },
): Promise<void> {
  const random = new SeededRandom(seed);
  const end = Date.now() + seconds * 1_000;
  for (let kills = 0; Date.now() < end || kills < KILLS_MIN; kills += 1) {
    await delay(200 + random.below(1_500));
    await disturb();
    const role = ROLES[random.below(ROLES.length)] ?? "ingest";
    await stack.kill(role);
    await delay(random.below(400));
    await stack.ensure(role);
  }
}
