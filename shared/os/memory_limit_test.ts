import assert from "node:assert/strict";
import { containerLimitBytes, memoryLimitBytes } from "./memory_limit.ts";

Deno.test({
  name: "containerLimitBytes is the memory limit where that is less than the machine's, else none",
  fn: () => {
    const limit = memoryLimitBytes();
    const expected = limit < Deno.systemMemoryInfo().total ? limit : Infinity;
    assert.equal(containerLimitBytes(), expected);
  },
});

Deno.test({
  name: "memoryLimitBytes is at most the machine's memory, and no limit without the permission",
  fn: async () => {
    const limit = memoryLimitBytes();
    assert.ok(limit > 0 && limit <= Deno.systemMemoryInfo().total);
    const code = `import { memoryLimitBytes } from ${
      JSON.stringify(import.meta.resolve("./memory_limit.ts"))
    }; console.log(String(memoryLimitBytes()));`;
    const file = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.writeTextFile(file, code);
      const run = async (...flags: string[]) => {
        const args = ["run", "--quiet", "--no-prompt", ...flags, file];
        const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
        return Number(new TextDecoder().decode(stdout));
      };
      assert.equal(await run(), Infinity);
      assert.equal(await run("--allow-sys=systemMemoryInfo"), limit);
    } finally {
      await Deno.remove(file);
    }
  },
});
