/** What docs/engines.md says of Spark and Trino, run as it is written against a stack. */

import assert from "node:assert/strict";
import { committed, record, send, START_NS, startEngineStack } from "../engines/lab.ts";
import { HAS_SPARK, isChosen, JVM_FOLDER, NO_JVM, TRINO_JAVA } from "./places.ts";
import { Trino } from "./trino.ts";

const PAGE = await Deno.readTextFile(new URL("../../docs/engines.md", import.meta.url));
const PAGE_ADDRESS = "http://127.0.0.1:8089/iceberg";
const NAME = "docs/engines.md: what it says of Spark and Trino runs as it is written";
const hasSpark = HAS_SPARK && isChosen("1.12.0");
const hasTrino = TRINO_JAVA !== undefined && isChosen("trino");

/** The text of the block in that language which begins so. */
function blockOf(language: string, start: string, address: string): string {
  const text = PAGE.split("```" + `${language}\n`).find((one) => one.startsWith(start));
  assert.ok(text !== undefined, `the page has ${start}`);
  return text.slice(0, text.indexOf("```")).replaceAll(PAGE_ADDRESS, address);
}

Deno.test({
  name: hasSpark || hasTrino ? NAME : `${NAME} (${NO_JVM})`,
  ignore: !hasSpark && !hasTrino,
  async fn(t) {
    await using lab = await startEngineStack();
    const { stack, address } = lab;
    await send(stack, [record(START_NS, "one"), record(START_NS + 1n, "two")]);
    await committed(stack);
    if (hasSpark) {
      await t.step("Spark", async () => {
        const folder = await Deno.makeTempDir({ prefix: "svc-spark-" });
        try {
          const { stdout, stderr } = await new Deno.Command("sh", {
            args: ["-c", blockOf("sh", "spark-sql", address)],
            cwd: folder,
            env: { PATH: `${JVM_FOLDER}/python/bin:${Deno.env.get("PATH")}` },
          }).output();
          const decoder = new TextDecoder();
          assert.match(decoder.decode(stdout), /^shop\t2$/m, decoder.decode(stderr).slice(-2_000));
        } finally {
          await Deno.remove(folder, { recursive: true });
        }
      });
    }
    if (hasTrino) {
      await t.step("Trino", async () => {
        const lines = blockOf("properties", "connector.name", address).trimEnd().split("\n");
        await using trino = await Trino.start(
          lab,
          Object.fromEntries(
            lines.map((line): [string, string] => {
              const at = line.indexOf("=");
              return [line.slice(0, at), line.slice(at + 1)];
            }),
          ),
        );
        const statement = /--execute "([^"]*)"/.exec(blockOf("sh", "trino", address))?.[1] ?? "";
        assert.deepEqual(await trino.sql(statement), [["shop", 2]]);
      });
    }
  },
});
