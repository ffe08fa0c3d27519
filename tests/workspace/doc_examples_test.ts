/** Runs the examples of the libraries' pages and doc comments, over a real WAL. */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { openWal } from "../../shared/wal/wal.ts";

/** Each of them has at least one example. */
const PAGES = [
  "proto/otlp_logs.ts",
  "proto/otlp_traces.ts",
  "shared/wal/README.md",
  "shared/wal/open_wal_consumer.ts",
  "shared/wal/record_batch.ts",
];
/** Consumers of the examples: each commits what it has read. */
const CONSUMERS = ["arrow", "count", "mine", "sum"];
const LANE = { tenant: "default", index: "events" };

Deno.test({
  name: "examples of the consumer library and of proto run as they stand",
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "doc-examples-" });
    try {
      const segment = await makeWal(`${folder}/data/wal`);
      const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["test", "--doc", "--no-check", "--config", workspacePath("tests/deno.json")],
          ...[`--allow-read=${folder}`, `--allow-write=${folder}`, ...PAGES.map(workspacePath)],
        ],
        cwd: folder,
        env: { NO_COLOR: "1" },
      }).output();
      const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
      assert.equal(code, 0, said);
      const texts = await Promise.all(PAGES.map((page) => Deno.readTextFile(workspacePath(page))));
      const examples = texts.map((text) => text.match(/^(?: \* )?```ts$/gm)?.length ?? 0);
      assert.ok(!examples.includes(0), `examples in each page: ${examples}`);
      const total = examples.reduce((sum, count) => sum + count);
      assert.match(said, new RegExp(`ok \\| ${total} passed`));
      for (const consumer of CONSUMERS) {
        const cursor = `${folder}/cursors/default/events/${consumer}.json`;
        assert.equal(JSON.parse(await Deno.readTextFile(cursor)).upTo, segment, consumer);
      }
      assert.match(said, /2 rows from 1795250209000000001n/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** A log with one sealed segment of two rows; its name. */
async function makeWal(root: string): Promise<string> {
  const [fs, clock, random] = [new DenoFileSystem(), new SystemClock(), new SystemRandom()];
  await using wal = await openWal({ fs, clock, random, root, freeBytesMin: 1 });
  const row = { host: "here", source: "shop", sourcetype: "log", index: "main", attributes: null };
  const rows = [1n, 2n].map((at) => ({
    ...row,
    timestamp: 1_795_250_209_000_000n,
    timestamp_ns: 1_795_250_209_000_000_000n + at,
    raw: `order ${at}`,
  }));
  await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "wait_for");
  return await wal.seal(LANE) ?? assert.fail("nothing was sealed");
}
