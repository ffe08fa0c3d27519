import assert from "node:assert/strict";
import { join } from "node:path";
import { DenoFileSystem } from "./deno_file_system.ts";
import { watchFile } from "./file_watch.ts";

Deno.test({
  name: "watchFile tells of a file made and of one touched, but not of its neighbours",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-watch-" });
    try {
      await Deno.mkdir(join(folder, "lane"));
      const fs = new DenoFileSystem();
      let changes = 0;
      using watch = watchFile(join(folder, "bell"), () => changes += 1);
      assert.equal(watch.isWatching, true);
      /** Until none came for 50 ms in which this process was not held up. */
      const quiet = async () => {
        for (let seen = -1, tookMs = 0, tries = 0; seen !== changes || tookMs > 80; tries += 1) {
          assert.ok(tries < 200, "events without end");
          seen = changes;
          const startMs = performance.now();
          await pause(50);
          tookMs = performance.now() - startMs;
        }
      };
      const next = (what: string) => {
        const before = changes;
        return async () => {
          for (let tries = 0; changes === before; tries += 1) {
            assert.ok(tries < 200, `no event for ${what}`);
            await pause(10);
          }
          await quiet();
        };
      };
      const made = next("a file made");
      await using _ = await fs.create(join(folder, "bell"));
      await made();
      const touched = next("a file touched");
      await fs.setModified(join(folder, "bell"), Date.now());
      await touched();
      const before = changes;
      await Deno.writeTextFile(join(folder, "lane", "segment"), "rows");
      await Deno.writeTextFile(join(folder, "neighbour"), "rows");
      await pause(100);
      assert.equal(changes, before, "other files");
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "watchFile finds a directory that is made later",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-watch-" });
    try {
      let changes = 0;
      using watch = watchFile(join(folder, "later", "bell"), () => changes += 1);
      assert.deepEqual([watch.isWatching, changes], [false, 0]);
      await Deno.mkdir(join(folder, "later"));
      for (let tries = 0; changes === 0; tries += 1) {
        assert.ok(tries < 500, "not found within five seconds");
        await pause(10);
      }
      assert.equal(watch.isWatching, true);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
