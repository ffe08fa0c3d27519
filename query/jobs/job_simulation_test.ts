/**
 * Servers share one job store whose calls fail, hang, lose their responses or wait. Meanwhile jobs
 * are submitted and cancelled, and servers are killed and frozen. A seed gives the schedule, and
 * the test checks what must hold whatever the schedule is. `SVC_TEST_JOB_SEEDS` is how many seeds
 * (default 6), `SVC_TEST_JOB_SEED` the first.
 */

import assert from "node:assert/strict";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { isOpen } from "../../shared/catalog/job_states.ts";
import { COMPUTED_TOO_LATE, EXECUTOR_GONE, type JobRow } from "../../shared/catalog/job_store.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import {
  BUDGET_BYTES,
  type Fault,
  JobLab,
  type LabServer,
  LEASE_MS,
  NAMESPACE,
} from "../../tests/jobs/job_lab.ts";

const SEEDS = Number(Deno.env.get("SVC_TEST_JOB_SEEDS") ?? "6");
const FIRST_SEED = Number(Deno.env.get("SVC_TEST_JOB_SEED") ?? Date.now() % 1_000_000);
const STEPS = 60;
const SERVERS = 3;
/** No call takes longer: a database's client gives up. */
const CALL_MS_MAX = 17_000;

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test({
    name: `jobs under a random schedule, seed ${seed}`,
    async fn() {
      await using lab = await JobLab.open(new FakeClock());
      await new Simulation(lab, new SeededRandom(seed)).run();
    },
  });
}

class Simulation {
  readonly #lab: JobLab<FakeClock>;
  readonly #random: SeededRandom;
  readonly #all: LabServer[] = [];
  readonly #alive: LabServer[] = [];
  /** Statements by id of the jobs that a server said it had accepted. */
  readonly #accepted = new Map<string, string>();
  /** Jobs as they were when they were first seen ended. */
  readonly #ended = new Map<string, JobRow>();
  #pending: Promise<unknown>[] = [];
  #isCalm = false;
  #submissions = 0;

  constructor(lab: JobLab<FakeClock>, random: SeededRandom) {
    this.#lab = lab;
    this.#random = random;
    for (let n = 0; n < SERVERS; n += 1) this.#alive.push(this.#server());
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS; step += 1) {
      this.#act();
      await this.#lab.clock.advance(this.#random.below(15_000));
      await this.#check();
    }
    this.#isCalm = true;
    await this.#lab.clock.advance(4 * LEASE_MS);
    await Promise.all(this.#pending);
    await this.#check();
    await this.#checkEnd();
  }

  #act(): void {
    const random = this.#random;
    const server = this.#alive[random.below(this.#alive.length)];
    assert.ok(server !== undefined);
    const kind = random.float();
    if (kind < 0.55) this.#submit(server);
    else if (kind < 0.8) this.#cancel(server);
    else if (kind < 0.87) this.#kill(server);
    else if (kind < 0.94) this.#freeze(server);
  }

  #submit(server: LabServer): void {
    this.#submissions += 1;
    const query = `SELECT ${this.#submissions}`;
    const limits = this.#random.chance(0.2) ? { timeout_seconds: 5 } : {};
    this.#pending.push(
      server.submit(query, limits).then((id) => this.#accepted.set(id, query), isExpected),
    );
  }

  #cancel(server: LabServer): void {
    const ids = [...this.#accepted.keys()];
    const id = ids[this.#random.below(Math.max(1, ids.length))];
    if (id !== undefined) this.#pending.push(server.jobs.cancel(NAMESPACE, id).catch(isExpected));
  }

  #kill(server: LabServer): void {
    server.kill();
    this.#alive.splice(this.#alive.indexOf(server), 1, this.#server());
    // Whoever waits for an answer of it gets none.
    this.#pending = [];
  }

  #freeze(server: LabServer): void {
    const usual = server.fault;
    const ms = LEASE_MS * (0.5 + this.#random.float());
    const thawed = this.#lab.clock.sleep(ms).then(() => {
      if (server.fault === frozen) server.fault = usual;
      return undefined;
    });
    const frozen = () => thawed;
    server.fault = frozen;
  }

  #server(): LabServer {
    const random = this.#random;
    const server = this.#lab.server({
      rows: [1, 2, 3],
      onPrepare: () => {
        if (random.chance(0.1)) throw new OperatingError("invalid_argument", "no such table");
      },
      onChunk: (_, { signal }) =>
        this.#lab.clock.sleep(random.below(20_000), signal === undefined ? {} : { signal }),
    });
    server.fault = () => this.#fault();
    this.#all.push(server);
    return server;
  }

  #fault(): Fault | Promise<Fault> {
    const kind = this.#isCalm ? 1 : this.#random.float();
    if (kind < 0.08) return "fail";
    if (kind < 0.14) return "lose";
    if (kind > 0.18) return undefined;
    const late: Fault = this.#random.chance(0.5) ? "fail" : "lose";
    return this.#lab.clock.sleep(this.#random.below(CALL_MS_MAX)).then(() => late);
  }

  /** An end stands; only the note on a late result may be added to it. */
  async #check(): Promise<void> {
    for (const job of await this.#lab.store.jobs(NAMESPACE, { max: 1_000, queryLengthMax: 100 })) {
      const before = this.#ended.get(job.id);
      if (before !== undefined && job.error === `${before.error}; ${COMPUTED_TOO_LATE}`) {
        assert.ok(before.error?.startsWith(EXECUTOR_GONE));
        this.#ended.set(job.id, job);
      } else if (before !== undefined) assert.deepEqual(job, before);
      else if (!isOpen(job.status)) this.#ended.set(job.id, job);
      const result = await this.#lab.store.result(NAMESPACE, job.id);
      assert.equal(result !== undefined, job.status === "succeeded", "a result and its verdict");
      if (result !== undefined) assert.equal(result.rows, "[1],\n[2],\n[3]");
    }
    for (const server of this.#all) assert.ok(server.reservedBytes <= BUDGET_BYTES);
    const runs = this.#all.flatMap(({ engine }) => engine.requests.map(({ sql }) => sql));
    assert.equal(new Set(runs).size, runs.length, "no statement is run twice");
  }

  async #checkEnd(): Promise<void> {
    const jobs = await this.#lab.store.jobs(NAMESPACE, { max: 1_000, queryLengthMax: 100 });
    assert.deepEqual(jobs.filter(({ status }) => isOpen(status)), []);
    const byId = new Map(jobs.map((job) => [job.id, job]));
    for (const [id, query] of this.#accepted) assert.equal(byId.get(id)?.query, query);
    for (const { status, error } of jobs) assert.equal(error === undefined, status === "succeeded");
    for (const server of this.#alive) {
      const held = [server.reservedBytes, server.engine.open, server.executor.ids.length];
      assert.deepEqual(held, [0, 0, 0], server.name);
    }
  }
}

/** What a client can be told; anything else is a bug. */
function isExpected(error: unknown): void {
  const codes = ["unavailable", "rate_limited", "conflict", "not_found"];
  assert.ok(isOperatingError(error) && codes.includes(error.code), String(error));
}
