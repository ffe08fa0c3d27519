/**
 * Two query servers with one job store in PostgreSQL, while jobs are submitted, run and cancelled.
 * At random moments they are killed with SIGKILL and stopped for longer than their lease (SIGSTOP,
 * SIGCONT), and the database is killed now and then. Holds when at the end each job began once at
 * most, reached one terminal state and kept it. A job that `succeeded` has its own rows, and no
 * server holds memory for any. A trigger in the database keeps the log that this is read from.
 * Seconds of chaos: `SVC_TEST_CHAOS_SECS` (default 4).
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
// @ts-types="@types/pg"
import pg from "pg";
import { makeDataFolders } from "../../../cli/data_folders.ts";
import { processArguments } from "../../../cli/permissions.ts";
import { openJobStore } from "../../../shared/catalog/open_job_store.ts";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { newSeed, SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { freePorts } from "../../../shared/testing/free_ports.ts";

const CHAOS_SECS = Number(Deno.env.get("SVC_TEST_CHAOS_SECS") ?? "4");
const LEASE_SECS = 3;
const READY_MS_MAX = 90_000;
const SETTLE_MS_MAX = 60_000;
const REQUEST_MS_MAX = 5_000;
const TERMINAL = ["succeeded", "failed", "cancelled", "timeout"];

Deno.test({
  name:
    "two query servers, killed and paused past their lease, end each job once and run none twice",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    const seed = newSeed();
    const random = new SeededRandom(seed);
    await using postgres = await PostgresProcess.start();
    const uri = await postgres.newDatabase();
    await logTransitions(uri);
    await using pair = await Pair.start(uri);
    const over = new AbortController();
    const submitting = Promise.all([1, 2, 3].map((n) => pair.submitJobs(n, random, over.signal)));
    await trouble(pair, postgres, random);
    over.abort();
    await submitting;
    const jobs = await settled(pair, uri);
    checkLog(await logOf(uri), seed);
    await pair.checkResults(jobs, seed);
    await pair.checkNothingHeld(seed);
    const ends = TERMINAL.map((status) => jobs.filter((job) => job.status === status).length);
    const known = new Set(jobs.map(({ id }) => id));
    for (const id of pair.accepted.keys()) assert.ok(known.has(id), `seed ${seed}: lost job ${id}`);
    // How many there are depends on how busy the machine is; that there were some does not.
    assert.ok(pair.accepted.size > 0 && pair.kills > 0, `seed ${seed}: no trouble, ${ends}`);
    await pair.checkServes(seed);
    assert.doesNotMatch(
      await pair.stop(),
      /NotCapable|TypeError|AssertionError|svc@/,
      `seed ${seed}`,
    );
  },
});

interface Job {
  readonly id: string;
  readonly status: string;
  readonly error: string | null;
}

async function trouble(pair: Pair, postgres: PostgresProcess, random: SeededRandom): Promise<void> {
  const end = Date.now() + CHAOS_SECS * 1_000;
  for (let count = 0; Date.now() < end; count += 1) {
    await delay(300 + random.below(1_200));
    const at = random.below(2);
    // Each kind once, then any.
    const kind = count < 3 ? count : random.below(4);
    if (kind === 1) await pair.pause(at, LEASE_SECS * 1_000 + 1_500);
    else if (kind === 2) {
      await postgres.kill();
      await delay(random.below(2_000));
      await postgres.resume();
    } else await pair.kill(at);
  }
}

/** All jobs once all have ended. */
async function settled(pair: Pair, uri: string): Promise<readonly Job[]> {
  for (const until = Date.now() + SETTLE_MS_MAX;; await delay(300)) {
    const jobs = await rowsOf<Job>(uri, "SELECT job_id AS id, status, error FROM svc_jobs");
    const open = jobs.filter(({ status }) => !TERMINAL.includes(status));
    if (open.length === 0) return jobs;
    assert.ok(Date.now() < until, `${open.length} of ${jobs.length} jobs never ended`);
    for (const { id } of open) await pair.cancelIfEndless(id);
  }
}

interface Change {
  readonly job_id: string;
  readonly before: string | null;
  readonly after: string;
  readonly owner: string;
}

function checkLog(changes: readonly Change[], seed: number): void {
  const byJob = Map.groupBy(changes, ({ job_id }) => job_id);
  for (const [id, log] of byJob) {
    const steps = log.map(({ after }) => after).join(" ");
    assert.match(
      steps,
      /^pending( running)? (succeeded|failed|cancelled|timeout)$/,
      `seed ${seed}: ${id}`,
    );
    assert.equal(
      new Set(log.map(({ owner }) => owner)).size,
      1,
      `seed ${seed}: ${id} has one owner`,
    );
  }
}

