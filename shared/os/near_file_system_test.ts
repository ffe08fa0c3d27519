import assert from "node:assert/strict";
import { DenoFileSystem } from "./deno_file_system.ts";
import { NearFileSystem } from "./near_file_system.ts";

Deno.test({
  name: "NearFileSystem makes, extends and reads files as DenoFileSystem does",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      for (const [at, fs] of [new NearFileSystem(), new DenoFileSystem()].entries()) {
        const path = `${dir}/${at}`;
        {
          await using file = await fs.create(path);
          await file.truncate(6);
          await file.writeAt(new Uint8Array([1, 2]), 2);
        }
        {
          await using file = await fs.openAppend(path);
          await file.write(new Uint8Array([3]));
          await file.writeAt(new Uint8Array([4]), 0);
          await file.write(new Uint8Array([5]));
          await file.sync();
        }
        await using file = await fs.openRead(path);
        const into = new Uint8Array(10);
        assert.equal(await file.readAt(into, 0), 8);
        assert.deepEqual([...into], [4, 0, 1, 2, 0, 0, 3, 5, 0, 0]);
        await assert.rejects(fs.create(path), Deno.errors.AlreadyExists);
        await assert.rejects(fs.openRead(`${dir}/none`), Deno.errors.NotFound);
        await assert.rejects(fs.openAppend(`${dir}/none`), Deno.errors.NotFound);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "NearFileSystem names, sizes and what is absent are those of DenoFileSystem",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      await Deno.mkdir(`${dir}/sub`);
      await Deno.writeTextFile(`${dir}/file`, "four");
      const [near, other] = [new NearFileSystem(), new DenoFileSystem()];
      const names = async (fs: DenoFileSystem) =>
        (await fs.readDir(dir)).map(({ name, isFile, isDirectory }) => [name, isFile, isDirectory])
          .sort();
      assert.deepEqual(await names(near), [["file", true, false], ["sub", false, true]]);
      assert.deepEqual(await names(near), await names(other));
      for (const path of [`${dir}/file`, `${dir}/sub`]) {
        assert.deepEqual(await near.stat(path), await other.stat(path));
      }
      // Errors must come as rejections: nobody catches what such a call throws.
      const [stat, list] = [near.stat(`${dir}/none`), near.readDir(`${dir}/none`)];
      await Promise.all([stat, list].map((call) => assert.rejects(call, Deno.errors.NotFound)));
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
