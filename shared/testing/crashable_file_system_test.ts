import assert from "node:assert/strict";
import { CrashableFileSystem, NoPowerError, type PowerLoss } from "./crashable_file_system.ts";
import { SeededRandom } from "./seeded_random.ts";

const random = new SeededRandom(1);
const bytes = (...values: number[]) => new Uint8Array(values);

async function contents(fs: CrashableFileSystem, path: string): Promise<number[] | "absent"> {
  return await fs.exists(path) ? [...await fs.readFile(path)] : "absent";
}

const STEPS: readonly {
  name: string;
  work: (fs: CrashableFileSystem) => Promise<void>;
  after: Partial<Record<PowerLoss, number[] | "absent">>;
}[] = [
  {
    name: "an unsynced name",
    work: async (fs) => {
      const file = await fs.create("/d/f");
      await file.write(bytes(1, 2));
      await file.sync();
    },
    after: { drop: "absent", keep: [1, 2] },
  },
  {
    name: "unsynced bytes",
    work: async (fs) => {
      const file = await fs.create("/d/f");
      await fs.syncDir("/d");
      await file.write(bytes(1, 2));
    },
    after: { drop: [], keep: [1, 2] },
  },
  {
    name: "bytes behind the last sync",
    work: async (fs) => {
      const file = await fs.create("/d/f");
      await fs.syncDir("/d");
      await file.write(bytes(1, 2));
      await file.sync();
      await file.write(bytes(3));
    },
    after: { drop: [1, 2], keep: [1, 2, 3] },
  },
  {
    name: "an unsynced removal",
    work: async (fs) => {
      const file = await fs.create("/d/f");
      await file.write(bytes(1));
      await file.sync();
      await fs.syncDir("/d");
      await fs.remove("/d/f");
    },
    after: { drop: [1], keep: "absent" },
  },
  {
    name: "a synced atomic write",
    work: (fs) => fs.writeFileAtomic("/d/f", bytes(7)),
    after: { drop: [7], keep: [7], prefix: [7], torn: [7] },
  },
  {
    name: "bytes that a failed sync called clean",
    work: async (fs) => {
      const file = await fs.create("/d/f");
      await fs.syncDir("/d");
      await file.write(bytes(1, 2));
      await assert.rejects(file.sync(), /EIO/);
      await file.write(bytes(3));
      await file.sync();
      assert.deepEqual(await contents(fs, "/d/f"), [1, 2, 3]);
    },
    after: { drop: [0, 0, 3], keep: [0, 0, 3], torn: [0, 0, 3] },
  },
];

for (const { name, work, after } of STEPS) {
  for (const [loss, expected] of Object.entries(after)) {
    Deno.test({
      name: `CrashableFileSystem power loss "${loss}" of ${name}`,
      async fn() {
        let syncs = 0;
        const fs = new CrashableFileSystem({
          onOperation: ({ kind }) =>
            name.includes("failed sync") && kind === "sync" && syncs++ === 0
              ? new Error("EIO")
              : undefined,
        });
        await fs.mkdir("/d");
        await fs.syncDir("/");
        await work(fs);
        assert.deepEqual(
          await contents(fs.reboot(loss as PowerLoss, random), "/d/f"),
          expected,
        );
        await assert.rejects(fs.exists("/d"), NoPowerError);
      },
    });
  }
}

Deno.test({
  name: "CrashableFileSystem stops before the operation that it was told, and counts them",
  async fn() {
    const fs = new CrashableFileSystem({ crashAt: 2 });
    await fs.mkdir("/d");
    const file = await fs.create("/d/f");
    await assert.rejects(file.write(bytes(1)), NoPowerError);
    assert.equal(fs.operations, 3);
    assert.deepEqual(await contents(fs.reboot("keep", random), "/d/f"), []);
  },
});

Deno.test({
  name: "CrashableFileSystem.tryLock() excludes until released, and does not outlive a kill",
  async fn() {
    const fs = new CrashableFileSystem();
    using _held = await fs.tryLock("/LOCK");
    assert.equal(await fs.tryLock("/LOCK"), undefined);
    assert.notEqual(await fs.kill().tryLock("/LOCK"), undefined);
  },
});

Deno.test({
  name: "SeededRandom repeats for a seed and differs between seeds",
  fn() {
    const draw = (seed: number) => [...new SeededRandom(seed).bytes(16)];
    assert.deepEqual(draw(7), draw(7));
    assert.notDeepEqual(draw(7), draw(8));
    const values = Array.from({ length: 1000 }, ((r) => () => r.float())(new SeededRandom(3)));
    assert.ok(values.every((value) => value >= 0 && value < 1));
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    assert.ok(Math.abs(mean - 0.5) < 0.05, `mean ${mean}`);
  },
});
