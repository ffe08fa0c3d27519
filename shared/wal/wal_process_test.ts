/** The WAL on the real file system, with real processes: the lock, and a kill in mid-flight. */

import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SystemRandom } from "../os/random.ts";
import { numberedBatch, rowsOfMessage } from "../testing/numbered_rows.ts";
import { until } from "../testing/until.ts";
import { openWalReader } from "./reader.ts";
import type { Wal } from "./types.ts";
import { openWal } from "./wal.ts";

const LANE: LaneId = { tenant: "default", index: "events" };

/**
 * Appends numbered rows from eight tasks, prints each that was acknowledged, until it is killed.
 */
const WRITER = `
  const [base, root] = Deno.args;
  const load = (path) => import(new URL(path, base).href);
  const { openWal } = await load("./wal.ts");
  const { DenoFileSystem } = await load("../os/deno_file_system.ts");
  const { SystemClock } = await load("../os/clock.ts");
  const { SystemRandom } = await load("../os/random.ts");
  const { numberedBatch } = await load("../testing/numbered_rows.ts");
  const wal = await openWal({
    fs: new DenoFileSystem(),
    clock: new SystemClock(),
    random: new SystemRandom(),
    root,
    eventsMax: 50,
    freeBytesMin: 1,
  });
  let next = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (;;) {
      const row = next++;
      const batch = numberedBatch([row], { messageBytes: 50_000 });
      await wal.append({ tenant: "default", index: "events" }, batch, row % 3 ? "wait_for" : "auto");
      Deno.stdout.writeSync(new TextEncoder().encode(row + "\\n"));
    }
  }));
`;

function open(root: string) {
  return openWal({
    fs: new DenoFileSystem(),
    clock: new SystemClock(),
    random: new SystemRandom(),
    root,
  });
}

Deno.test({
  name: "openWal() refuses a second process; after SIGKILL every acknowledged row is there once",
  async fn() {
    const root = await Deno.makeTempDir();
    try {
      const child = new Deno.Command(Deno.execPath(), {
        args: ["eval", "--frozen", "--config", configPath(), WRITER, import.meta.url, root],
        stdout: "piped",
        stderr: "inherit",
      }).spawn();
      let printed = "";
      const output = child.stdout.pipeThrough(new TextDecoderStream());
      let refused = false;
      for await (const text of output) {
        printed += text;
        if (printed.length < 2_000 || refused) continue;
        refused = true;
        await assert.rejects(open(root), (error) => {
          assert(isOperatingError(error, "conflict"));
          assert(error.message.includes(`${root}/LOCK`));
          return true;
        });
        child.kill("SIGKILL");
      }
      assert((await child.status).signal === "SIGKILL" && refused);
      const acknowledged = printed.slice(0, printed.lastIndexOf("\n")).split("\n").map(Number);

      await (await open(root)).close();
      const rows = await rowsIn(root);
      assert.equal(new Set(rows).size, rows.length);
      const found = new Set(rows);
      assert.deepEqual(acknowledged.filter((row) => !found.has(row)), []);
      assert(acknowledged.length > 100, `${acknowledged.length} rows were acknowledged`);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

async function rowsIn(root: string): Promise<number[]> {
  const reader = openWalReader(new DenoFileSystem(), root);
  const rows: number[] = [];
  for (const { name, state } of await reader.list(LANE, ["active", "sealed"])) {
    assert.equal(state, "sealed");
    await using segment = await reader.open(LANE, name);
    for await (const { message } of segment.frames()) rows.push(...rowsOfMessage(message));
  }
  return rows;
}

function configPath(): string {
  return new URL("../../deno.json", import.meta.url).pathname;
}

Deno.test({
  name: "openWal() says what to do about a directory that cannot be written",
  async fn() {
    const root = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${root}/file`, "");
      await assert.rejects(open(`${root}/file/wal`), (error) => {
        assert(isOperatingError(error, "unavailable"));
        assert.match(error.message, /file\/wal: .*it must be a directory/);
        return true;
      });
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});

/** `act` with a WAL whose root was removed while it was open. */
async function withRootGone(act: (wal: Wal, root: string) => Promise<void>): Promise<void> {
  const parent = await Deno.makeTempDir();
  const root = `${parent}/wal`;
  try {
    await using wal = await open(root);
    await wal.append(LANE, numberedBatch([1]), "wait_for");
    await Deno.remove(root, { recursive: true });
    await act(wal, root);
  } finally {
    await Deno.remove(parent, { recursive: true });
  }
}

Deno.test({
  name:
    "a WAL takes the lock of a root that stands where its own was, also when nobody saw it gone",
  fn: () =>
    withRootGone(async (wal, root) => {
      await Deno.mkdir(root);
      await wal.unreadyReason();
      await assert.rejects(open(root), { code: "conflict" });
      await until(async () => await wal.unreadyReason() === undefined);
      await wal.append(LANE, numberedBatch([2]), "wait_for");
      await wal.close();
      assert.deepEqual(await rowsIn(root), [2]);
    }),
});

Deno.test({
  name: "a WAL refuses rows while another process has the root that stands where its own was",
  fn: () =>
    withRootGone(async (wal, root) => {
      const other = await open(root);
      assert.match(await wal.unreadyReason() ?? "", /another process has opened/);
      await assert.rejects(wal.append(LANE, numberedBatch([2]), "auto"), {
        code: "unavailable",
        reason: "wal_locked",
        retryAfterSecs: 5,
      });
      await other.append(LANE, numberedBatch([3]), "wait_for");
      await other.close();
      await until(async () => await wal.unreadyReason() === undefined);
      await wal.append(LANE, numberedBatch([4]), "wait_for");
      await wal.close();
      assert.deepEqual(await rowsIn(root), [3, 4]);
    }),
});

Deno.test({
  name: "a lane that is opened before anybody saw that the root is gone does not make it again",
  fn: () =>
    withRootGone(async (wal, root) => {
      const lane = { tenant: "default", index: "other" };
      await assert.rejects(wal.append(lane, numberedBatch([2]), "wait_for"), {
        code: "unavailable",
        reason: "wal_lane_failed",
      });
      assert.equal(await new DenoFileSystem().exists(root), false);
    }),
});
