/** `svc wal-check`, `wal-requeue` and `table-info` on a WAL that is damaged, and on a whole one. */

import assert from "node:assert/strict";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { segmentPath } from "../../shared/wal/layout.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import { openWal } from "../../shared/wal/wal.ts";
import { eventLines, runRecorded } from "../recorded_run.ts";

const LANE = { tenant: "default", index: "events" };
const START_NS = 1_795_200_000_000_000_000n;
const files = new DenoFileSystem();

Deno.test({
  name: "wal-check tells segments, frames and rows of a whole WAL, and exits with 0",
  fn: () =>
    withWal(async ({ check, names }) => {
      const { status, output, notes } = await check();
      assert.equal(status, 0);
      assert.deepEqual(cellsOf(output)[1]?.slice(0, 5), [
        "default/events",
        "sealed",
        "2",
        "6",
        "6",
      ]);
      assert.match(notes, /every frame is intact, and no segment is missing/);
      const lines = jsonLines((await check("--json")).output);
      assert.deepEqual(
        lines.map(({ segment, state, frames, rows, fault, damage }) => [
          ...[segment, state, frames, rows, fault, damage],
        ]),
        names.map((name) => [name, "sealed", 3, 3, false, []]),
      );
    }),
});

Deno.test({
  name:
    "wal-check names each damaged frame by its offset, and each missing segment, and exits with 1",
  fn: () =>
    withWal(async ({ root, check, names }) => {
      const [first = "", second = ""] = names;
      const hit = await damage(root, { name: first, state: "sealed", frame: 1 });
      await Deno.remove(segmentPath(root, LANE, { state: "sealed", name: second }));
      const { status, output, notes } = await check();
      assert.equal(status, 1);
      assert.match(output, new RegExp(`${hit.offset}-${hit.endOffset}`));
      assert.match(output, new RegExp(`${second}.*missing: it was sealed and is gone.*3`));
      assert.match(notes, /without --catalog, a segment counts as missing that a table may have/);
      assert.match(notes, /2 faults/);
      const [damaged, missing] = jsonLines((await check("--json")).output);
      const stretch = { offset: hit.offset, end_offset: hit.endOffset, rows: 1 };
      assert.deepEqual([damaged?.["frames"], damaged?.["rows"], damaged?.["damage"]], [
        ...[2, 2, [stretch]],
      ]);
      assert.deepEqual([missing?.["kind"], missing?.["segment"], missing?.["rows"]], [
        ...["missing", second, 3],
      ]);
    }),
});

Deno.test({
  name: "wal-requeue moves a damaged segment, and table-info names what is lost and what is gone",
  fn: () =>
    withWal(async ({ dataDir, root, check, names }) => {
      const [first = "", second = ""] = names;
      await openWalConsumerAdmin(files, new SystemClock(), root).markPoison(LANE, first);
      const hit = await damage(root, { name: first, state: "poison", frame: 2 });
      const requeue = (...args: string[]) =>
        runRecorded(dataDir, "wal-requeue", ["--wal", root, ...args]);
      const bytes = `the drain takes ${hit.endOffset - hit.offset} damaged bytes \\(1 row\\)`;
      const dry = await requeue("--dry-run");
      assert.match(dry.output, new RegExp(`would move with 2 rows; ${bytes} from the mirror`));
      const done = await requeue();
      assert.equal(done.status, 0);
      assert.match(
        done.output,
        new RegExp(`${first}  moved with 2 rows; ${bytes} from the mirror`),
      );
      const drain = openWalConsumerAdmin(files, new SystemClock(), root);
      await drain.setDamageAside(LANE, first, [{ ...hit, rows: 1 }]);
      await Deno.remove(segmentPath(root, LANE, { state: "sealed", name: second }));
      // A table, so that there is something to tell of.
      await runRecorded(dataDir, "ingest", [], eventLines(5, { seed: 1, firstNs: START_NS }));
      const { output, notes } = await runRecorded(dataDir, "table-info", []);
      assert.match(notes, new RegExp(`svc.events: WAL segment ${second} with 3 rows is gone`));
      assert.match(notes, new RegExp(`svc.events: WAL segment ${first} lacks 1 row`));
      const [columns = [], info = []] = cellsOf(output);
      assert.equal(info[columns.indexOf("WAL faults")], "2");
      assert.equal((await check()).status, 1);
    }),
});

Deno.test({
  name: "wal-check where there is no WAL says so",
  fn: () =>
    withWal(async ({ dataDir }) => {
      for (
        const [wal, what] of [["nowhere", "there is no such directory; give "], [
          ".",
          "it is no WAL",
        ]] as const
      ) {
        const args = ["--wal", `${dataDir}/${wal}`];
        const { status, notes } = await runRecorded(dataDir, "wal-check", args);
        assert.equal(status, 1);
        assert.match(notes, new RegExp(`Cannot check --wal .*: ${what}`));
      }
    }),
});

interface Lab {
  readonly dataDir: string;
  readonly root: string;
  /** Two sealed segments of three frames of a row each. */
  readonly names: readonly string[];
  check(...args: string[]): ReturnType<typeof runRecorded>;
}

async function withWal(test: (lab: Lab) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-wal-check-" });
  const root = `${dataDir}/wal`;
  try {
    await Deno.mkdir(root);
    const [clock, random] = [new SystemClock(), new SystemRandom()];
    const wal = await openWal({ fs: files, clock, random, root, freeBytesMin: 0 });
    const names: string[] = [];
    for (let at = 0; at < 2; at += 1) {
      const appends = [0, 1, 2].map((number) => wal.append(LANE, batchOf(number), "wait_for"));
      names.push((await Promise.all(appends))[0]?.segment ?? "");
      await wal.seal(LANE);
    }
    await wal.close();
    const check = (...args: string[]) =>
      runRecorded(dataDir, "wal-check", ["--wal", root, ...args]);
    await test({ dataDir, root, names, check });
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

function batchOf(number: number) {
  const ns = START_NS + BigInt(number);
  const core = { host: "h", source: "s", sourcetype: "t", index: "main", raw: `row ${number}` };
  return encodeBatch(
    batchOfRows(EVENTS_SCHEMA, [{ timestamp: ns / 1_000n, timestamp_ns: ns, ...core }]),
  );
}

/** Changes a byte of a frame; where the frame is. */
async function damage(
  root: string,
  { name, state, frame }: {
    readonly name: string;
    readonly state: "sealed" | "poison";
    readonly frame: number;
  },
): Promise<{ readonly offset: number; readonly endOffset: number }> {
  const path = segmentPath(root, LANE, { state, name });
  await using segment = await openWalReader(files, root).open(LANE, name);
  const { offset, endOffset } = (await Array.fromAsync(segment.frames()))[frame] ??
    { offset: 0, endOffset: 0 };
  const bytes = await Deno.readFile(path);
  bytes[offset + 40] = (bytes[offset + 40] ?? 0) ^ 16;
  await Deno.writeFile(path, bytes);
  return { offset, endOffset };
}

function cellsOf(output: string): string[][] {
  return output.split("\n").filter((line) => line.includes("|"))
    .map((line) => line.split("|").map((cell) => cell.trim()));
}

function jsonLines(output: string): Record<string, unknown>[] {
  return output.trim().split("\n").map((line) => JSON.parse(line) as Record<string, unknown>);
}
