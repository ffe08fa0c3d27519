/**
 * Servers that share statements, under fire: workers are killed, stopped and slowed, and answers
 * are cut, while clients ask. Every answer is the right one. A statement fails only where the
 * server that was asked for it was killed meanwhile.
 *
 * `SVC_TEST_FLEET_SECS` lets it go on for longer, `SVC_TEST_SEED` repeats what happens when.
 */

import assert from "node:assert/strict";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { TcpProxy } from "../../../shared/testing/tcp_proxy.ts";
import { until } from "../../../shared/testing/until.ts";
import { QueryFleet } from "../../apps/query_fleet.ts";
import {
  ask,
  FLEET_ARGS,
  inFlight,
  openSharedEvents,
  STATEMENTS,
} from "../../apps/shared_events.ts";

const SECS = Number(Deno.env.get("SVC_TEST_FLEET_SECS") ?? 1);
const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_123);
const SERVERS = 3;
const CLIENTS = 16;
/** How long a server is stopped or slowed at most. */
const TROUBLE_MS_MAX = 1_500;
/** By which each piece of a slowed server's answers is late. */
const SLOW_MS = 400;
/** Each happens once at least, in this order first. */
const TROUBLES = ["kill", "stop", "slow", "cut"] as const;
type Trouble = typeof TROUBLES[number];

/** What clients were answered. */
class Tally {
  readonly modes = new Map<string, number>();
  right = 0;
  /** Statements that the server they were sent to lost. */
  lost = 0;

  get shared(): number {
    return [...this.modes].filter(([mode]) => mode !== "local" && mode !== "none")
      .reduce((sum, [, count]) => sum + count, 0);
  }
}

class Chaos {
  readonly #random: SeededRandom;
  /** How often each server was killed, and got ready again. */
  readonly #killed = Array.from({ length: SERVERS }, () => 0);
  readonly #revived = Array.from({ length: SERVERS }, () => 0);
  readonly befell = new Map<Trouble, number>();

  constructor(
    private readonly fleet: QueryFleet,
    private readonly doors: readonly TcpProxy[],
    random: SeededRandom,
  ) {
    this.#random = random;
  }

  /** Troubles one server after the other, until the time is over. The first one is left alone. */
  async goOn(secs: number): Promise<void> {
    const endMs = performance.now() + 1_000 * secs;
    for (let round = 0; round < TROUBLES.length || performance.now() < endMs; round += 1) {
      const trouble = TROUBLES[round] ?? TROUBLES[this.#below(TROUBLES.length)] ?? "kill";
      await this.#befall(trouble, 1 + this.#below(SERVERS - 1));
      this.befell.set(trouble, (this.befell.get(trouble) ?? 0) + 1);
    }
  }

  /** From now on: whether a server has been gone since, if only for a while. */
  watch(at: number): () => boolean {
    const revived = this.#revived[at];
    return () => this.#killed[at] !== revived;
  }

  async #befall(trouble: Trouble, at: number): Promise<void> {
    const door = this.doors[at];
    assert.ok(door !== undefined);
    if (trouble === "kill") {
      this.#killed[at] = (this.#killed[at] ?? 0) + 1;
      this.fleet.signal(at, "SIGKILL");
      await this.#pause();
      await this.fleet.restart(at);
      await until(() => this.#isReady(at), { msMax: 60_000, pollMs: 100 });
      this.#revived[at] = (this.#revived[at] ?? 0) + 1;
      return;
    }
    if (trouble === "stop") {
      this.fleet.signal(at, "SIGSTOP");
      await this.#pause();
      this.fleet.signal(at, "SIGCONT");
    } else if (trouble === "slow") {
      door.answerDelayMs = SLOW_MS;
      await this.#pause();
      door.answerDelayMs = 0;
    } else {
      door.trouble = "lose_answer";
      await this.#pause();
      door.trouble = "none";
    }
    await this.#pause();
  }

  async #isReady(at: number): Promise<boolean> {
    const response = await fetch(`${this.fleet.at(at).url}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.ok === true;
  }

  #pause(): Promise<void> {
    const ms = TROUBLE_MS_MAX / 3 + this.#below(TROUBLE_MS_MAX * 2 / 3);
    return new Promise((resolve) => setTimeout(resolve, ms));
  }

  #below(end: number): number {
    return this.#random.below(Math.floor(end));
  }
}

Deno.test({
  name:
    "POST /api/v1/sql/distributed answers right while servers are killed, stopped, slowed and cut",
  async fn() {
    await using lab = await openSharedEvents();
    await using doors = new AsyncDisposableStack();
    const opened: TcpProxy[] = [];
    await using fleet = await QueryFleet.start({
      ...{ dataDir: lab.dir, count: SERVERS, args: FLEET_ARGS },
      doorOf: (address) => {
        const door = doors.use(TcpProxy.to(Number(address.split(":")[1])));
        opened.push(door);
        return `127.0.0.1:${door.port}`;
      },
    });
    const expected = new Map<string, unknown>();
    for (const sql of STATEMENTS) {
      expected.set(sql, (await ask(fleet.at(0).url, "/local", sql)).rows);
    }
    const chaos = new Chaos(fleet, opened, new SeededRandom(SEED));
    const tally = new Tally();
    let isOver = false;
    const client = async (number: number) => {
      for (let turn = number; !isOver; turn += 1) {
        const sql = STATEMENTS[turn % STATEMENTS.length] ?? "";
        // Half of the clients ask the server that nothing befalls.
        const server = number % 2 === 0 ? 0 : turn % SERVERS;
        const wasGone = chaos.watch(server);
        const told = await ask(fleet.at(server).url, "/distributed", sql).catch((error) => {
          if (!wasGone()) throw error;
          tally.lost += 1;
        });
        if (told === undefined) {
          await new Promise((resolve) => setTimeout(resolve, 100));
          continue;
        }
        assert.deepEqual(told.rows, expected.get(sql), sql);
        tally.right += 1;
        const mode = told.stats.phases.distributed?.mode ?? "none";
        tally.modes.set(mode, (tally.modes.get(mode) ?? 0) + 1);
      }
    };
    const asking = Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at)));
    await Promise.race([asking, chaos.goOn(SECS)]);
    isOver = true;
    await asking;
    // deno-lint-ignore no-console
    console.log(
      `seed ${SEED}, ${SECS} s: ${JSON.stringify(Object.fromEntries(chaos.befell))}; ` +
        `${tally.right} right answers, ${tally.shared} of them shared, ` +
        `${tally.lost} lost with the server that was asked`,
    );
    assert.deepEqual([...chaos.befell.keys()], [...TROUBLES]);
    assert.ok(tally.shared > 0, JSON.stringify([...tally.modes]));
    await fleet.ready();
    for (const server of fleet.servers) {
      await until(async () => await inFlight(server) === 0);
      for (const sql of STATEMENTS) {
        const { rows, stats } = await ask(server.url, "/distributed", sql);
        assert.deepEqual(rows, expected.get(sql), sql);
        assert.notEqual(stats.phases.distributed?.mode, "local", "all is as it was");
      }
    }
  },
});
