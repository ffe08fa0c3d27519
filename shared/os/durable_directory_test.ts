import assert from "node:assert/strict";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { ensureDirectory } from "./durable_directory.ts";

Deno.test({
  name: "ensureDirectory survives a loss of power, also of a directory that was there before it",
  async fn() {
    for (const made of [[], ["/a"], ["/a", "/a/b", "/a/b/c"]]) {
      const fs = new CrashableFileSystem();
      for (const path of made) await fs.mkdir(path);
      if (made.length > 1) {
        await fs.syncDir("/");
        await fs.syncDir("/a");
      }
      await ensureDirectory(fs, "/a/b/c");
      const after = fs.reboot("drop", new SeededRandom(1));
      assert.equal(await after.exists("/a/b/c"), true, `with ${made}`);
    }
  },
});

Deno.test({
  name: "ensureDirectory makes a directory that is all the process may touch",
  async fn() {
    const root = await Deno.makeTempDir({ prefix: "svc-directory-" });
    try {
      const folder = new URL(".", import.meta.url).pathname;
      const script = `
        import { DenoFileSystem } from "${folder}deno_file_system.ts";
        import { ensureDirectory } from "${folder}durable_directory.ts";
        await ensureDirectory(new DenoFileSystem(), "${root}/own/deep");
      `;
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          "run",
          "--no-prompt",
          "--quiet",
          `--allow-read=${root}/own`,
          `--allow-write=${root}/own`,
          "-",
        ],
        stdin: "piped",
        stderr: "piped",
      }).spawn();
      const input = child.stdin.getWriter();
      await input.write(new TextEncoder().encode(script));
      await input.close();
      const { success, stderr } = await child.output();
      assert.ok(success, new TextDecoder().decode(stderr));
      assert.ok((await Deno.stat(`${root}/own/deep`)).isDirectory);
    } finally {
      await Deno.remove(root, { recursive: true });
    }
  },
});
