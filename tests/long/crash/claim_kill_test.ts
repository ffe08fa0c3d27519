/**
 * Two compactors with `--catalog-claim` over one PostgreSQL and one mirror. At random moments they
 * are killed with SIGKILL and stopped for longer than their lease (SIGSTOP, SIGCONT), while
 * segments keep coming into the mirror. The mirror is in a folder, and in S3 that adds 20 ms to
 * each request and fails some. Holds when at the end each row of each segment is in the table
 * exactly once. Seconds of chaos: `SVC_TEST_CHAOS_SECS` (default 4), and at least three troubles.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { join } from "node:path";
import { makeDataFolders } from "../../../cli/data_folders.ts";
import { processArguments } from "../../../cli/permissions.ts";
import { openPostgresCatalog } from "../../../shared/catalog/postgres_catalog.ts";
import { IcebergReader } from "../../../shared/iceberg/iceberg_reader.ts";
import { SystemClock } from "../../../shared/os/clock.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../../shared/os/random.ts";
import { openLocalStore } from "../../../shared/storage/local_store.ts";
import type { ObjectStore } from "../../../shared/storage/object_store.ts";
import { RetryingStore } from "../../../shared/storage/retrying_store.ts";
import { openS3Store } from "../../../shared/storage/s3_store.ts";
import { segmentBytes } from "../../../shared/testing/claim_lab.ts";
import { EVENTS_LANE } from "../../../shared/testing/drain_lab.ts";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { S3Process } from "../../../shared/testing/s3_process.ts";
import { newSeed, SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { SegmentNames } from "../../../shared/wal/layout.ts";
import { segmentKey } from "../../../shared/wal/mirror/mirror_layout.ts";
import { numbersIn } from "../../../shared/testing/numbers_in_files.ts";

const CHAOS_SECS = Number(Deno.env.get("SVC_TEST_CHAOS_SECS") ?? "4");
const LEASE_SECS = 3;
const ROWS_PER_SEGMENT = 5;
const SEGMENT_EVERY_MS = 250;
const SETTLE_MS_MAX = 60_000;
const TROUBLES_MIN = 3;
const EVENTS = { namespace: "svc", name: "events" };

Deno.test({
  name:
    "two claiming compactors, killed and paused past their lease, commit every row of a folder once",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  fn: () =>
    inDataDir(async (dataDir) => {
      const store = openLocalStore(new DenoFileSystem(), join(dataDir, "warehouse"));
      await commitsEachRowOnce({ dataDir, store, args: [], env: {} });
    }),
});

Deno.test({
  name: "two claiming compactors, killed and paused past their lease, commit every row of S3 once",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  fn: () =>
    inDataDir(async (dataDir) => {
      await using s3 = await S3Process.start();
      s3.delayMs = 20;
      const random = new SeededRandom(1);
      s3.faultOf = () => random.chance(0.02) ? { status: 503, code: "SlowDown" } : undefined;
      const clock = new SystemClock();
      const bare = openS3Store(s3.place("lake"), s3.access);
      await commitsEachRowOnce({
        dataDir,
        store: new RetryingStore(bare, { clock, random: new SystemRandom() }),
        args: ["--warehouse-url", "s3://warehouse/lake"],
        env: s3.environment,
      });
    }),
});

interface Place {
  readonly dataDir: string;
  readonly store: ObjectStore;
  /** Options and variables that lead a compactor to `store`. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

async function commitsEachRowOnce(place: Place): Promise<void> {
  const { store } = place;
  const seed = newSeed();
  await using postgres = await PostgresProcess.start();
  const uri = await postgres.newDatabase();
  const over = new AbortController();
  const segments = mirrorSegments(store, over.signal);
  await using pair = new Pair(place, uri);
  await pair.trouble(new SeededRandom(seed), CHAOS_SECS);
  over.abort();
  const rows = await segments * ROWS_PER_SEGMENT;
  const expected = Array.from({ length: rows }, (_, at) => at);
  for (const end = Date.now() + SETTLE_MS_MAX; Date.now() < end;) {
    if ((await tableNumbers(store, uri)).length >= rows) break;
    await delay(500);
  }
  assert.deepEqual(await tableNumbers(store, uri), expected, `seed ${seed}`);
  assert.ok(rows > 50, `seed ${seed}: ${rows} rows`);
  assert.doesNotMatch(await pair.stop(), /NotCapable|TypeError|svc@/, `seed ${seed}`);
}

async function inDataDir(body: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-claims-" });
  try {
    await makeDataFolders(dataDir);
    await body(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Puts numbered segments into the mirror until `signal` aborts; how many. */
async function mirrorSegments(store: ObjectStore, signal: AbortSignal): Promise<number> {
  const names = new SegmentNames(new SystemClock(), new SystemRandom());
  let count = 0;
  for (; !signal.aborted; count += 1) {
    const first = count * ROWS_PER_SEGMENT;
    const numbers = Array.from({ length: ROWS_PER_SEGMENT }, (_, at) => first + at);
    const key = segmentKey("wal-mirror", EVENTS_LANE, names.next());
    await store.putNew(key, segmentBytes(numbers, EVENTS_LANE));
    await delay(SEGMENT_EVERY_MS);
  }
  return count;
}

/** Two compactor processes, each under the permission set of its role. */
class Pair implements AsyncDisposable {
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #processes: Deno.ChildProcess[];
  readonly #errors: Promise<string>[] = [];
  kills = 0;
  pauses = 0;

  constructor({ dataDir, args, env }: Place, uri: string) {
    this.#env = env;
    this.#args = processArguments("compactor", dataDir, [
      ...args,
      ...["--catalog-uri", uri, "--metrics-bind", "127.0.0.1:0", "--catalog-claim"],
      ...["--claim-lease-secs", `${LEASE_SECS}`, "--claim-attempts-max", "1000"],
      ...["--commit-max-age-secs", "0"],
    ], env);
    this.#processes = [this.#start(), this.#start()];
  }

  async trouble(random: SeededRandom, secs: number): Promise<void> {
    const end = Date.now() + secs * 1_000;
    while (Date.now() < end || this.kills + this.pauses < TROUBLES_MIN) {
      await delay(500 + random.below(1_500));
      const at = random.below(2);
      const process = this.#processes[at];
      if (process === undefined) continue;
      if (random.chance(0.3)) {
        process.kill("SIGSTOP");
        await delay(LEASE_SECS * 1_000 + 500);
        process.kill("SIGCONT");
        this.pauses += 1;
      } else {
        process.kill("SIGKILL");
        await process.status;
        this.#processes[at] = this.#start();
        this.kills += 1;
      }
    }
  }

  /** Ends both; what all that ran wrote to stderr. */
  async stop(): Promise<string> {
    for (const process of this.#processes.splice(0)) {
      process.kill("SIGTERM");
      await process.status;
    }
    return (await Promise.all(this.#errors)).join("");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #start(): Deno.ChildProcess {
    const process = new Deno.Command(Deno.execPath(), {
      args: [...this.#args],
      env: this.#env,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    this.#errors.push(new Response(process.stderr).text());
    return process;
  }
}

async function tableNumbers(store: ObjectStore, uri: string): Promise<number[]> {
  await using catalog = await openPostgresCatalog({ uri, readOnly: true });
  const location = await catalog.metadataLocation(EVENTS);
  if (location === undefined) return [];
  const reader = new IcebergReader(store);
  const table = await reader.loadTable(EVENTS, location);
  const { files } = await reader.selectFiles(table);
  return await numbersIn(store, files.map(({ key }) => key));
}