const LOG = `
CREATE TABLE job_log (n BIGSERIAL, job_id TEXT, before TEXT, after TEXT, owner TEXT);
CREATE FUNCTION log_job() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO job_log (job_id, after, owner) VALUES (NEW.job_id, NEW.status, NEW.owner);
  ELSIF NEW.status <> OLD.status OR NEW.owner <> OLD.owner THEN
    INSERT INTO job_log (job_id, before, after, owner)
      VALUES (NEW.job_id, OLD.status, NEW.status, NEW.owner);
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER log_jobs AFTER INSERT OR UPDATE ON svc_jobs FOR EACH ROW EXECUTE FUNCTION log_job();
`;

async function logTransitions(uri: string): Promise<void> {
  await using store = await openJobStore(uri); // Makes the tables.
  assert.ok(store !== undefined);
  await rowsOf(uri, LOG);
}

function logOf(uri: string): Promise<Change[]> {
  return rowsOf(uri, "SELECT job_id, before, after, owner FROM job_log ORDER BY n");
}

async function rowsOf<R extends pg.QueryResultRow>(uri: string, sql: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  try {
    return (await client.query<R>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** A statement of each kind; `token` comes back in the rows of those that have some. */
const STATEMENTS: readonly ((token: string, random: SeededRandom) => Record<string, unknown>)[] = [
  (token) => ({ query: `SELECT '${token}' AS token` }),
  (token, random) => ({
    query: `SELECT '${token}' AS token, count(*) FROM range(${1 + random.below(500)}000000) t(n) ` +
      "WHERE hash(n) % 3 = 1",
  }),
  (token) => ({ query: `SELECT '${token}' AS token, no_such_column FROM range(3)` }),
  (token) => ({ query: endless(token), limits: { timeout_seconds: 0.3 } }),
  (token) => ({ query: endless(token) }),
];

function endless(token: string): string {
  return `SELECT '${token}' AS token, count(*) FROM range(900000000) a, range(900) b ` +
    "WHERE a.range + b.range < 0";
}

interface Server {
  readonly url: string;
  readonly metricsUrl: string;
  readonly args: readonly string[];
  process: Deno.ChildProcess;
}

/**
 * Two query servers, each under the permission set of its role and with a data directory of its
 * own.
 */
class Pair implements AsyncDisposable {
  readonly #dirs: readonly string[];
  readonly #servers: readonly Server[];
  readonly #errors: Promise<string>[] = [];
  /** Tokens by the id of each job that a server said it had accepted. */
  readonly accepted = new Map<string, string>();
  readonly #endless = new Set<string>();
  kills = 0;

  private constructor(dirs: readonly string[], uri: string) {
    this.#dirs = dirs;
    this.#servers = dirs.map((dir) => {
      const [port, metricsPort] = freePorts(2);
      const args = processArguments("query", dir, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
        ...["--jobs-postgres-uri", uri, "--jobs-owner-lease-secs", `${LEASE_SECS}`],
        ...["--jobs-cancel-poll-secs", "1", "--admission-wait-ms", "200", "--audit-disabled"],
        ...["--memory-pool-bytes", String(256 * 2 ** 20), "--threads", "1"],
      ]);
      return {
        url: `http://127.0.0.1:${port}`,
        metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
        args,
        process: this.#spawn(args),
      };
    });
  }

  static async start(uri: string): Promise<Pair> {
    const dirs: string[] = [];
    for (let n = 0; n < 2; n += 1) {
      const dir = await Deno.makeTempDir({ prefix: "svc-jobs-kill-" });
      await makeDataFolders(dir);
      dirs.push(dir);
    }
    const pair = new Pair(dirs, uri);
    for (const { url } of pair.#servers) await pair.#ready(url);
    return pair;
  }

  /** Submits jobs until `signal` aborts, and cancels some of them at either server. */
  async submitJobs(client: number, random: SeededRandom, signal: AbortSignal): Promise<void> {
    for (let count = 0; !signal.aborted; count += 1) {
      const token = `job-${client}-${count}`;
      const kind = (client + count) % STATEMENTS.length;
      const fields = STATEMENTS[kind]?.(token, random) ?? {};
      const body = { ...fields, priority: "batch" };
      const answer = await this.#ask(random.below(2), "POST", "/sql", body);
      const id = answer?.["job_id"];
      if (typeof id === "string") {
        this.accepted.set(id, token);
        const isEndless = kind === STATEMENTS.length - 1;
        if (isEndless) this.#endless.add(id);
        await delay(random.below(300));
        if (isEndless || random.chance(0.2)) {
          await this.#ask(random.below(2), "DELETE", `/jobs/${id}`);
        }
      } else await delay(100);
    }
  }

  /** Also one whose acceptance nobody heard of may have no end. */
  async cancelIfEndless(id: string): Promise<void> {
    if (this.#endless.has(id) || !this.accepted.has(id)) {
      await this.#ask(0, "DELETE", `/jobs/${id}`);
    }
  }

  async kill(at: number): Promise<void> {
    const server = this.#server(at);
    server.process.kill("SIGKILL");
    await server.process.status;
    server.process = this.#spawn(server.args);
    this.kills += 1;
    await this.#ready(server.url);
  }

  async pause(at: number, ms: number): Promise<void> {
    const { process } = this.#server(at);
    process.kill("SIGSTOP");
    await delay(ms);
    process.kill("SIGCONT");
  }

  /** Each job that succeeded has the rows of its own statement. */
  async checkResults(jobs: readonly Job[], seed: number): Promise<void> {
    for (const { id, status, error } of jobs) {
      if (status !== "succeeded") assert.ok(error, `seed ${seed}: ${id} says why`);
      const token = this.accepted.get(id);
      if (status !== "succeeded" || token === undefined) continue;
      const body = await this.#ask(1, "GET", `/jobs/${id}/result`);
      assert.equal(
        (body?.["rows"] as string[][] | undefined)?.[0]?.[0],
        token,
        `seed ${seed}: ${id}`,
      );
    }
  }

  /** Each server runs a job as if nothing had been. */
  async checkServes(seed: number): Promise<void> {
    for (const at of [0, 1]) {
      const body = { query: "SELECT 'calm' AS token", priority: "batch" };
      const id = (await this.#ask(at, "POST", "/sql", body))?.["job_id"];
      const result = async () => await this.#ask(1 - at, "GET", `/jobs/${id}/result`);
      let rows: unknown;
      for (const until = Date.now() + SETTLE_MS_MAX; rows === undefined; await delay(100)) {
        assert.ok(Date.now() < until, `seed ${seed}: server ${at} ran no job any more`);
        rows = (await result())?.["rows"];
      }
      assert.deepEqual(rows, [["calm"]], `seed ${seed}`);
    }
  }

  /** Neither memory nor statements nor verdicts are left behind. */
  async checkNothingHeld(seed: number): Promise<void> {
    const series = ["admission_reserved_bytes", "jobs_running", "jobs_unpersisted", "in_flight"];
    for (const { metricsUrl } of this.#servers) {
      for (const until = Date.now() + SETTLE_MS_MAX;; await delay(200)) {
        const text = await (await fetch(metricsUrl)).text();
        const held = series.filter((name) => !text.includes(`\nsvc_query_${name} 0\n`));
        if (held.length === 0) break;
        assert.ok(Date.now() < until, `seed ${seed}: still held: ${held}`);
      }
    }
  }

  /** Ends both; what all that ran wrote to stderr. */
  async stop(): Promise<string> {
    for (const { process } of this.#servers) {
      try {
        process.kill("SIGTERM");
      } catch {
        // It has ended.
      }
      await process.status;
    }
    return (await Promise.all(this.#errors)).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    for (const dir of this.#dirs) await Deno.remove(dir, { recursive: true });
  }

  #server(at: number): Server {
    const server = this.#servers[at];
    assert.ok(server !== undefined);
    return server;
  }

  /** The body of an answer that is one; whatever else happens is the chaos. */
  async #ask(
    at: number,
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Record<string, unknown> | undefined> {
    try {
      const response = await fetch(`${this.#server(at).url}/api/v1${path}`, {
        method,
        headers: { "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
      });
      const answer = await response.json();
      return response.ok ? answer : undefined;
    } catch {
      return undefined;
    }
  }

  async #ready(url: string): Promise<void> {
    for (const until = Date.now() + READY_MS_MAX;; await delay(50)) {
      const response = await fetch(`${url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      if (response?.ok) return;
      assert.ok(Date.now() < until, `${url} was not ready in ${READY_MS_MAX} ms`);
    }
  }

  #spawn(args: readonly string[]): Deno.ChildProcess {
    const process = new Deno.Command(Deno.execPath(), {
      args: [...args],
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#errors.push(new Response(process.stderr).text());
    return process;
  }
}
