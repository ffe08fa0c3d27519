/** The range cache over a real S3-protocol server, healthy, failing and away. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { isOperatingError } from "../../../base/errors.ts";
import { RetryingStore } from "../../../storage/retrying_store.ts";
import { openS3Store } from "../../../storage/s3_store.ts";
import { EngineLab, type LabEvent } from "../../../testing/engine_lab.ts";
import { HoleRevealingFiles } from "../../../testing/hole_revealing_files.ts";
import { S3Process } from "../../../testing/s3_process.ts";
import { SeededRandom } from "../../../testing/seeded_random.ts";
import { SleeplessClock } from "../../../testing/sleepless_clock.ts";

const START_NS = 1_790_000_000_000_000_000n;

function rowsFrom(first: number): LabEvent[] {
  return Array.from({ length: 3_000 }, (_, i) => ({
    ns: START_NS + BigInt(first + i) * 1_000_000n,
    host: `h${i % 7}`,
    raw: `row ${first + i} ${Math.sin(i)} ${Math.sin(i + 0.5)}`,
    attributes: i % 5 === 0 ? null : `{"n":${i}}`,
  }));
}

async function fill(lab: EngineLab): Promise<void> {
  for (const first of [0, 3_000, 6_000]) {
    await lab.commit(rowsFrom(first), { rowGroupRowsMax: 1_000 });
  }
}

const STATEMENTS: readonly string[] = [
  "SELECT host, count(*) FROM events GROUP BY host ORDER BY host",
  "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 20",
  // No column stands alone here, so no index is asked: one that could not be read is asked for
  // again.
  "SELECT count(*) FROM events WHERE attributes || '' LIKE '%99%'",
  "SELECT * FROM events ORDER BY timestamp LIMIT 50",
];

Deno.test({
  name:
    "CachedDataFiles over S3 with slow, failing and half-answered requests has the right answers",
  fn: async () => {
    await using s3 = await S3Process.start();
    await using local = await EngineLab.open();
    await fill(local);
    const random = new SeededRandom(7);
    const deps = { clock: new SleeplessClock(), random };
    const store = new RetryingStore(openS3Store(s3.place("tables"), s3.access), deps);
    const files = new HoleRevealingFiles();
    await using remote = await EngineLab.open({ store, engine: { files } });
    await fill(remote);

    let asked = 0;
    s3.delayMs = 5;
    s3.faultOf = () => {
      asked += 1;
      const faults = ["half", { status: 503, code: "SlowDown" }, "reset"] as const;
      return asked % 4 === 0 ? faults[(asked >> 2) % 3] : undefined;
    };
    for (const sql of STATEMENTS) {
      const [expected, actual] = [await local.query(sql), await remote.query(sql)];
      deepStrictEqual(actual.texts, expected.texts, sql);
    }
    ok(asked > 12, `${asked} requests`);

    // A sidecar whose request met a fault is looked for again.
    const dataRequests = () => s3.requests.filter(({ path }) => !path.includes("/derived/")).length;
    const before = dataRequests();
    for (const sql of STATEMENTS) {
      const { scan } = (await remote.query(sql)).stats;
      deepStrictEqual([scan?.object_store_reads, scan?.fetched_bytes], [0, 0], sql);
    }
    strictEqual(dataRequests(), before);

    s3.faultOf = () => ({ status: 500, code: "InternalError" });
    const [known = ""] = STATEMENTS;
    deepStrictEqual((await remote.query(known)).texts, (await local.query(known)).texts);
    const error = await remote.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "unavailable"), String(error));
    ok(error.retryAfterSecs !== undefined);
    s3.faultOf = () => undefined;
    strictEqual((await remote.query("SELECT max(raw) FROM events")).rows.length, 1);
  },
});

Deno.test({
  name:
    "CachedDataFiles over S3 a store that does not answer is told with its object, in a part of the statement's time",
  fn: async () => {
    await using s3 = await S3Process.start();
    const deps = { clock: new SleeplessClock(), random: new SeededRandom(7) };
    const s3Store = openS3Store(s3.place("tables"), s3.access, { silentMsMax: 150 });
    await using remote = await EngineLab.open({ store: new RetryingStore(s3Store, deps) });
    await fill(remote);
    s3.faultOf = ({ method }) => method === "GET" ? "stall" : undefined;
    const startMs = performance.now();
    const error = await remote.query("SELECT max(raw) FROM events").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    ok(isOperatingError(error, "unavailable"), String(error));
    match(error.message, /^Cannot read svc\/\S+: the store did not answer/);
    deepStrictEqual([error.reason, error.retryAfterSecs], ["storage_unavailable", 5]);
    ok(performance.now() - startMs < 10_000);
    s3.faultOf = () => undefined;
    strictEqual((await remote.query("SELECT max(raw) FROM events")).rows.length, 1);
  },
});
