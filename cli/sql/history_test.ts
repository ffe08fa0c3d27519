import { strict as assert } from "node:assert";
import { join } from "node:path";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { History, HISTORY_LENGTH_MAX, historyPath } from "./history.ts";

Deno.test({
  name: "historyPath prefers XDG_STATE_HOME and needs some home",
  fn() {
    const cases: [Record<string, string>, string | undefined][] = [
      [{ XDG_STATE_HOME: "/state", HOME: "/home/u" }, "/state/svc/history"],
      [{ XDG_STATE_HOME: "", HOME: "/home/u" }, "/home/u/.local/state/svc/history"],
      [{}, undefined],
    ];
    for (const [env, path] of cases) assert.equal(historyPath((name) => env[name]), path);
  },
});

Deno.test({
  name: "History survives a restart, bounded, without repeats, one line per statement",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const path = join(dir, "deep", "svc", "history");
      const first = new History(new DenoFileSystem(), path);
      await first.load();
      for (const statement of ["a;", "a;", "b\n  c;", "d -- x\n;", "  "]) {
        await first.add(statement);
      }
      const second = new History(new DenoFileSystem(), path);
      await second.load();
      assert.deepEqual(second.entries, ["a;", "b c;"]);

      const lines = Array.from({ length: HISTORY_LENGTH_MAX + 5 }, (_, n) => `${n};`);
      await Deno.writeTextFile(path, lines.join("\n"));
      const third = new History(new DenoFileSystem(), path);
      await third.load();
      assert.deepEqual(third.entries, lines.slice(5));
      await third.add("new;");
      assert.equal(await Deno.readTextFile(path), `${[...lines.slice(6), "new;"].join("\n")}\n`);
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: "History goes on in memory where nothing can be stored",
  async fn() {
    const dir = await Deno.makeTempDir();
    try {
      const file = join(dir, "file");
      await Deno.writeTextFile(file, "");
      for (const path of [undefined, join(file, "history")]) {
        const history = new History(new DenoFileSystem(), path);
        await history.load();
        await history.add("a;");
        assert.deepEqual(history.entries, ["a;"]);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
