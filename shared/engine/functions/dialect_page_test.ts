import { deepStrictEqual, ok } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const EXAMPLE = /^(?<sql>\S.*?)\s+-- → (?<value>.*)$/;

Deno.test({
  name: "DIALECT.md's examples have the values that it says",
  fn: async (t) => {
    const page = await Deno.readTextFile(new URL("../DIALECT.md", import.meta.url));
    const blocks = [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, block = ""]) => block);
    const lines = blocks.flatMap((block) => block.trimEnd().split("\n"));
    ok(lines.length >= 30, `${lines.length} examples`);
    await using lab = await EngineLab.open();
    for (const line of lines) {
      await t.step(line, async () => {
        const { sql, value = "" } = EXAMPLE.exec(line)?.groups ?? {};
        deepStrictEqual((await lab.query(`SELECT ${sql}`)).rows, [[JSON.parse(value)]]);
      });
    }
  },
});
