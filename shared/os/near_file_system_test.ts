import assert from "node:assert/strict";
import { DenoFileSystem } from "./deno_file_system.ts";
import { NearFileSystem } from "./near_file_system.ts";

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
      const absent = [near.stat(`${dir}/none`), near.readDir(`${dir}/none`)];
      for (const call of absent) await assert.rejects(call, Deno.errors.NotFound);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
