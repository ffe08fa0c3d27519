import assert from "node:assert/strict";
import { join } from "node:path";
import { JOB_CASES, type JobCase } from "../testing/job_store_conformance.ts";
import { POSTGRES, PostgresProcess } from "../testing/postgres_process.ts";
import { listenToJobEnds, openJobStore } from "./open_job_store.ts";

Deno.test({
  name: "JobStore in SQLite",
  async fn(t) {
    const folder = await Deno.makeTempDir({ prefix: "svc-jobs-" });
    try {
      let at = 0;
      for (const { name, run } of JOB_CASES) {
        const place = join(folder, `jobs-${at += 1}.db`);
        await t.step(name, () => runAt(place, run));
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "JobStore in PostgreSQL",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn(t) {
    await using postgres = await PostgresProcess.start();
    const uri = await postgres.newDatabase();
    for (const { name, run } of JOB_CASES) {
      await t.step(name, async () => {
        await emptied(uri);
        await runAt(uri, run);
      });
    }
    await t.step("who listens hears each end, whoever brought it about", () => hearsEnds(uri));
  },
});

async function runAt(place: string, run: JobCase["run"]): Promise<void> {
  const [store, other] = await Promise.all([openJobStore(place), openJobStore(place)]);
  await using _store = store;
  await using _other = other;
  await run({ store, other });
}

/** Making a database for each case takes longer than the cases. */
async function emptied(uri: string): Promise<void> {
  await using store = await openJobStore(uri);
  assert.ok(store !== undefined);
  // @ts-types="@types/pg"
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: uri });
  await client.connect();
  await client.query("DELETE FROM svc_jobs; DELETE FROM svc_job_results");
  await client.end();
}

async function hearsEnds(uri: string): Promise<void> {
  await emptied(uri);
  const heard: (string | undefined)[] = [];
  await using listener = listenToJobEnds(uri, (id) => heard.push(id));
  await until(() => listener?.isListening === true);
  await using store = await openJobStore(uri);
  const job = { namespace: "acme", query: "SELECT 1", owner: "o", leaseMs: 60_000 };
  for (const id of ["a", "b", "c"]) await store.submit({ ...job, id });
  await store.cancel("acme", "a");
  const error = "no such table";
  await store.finish("b", "o", { verdict: "failed", error, cost: undefined, progress: undefined });
  await store.renew("o", ["c"], 0);
  await store.condemn("c", { error, ownerlessGraceMs: 0 });
  await until(() => heard.length >= 4);
  assert.deepEqual(heard, [undefined, "a", "b", "c"]);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 1_000, "not within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
