/** What a failing job store is to clients: docs/api/query.md#statuses. */

import assert from "node:assert/strict";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import type { JobStore } from "../../shared/catalog/job_store.ts";
import { openJobStore } from "../../shared/catalog/open_job_store.ts";
import { postgresError } from "../../shared/catalog/postgres_errors.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { createQueryMetrics } from "../metrics/metrics.ts";
import { guardedStore } from "./guarded_store.ts";

/** PostgreSQL's failure codes, and what each is to a client. */
const STATES: readonly (readonly [state: string, what: string, status: number])[] = [
  ["08006", "lost connection", 503],
  ["40001", "serialization failure", 503],
  ["40P01", "deadlock", 503],
  ["53300", "too many connections", 503],
  ["55P03", "lock not available", 503],
  ["57014", "statement timeout", 503],
  ["57P01", "restarting database", 503],
  ["57P03", "starting database", 503],
  ["ECONNREFUSED", "no server", 503],
  ["25006", "primary that became a standby", 503],
  ["3D000", "no such database", 500],
  ["28P01", "wrong password", 500],
  ["42501", "no right to the table", 500],
  ["42P01", "no such table", 500],
  ["23505", "unique violation", 500],
  ["58030", "the server's disk", 500],
  ["XX001", "corrupt table", 500],
];

for (const [state, what, status] of STATES) {
  Deno.test({
    name: `guardedStore tells ${what} (${state}) as ${status}`,
    async fn() {
      const cause = Object.assign(new Error(what), { code: state });
      const error = await failureOf(postgresError(cause, CALL));
      assert.equal(error.httpStatus, status);
      assert.equal(error.retryAfterSecs, status === 503 ? 5 : undefined);
      const reason = status === 503 ? "job_store_unavailable" : "job_store_failed";
      assert.equal(error.reason, reason);
      assert.doesNotMatch(error.message, /--catalog-uri/);
    },
  });
}

const CALL = { what: "read a job", option: "--jobs-postgres-uri", place: "postgres://db/jobs" };

Deno.test({
  name: "guardedStore tells a pool that has no connection in time, and SQLite's lock, as 503",
  async fn() {
    const pool = postgresError(new Error("timeout exceeded when trying to connect"), CALL);
    const locked = new OperatingError("unavailable", "database is locked", { retryAfterSecs: 1 });
    for (const error of [pool, locked]) {
      assert.deepEqual([
        (await failureOf(error)).httpStatus,
        (await failureOf(error)).retryAfterSecs,
      ], [
        503,
        5,
      ]);
    }
  },
});

Deno.test({
  name: "guardedStore opens the store when it is needed, and again after a failure",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using postgres = await PostgresProcess.start();
    const uri = await postgres.newDatabase();
    await postgres.kill();
    const metrics = createQueryMetrics({ version: "0", role: "query" });
    await using store = guardedStore({ open: () => openJobStore(uri), metrics });
    await assert.rejects(store.jobs("acme", { max: 1, queryLengthMax: 100 }), (error) => {
      assert.ok(isOperatingError(error, "unavailable"));
      assert.match(
        error.message,
        /job store: .*the server of --jobs-postgres-uri \(else --catalog-uri\) runs/,
      );
      return true;
    });
    await postgres.resume();
    assert.deepEqual(await store.jobs("acme", { max: 1, queryLengthMax: 100 }), []);
    await postgres.kill();
    await assert.rejects(
      store.jobs("acme", { max: 1, queryLengthMax: 100 }),
      (error) => isOperatingError(error, "unavailable"),
    );
    await postgres.resume();
    assert.deepEqual(await store.jobs("acme", { max: 1, queryLengthMax: 100 }), []);
  },
});

async function failureOf(error: unknown): Promise<OperatingError> {
  const metrics = createQueryMetrics({ version: "0", role: "query" });
  const failing = { job: () => Promise.reject(error) } as unknown as JobStore;
  const store = guardedStore({ open: () => Promise.resolve(failing), metrics });
  const told = await store.job("acme", "j").catch((thrown) => thrown);
  assert.ok(isOperatingError(told));
  return told;
}
