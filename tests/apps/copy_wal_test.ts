/**
 * `examples/copy_wal.ts` as its README starts it: a process with permissions for its own places,
 * killed at random moments while rows come.
 */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { openWal } from "../../shared/wal/wal.ts";

const LANE = { tenant: "default", index: "events" };
const BATCH_ROWS = 200;
const KILLS = 6;
const SEED = Number(Deno.env.get("SVC_TEST_COPY_SEED") ?? Date.now() % 1_000_000);
/** Ends a process that does nothing. */
const DEADLINE_MS = 120_000;

interface Place {
  readonly wal: string;
  readonly out: string;
}

async function withPlace(act: (place: Place) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "copy-wal-" });
  try {
    const place = { wal: `${folder}/wal`, out: `${folder}/copy` };
    await Deno.mkdir(place.out);
    await act(place);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Appends `segments` segments of two frames, whose rows are numbered by `raw`, and yields the name
 * of each when it is sealed.
 */
async function* fill({ wal: root }: Place, segments: number): AsyncGenerator<string> {
  const fs = new DenoFileSystem();
  const clock = new SystemClock();
  await using wal = await openWal({ fs, clock, random: new SystemRandom(), root, freeBytesMin: 1 });
  for (let at = 0; at < segments; at++) {
    for (const half of [0, 1]) {
      const from = (2 * at + half) * BATCH_ROWS;
      const rows = Array.from({ length: BATCH_ROWS }, (_, row) => rowOf(from + row));
      await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "wait_for");
    }
    yield await wal.seal(LANE) ?? assert.fail("nothing was sealed");
  }
}

/** Larger than a double can hold, as nanoseconds of today are. */
const FIRST_NS = 1_795_250_209_000_000_001n;

function rowOf(number: number) {
  return {
    timestamp: (FIRST_NS + BigInt(number)) / 1_000n,
    timestamp_ns: FIRST_NS + BigInt(number),
    host: "here",
    source: "test",
    sourcetype: "log",
    index: "main",
    raw: String(number),
    attributes: number % 2 === 0 ? null : `{"n":"${number}"}`,
  };
}

/** The command of examples/README.md, over `place`. */
async function copying({ wal, out }: Place, ...flags: string[]): Promise<Deno.ChildProcess> {
  const readme = await Deno.readTextFile(workspacePath("examples/README.md"));
  const [, command] =
    /\$ npx -y deno@[\d.]+ (run [^]*?copy_wal\.ts data\/wal copy)\n/.exec(readme) ??
      assert.fail("examples/README.md has no command that starts copy_wal.ts");
  const args = command?.replaceAll("\\\n", "").split(/\s+/)
    .map((word) => word.replaceAll("data/wal", wal).replace(/(?<=^|[=,])copy\b(?!_)/g, out)) ?? [];
  assert.ok(
    args.some((word) => word.startsWith("--allow-write=")),
    "it has permissions of its own",
  );
  return new Deno.Command(Deno.execPath(), {
    args: [...args, ...flags],
    cwd: workspacePath("."),
    signal: AbortSignal.timeout(DEADLINE_MS),
    stdout: "piped",
    stderr: "piped",
  }).spawn();
}

async function copyOnce(place: Place): Promise<string[]> {
  const { code, stdout, stderr } = await (await copying(place, "--once")).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
}

/** Every row of every copied file, the files by name. */
async function copied({ out }: Place): Promise<{ files: string[]; rows: unknown[] }> {
  const folder = `${out}/default/events`;
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) if (!/\.json/.test(name)) files.push(name);
  files.sort();
  const texts = await Promise.all(files.map((name) => Deno.readTextFile(`${folder}/${name}`)));
  const rows = texts.flatMap((text) => text.trimEnd().split("\n").map((line) => JSON.parse(line)));
  return { files, rows };
}

function expectedRows(segments: number): unknown[] {
  return Array.from({ length: 2 * segments * BATCH_ROWS }, (_, number) => {
    const { timestamp, timestamp_ns, ...rest } = rowOf(number);
    return { timestamp: String(timestamp), timestamp_ns: String(timestamp_ns), ...rest };
  });
}

Deno.test({
  name:
    `copy_wal.ts, killed at random moments while rows come, has copied each row once, seed ${SEED}`,
  fn: () =>
    withPlace(async (place) => {
      const random = new SeededRandom(SEED);
      const names: string[] = [];
      const sealing = fill(place, 4 * KILLS);
      const sealNext = async (count: number) => {
        for (let at = 0; at < count; at++) {
          const { value } = await sealing.next();
          if (typeof value === "string") names.push(value);
        }
      };
      const admin = openWalConsumerAdmin(new DenoFileSystem(), new SystemClock(), place.wal);
      for (let kill = 0; kill < KILLS; kill++) {
        await sealNext(2);
        const child = await copying(place);
        const lines = child.stdout.getReader();
        const moved = sealNext(2).then(() => admin.markCommitted(LANE, names.slice(0, -3)));
        // Kills the first ones soon after a segment was copied, the others while it starts.
        if (kill % 3 < 2) await lines.read();
        await new Promise((resolve) => setTimeout(resolve, random.below(30)));
        child.kill("SIGKILL");
        await Promise.all([moved, lines.cancel(), child.stderr.cancel()]);
        assert.equal((await child.status).signal, "SIGKILL", "it runs until it is killed");
      }
      await sealing.return(undefined);
      await copyOnce(place);
      const { files, rows } = await copied(place);
      assert.deepEqual(files, names.map((name) => `${name}.ndjson`));
      assert.deepEqual(rows, expectedRows(4 * KILLS));
      assert.deepEqual(await copyOnce(place), [], "there is nothing left");
    }),
});

Deno.test({
  name: "copy_wal.ts, killed between a file and its commit, finds the file and commits",
  fn: () =>
    withPlace(async (place) => {
      const names = await Array.fromAsync(fill(place, 3));
      const cursor = `${place.out}/default/events/copy_wal.json`;
      assert.deepEqual(await copyOnce(place), names);
      const before = JSON.parse(await Deno.readTextFile(cursor));
      assert.equal(before.upTo, names[2]);
      const fileOf = (name = "") => `${place.out}/default/events/${name}.ndjson`;
      const { ino } = await Deno.stat(fileOf(names[2]));
      // Where such a kill leaves the cursor, and what a kill within a file leaves.
      await Deno.writeTextFile(cursor, JSON.stringify({ ...before, upTo: names[0] }));
      const half = (await Deno.readTextFile(fileOf(names[1]))).slice(0, 1_000);
      await Deno.remove(fileOf(names[1]));
      await Deno.writeTextFile(`${fileOf(names[1])}.tmp`, half);
      assert.deepEqual(await copyOnce(place), names.slice(1));
      assert.equal(
        (await Deno.stat(fileOf(names[2]))).ino,
        ino,
        "a file that is there is not written again",
      );
      assert.deepEqual((await copied(place)).rows, expectedRows(3));
      assert.deepEqual((await copied(place)).files, names.map((name) => `${name}.ndjson`));
    }),
});

Deno.test({
  name: "copy_wal.ts says when there is no WAL at its path",
  fn: () =>
    withPlace(async (place) => {
      const { code, stderr } = await (await copying(place, "--once")).output();
      assert.equal(code, 1);
      assert.match(
        new TextDecoder().decode(stderr),
        /cannot open the WAL at ".*\/wal".*no file LOCK/,
      );
    }),
});
