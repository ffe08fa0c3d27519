import { deepStrictEqual, ok } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

const EXAMPLE = /^(?<sql>\S.*?)\s+-- → (?<value>.*)$/;

/** What the page says that the WAL holds, in this order. */
const HOT_ROWS = [["web-1", "started"], ["web-2", "started"], ["web-1", "stopped"]] as const;
const NOON = 1_795_176_000_000_000_000n; // 2026-11-20T12:00:00Z

Deno.test({
  name: "DIALECT.md's examples have the values that it says",
  fn: async (t) => {
    const page = await Deno.readTextFile(new URL("../DIALECT.md", import.meta.url));
    const blocks = [...page.matchAll(/^```sql\n(.*?)^```$/gms)].map(([, block = ""]) => block);
    const lines = blocks.flatMap((block) => block.trimEnd().split("\n"));
    ok(lines.length >= 30, `${lines.length} examples`);
    await using lab = await EngineLab.open({ wal: true, engine: { hotCaches: true } });
    await lab.append(HOT_ROWS.map(([host, raw], n) => ({ ns: NOON + BigInt(n), host, raw })));
    for (const line of lines) {
      await t.step(line, async () => {
        const { sql, value = "" } = EXAMPLE.exec(line)?.groups ?? {};
        deepStrictEqual((await lab.query(`SELECT ${sql}`)).rows, [[JSON.parse(value)]]);
      });
    }
  },
});
