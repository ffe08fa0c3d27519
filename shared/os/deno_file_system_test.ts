import assert from "node:assert/strict";
import { join } from "node:path";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { DenoFileSystem } from "./deno_file_system.ts";
import { mkdirDurable } from "./durable_directory.ts";

const HOLDER = `
  const [moduleUrl, path] = Deno.args;
  const { DenoFileSystem } = await import(moduleUrl);
  const lock = await new DenoFileSystem().tryLock(path);
  console.log(lock === undefined ? "refused" : "held");
  if (lock !== undefined) await new Promise((resolve) => setTimeout(resolve, 60_000));
`;

async function withDir(body: (dir: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await body(dir);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

function spawnHolder(path: string): { child: Deno.ChildProcess; word: Promise<string> } {
  const module = new URL("./deno_file_system.ts", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--frozen", HOLDER, module, path],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const word = (async () => {
    const reader = child.stdout.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    return new TextDecoder().decode(value).trim();
  })();
  return { child, word };
}

Deno.test({
  name: "DenoFileSystem.tryLock() excludes another process until that process is killed",
  fn: () =>
    withDir(async (dir) => {
      const path = join(dir, "LOCK");
      const first = spawnHolder(path);
      assert.equal(await first.word, "held");
      assert.equal(await new DenoFileSystem().tryLock(path), undefined);
      const second = spawnHolder(path);
      assert.equal(await second.word, "refused");
      await second.child.status;
      first.child.kill("SIGKILL");
      await first.child.status;
      using lock = await new DenoFileSystem().tryLock(path);
      assert.notEqual(lock, undefined);
    }),
});

Deno.test({
  name: "DenoFileSystem.tryLock() has what was just let go of, while processes are started",
  fn: () =>
    withDir(async (dir) => {
      const files = new DenoFileSystem();
      const path = join(dir, "LOCK");
      let tries = 0;
      const ended = new AbortController();
      const start = async () => {
        for (let n = 0; n < 150; n += 1) await new Deno.Command("true").output();
      };
      const started = Promise.all(Array.from({ length: 4 }, start));
      const take = async () => {
        for (; !ended.signal.aborted; tries += 1) {
          using lock = await files.tryLock(path);
          assert.notEqual(lock, undefined, `try ${tries}`);
        }
      };
      await Promise.all([started.finally(() => ended.abort()), take()]);
      assert.ok(tries > 150, `${tries} tries`);
    }),
});

Deno.test({
  name: "DenoFileSystem file keeps writing at its end across reads, truncation and reopening",
  fn: () =>
    withDir(async (dir) => {
      const fs = new DenoFileSystem();
      const path = join(dir, "f");
      const file = await fs.create(path);
      await file.write(new Uint8Array([1, 2, 3]));
      const into = new Uint8Array(8);
      const read = file.readAt(into, 1);
      await Promise.all([read, file.write(new Uint8Array([4])), file.write(new Uint8Array([5]))]);
      await file.write(new Uint8Array([6]));
      assert.equal(await read, 2);
      await file.truncate(5);
      await file.write(new Uint8Array([7]));
      await file.sync();
      file.close();
      await using appended = await fs.openAppend(path);
      await appended.write(new Uint8Array([8]));
      assert.deepEqual([...await fs.readFile(path)], [1, 2, 3, 4, 5, 7, 8]);
      assert.equal(await appended.size(), 7);
      await assert.rejects(fs.create(path), Deno.errors.AlreadyExists);
    }),
});

Deno.test({
  name: "File.writeAt() fills a hole of an extended file and leaves appends where they were",
  fn: () =>
    withDir(async (dir) => {
      for (const fs of [new DenoFileSystem(), new CrashableFileSystem()]) {
        const path = join(dir, "sparse");
        await fs.mkdir(dir);
        await using file = await fs.create(path);
        await file.truncate(4);
        await file.writeAt(new Uint8Array([1, 2]), 1);
        await file.writeAt(new Uint8Array([3]), 6);
        await file.write(new Uint8Array([9]));
        const content = new Uint8Array(8);
        assert.equal(await file.readAt(content, 0), 7);
        assert.deepEqual([...content.subarray(0, 7)], [0, 1, 2, 0, 9, 0, 3]);
      }
    }),
});

Deno.test({
  name: "DenoFileSystem.writeFileAtomic() replaces the file and leaves no temporary",
  fn: () =>
    withDir(async (dir) => {
      const fs = new DenoFileSystem();
      await fs.writeFileAtomic(join(dir, "f"), new Uint8Array([1]));
      await fs.writeFileAtomic(join(dir, "f"), new Uint8Array([2, 3]));
      assert.deepEqual([...await fs.readFile(join(dir, "f"))], [2, 3]);
      assert.deepEqual((await fs.readDir(dir)).map((entry) => entry.name), ["f"]);
    }),
});

Deno.test({
  name: "DenoFileSystem reports existence, free bytes and missing directories",
  fn: () =>
    withDir(async (dir) => {
      const fs = new DenoFileSystem();
      await mkdirDurable(fs, dir, join(dir, "a", "b"));
      assert.equal(await fs.exists(join(dir, "a", "b")), true);
      assert.equal(await fs.exists(join(dir, "c")), false);
      assert.ok(await fs.freeBytes(dir) > 0);
      await assert.rejects(fs.readDir(join(dir, "c")), Deno.errors.NotFound);
    }),
});

Deno.test({
  name:
    "DenoFileSystem.setModified() gives the present, and no other time, to a file of another user",
  fn: () =>
    withDir(async (dir) => {
      const fs = new DenoFileSystem();
      const path = join(dir, "f");
      await fs.writeFileAtomic(path, new Uint8Array([1, 2, 3]));
      await fs.setModified(path, 1_000);
      const utime = Deno.utime;
      // The kernel answers this to a process that may write the file and does not own it.
      Deno.utime = () => Promise.reject(new Deno.errors.PermissionDenied("os error 1"));
      try {
        await assert.rejects(fs.setModified(path, 5_000), Deno.errors.PermissionDenied);
        assert.equal((await fs.stat(path)).mtimeMs, 1_000);
        const before = Date.now();
        await fs.setModified(path, before);
        assert.ok((await fs.stat(path)).mtimeMs >= before - 100); // The kernel's clock is coarser.
        assert.deepEqual([...await fs.readFile(path)], [1, 2, 3]);
      } finally {
        Deno.utime = utime;
      }
    }),
});
