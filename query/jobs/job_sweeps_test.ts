/**
 * What becomes of results in the warehouse: none is left when its job is gone, and none goes
 * before.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { JobLab, type LabServer, NAMESPACE } from "../../tests/jobs/job_lab.ts";
import { JOB_TTL_MS, JOBS_KEPT_MAX, LEFTOVER_AGE_MS_MIN } from "./limits.ts";

const LARGE = { rows: Array.from({ length: 3 }, () => "x".repeat(2 ** 20)), chunkRows: 1 };
const UNKNOWN = "01a1fd28-6c3a-7235-b977-7cd770e934b0";

interface Place {
  readonly lab: JobLab<FakeClock>;
  /** Where results are. */
  readonly folder: string;
  files(): Promise<string[]>;
}

function test(name: string, fn: (place: Place) => Promise<void>): void {
  Deno.test({
    name: `JobSweeps ${name}`,
    async fn() {
      // Files have the system's times.
      await using lab = await JobLab.open(new FakeClock(Date.now()));
      const folder = `${lab.dir}/warehouse/svc/job_results`;
      const files = async () =>
        (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
      await fn({ lab, folder, files });
    },
  });
}

async function largeJob(server: LabServer): Promise<string> {
  const id = await server.submit();
  await until(async () => (await server.lab.job(id))?.status === "succeeded");
  return id;
}

test("remove a large result with its job, and not before", async ({ lab, files }) => {
  const server = lab.server(LARGE);
  const id = await largeJob(server);
  assert.deepEqual(await files(), [`${id}-00000.parquet`]);
  await lab.clock.advance(JOB_TTL_MS - 120_000);
  assert.deepEqual(await server.rowsOf(id), LARGE.rows.map((row) => [row]));
  await lab.clock.advance(240_000);
  assert.equal(await lab.job(id), undefined);
  await until(async () => (await files()).length === 0);
});

test("remove the oldest ended jobs of a tenant that has too many, with their files", async (place) => {
  const { lab, files } = place;
  const server = lab.server(LARGE);
  const id = await largeJob(server);
  addEndedJobs(lab, JOBS_KEPT_MAX - 1);
  await server.sweeps.expire();
  assert.deepEqual(await files(), [`${id}-00000.parquet`]);
  const [oldest] = addEndedJobs(lab, 1);
  await server.sweeps.expire();
  assert.deepEqual([await lab.job(id), await files()], [undefined, []]);
  assert.equal((await lab.job(oldest ?? ""))?.status, "failed", "as many as there is room for");
});

test("remove old files that no job knows, and leave those of jobs and young ones", async (place) => {
  const { lab, folder, files } = place;
  const server = lab.server(LARGE);
  const id = await largeJob(server);
  const row = new TextEncoder().encode("[1],\n");
  for (const part of [0, 1]) await server.parts.put(UNKNOWN, part, [row]);
  const all = [`${UNKNOWN}-00000.parquet`, `${UNKNOWN}-00001.parquet`, `${id}-00000.parquet`]
    .sort();
  await server.sweeps.removeLeftovers();
  assert.deepEqual(await files(), all, "they are young");
  const longAgo = new Date(Date.now() - LEFTOVER_AGE_MS_MIN - 60_000);
  for (const name of all) await Deno.utime(`${folder}/${name}`, longAgo, longAgo);
  await server.sweeps.removeLeftovers();
  assert.deepEqual(await files(), [`${id}-00000.parquet`]);
});

test("leave no file of a job that failed or was cancelled midway", async ({ lab, files }) => {
  const rows = Array.from({ length: 40 }, () => "x".repeat(2 ** 20));
  const gate = Promise.withResolvers<void>();
  const server = lab.server({
    rows,
    chunkRows: 1,
    onChunk: (at) => at === 30 ? gate.promise : undefined,
  });
  const id = await server.submit();
  await until(async () => (await files().catch(() => [])).length > 0);
  await server.jobs.cancel(NAMESPACE, id);
  gate.resolve();
  await until(() => Promise.resolve(server.reservedBytes === 0));
  assert.deepEqual(await files(), []);
});

test("leave no file of a result that came after its job's cancellation", async ({ lab, files }) => {
  const gate = Promise.withResolvers<void>();
  const server = lab.server({ ...LARGE, onChunk: () => gate.promise });
  server.fault = (call) => call === "report" ? "fail" : undefined;
  const id = await server.submit();
  await lab.clock.advance(0);
  await lab.server().jobs.cancel(NAMESPACE, id);
  gate.resolve();
  await until(() => Promise.resolve(server.calls.includes("finish") && server.reservedBytes === 0));
  assert.deepEqual([(await lab.job(id))?.status, await files()], ["cancelled", []]);
});

/**
 * Behind the store's back, which would take them one by one; their ids are newer than that of any
 * other job.
 */
function addEndedJobs({ dir, clock }: JobLab<FakeClock>, count: number): string[] {
  using database = new DatabaseSync(`${dir}/jobs.db`);
  const add = database.prepare(
    "INSERT INTO svc_jobs (job_id, table_namespace, status, query, lease_ends_ms, submitted_ms, ended_ms) " +
      "VALUES (?, ?, 'failed', 'SELECT 1', 0, 0, ?)",
  );
  const ids = Array.from({ length: count }, () => `f${crypto.randomUUID().slice(1)}`);
  database.exec("BEGIN");
  for (const id of ids) add.run(id, NAMESPACE, clock.nowMs());
  database.exec("COMMIT");
  return ids;
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; !await condition(); tries += 1) {
    assert.ok(tries < 2_000, "not within twenty seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
