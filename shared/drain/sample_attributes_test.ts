import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOfRows } from "../columns/rows.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { SystemRandom } from "../os/random.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { openWalReader } from "../wal/reader.ts";
import { openWal } from "../wal/wal.ts";
import { sampleAttributes } from "./sample_attributes.ts";

const LANE = { tenant: "default", index: "events" };
const ROWS = 5_000;
/** What `sample_attributes.ts` takes of a segment. */
const SAMPLED = 128;

function row(at: number) {
  const attributes = JSON.stringify({ at, [`rare${at % 3_000}`]: "x" });
  const ns = 1_795_132_800_000_000_000n + BigInt(at);
  return {
    ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host: "h", source: "s", sourcetype: "t" },
    ...{ index: "main", raw: "", attributes },
  };
}

Deno.test({
  name: "sampleAttributes takes a bounded part of a request, however many rows that has",
  async fn() {
    const dir = await Deno.makeTempDir({ prefix: "svc-sample-" });
    const fs = new DenoFileSystem();
    try {
      const parts = { fs, clock: new SystemClock(), random: new SystemRandom(), freeBytesMin: 0 };
      const wal = await openWal({ ...parts, root: dir });
      for (let segment = 0; segment < 2; segment += 1) {
        const rows = Array.from({ length: ROWS }, (_, at) => row(at));
        await wal.append(LANE, encodeBatch(batchOfRows(EVENTS_SCHEMA, rows)), "wait_for");
        await wal.seal(LANE);
      }
      await wal.close();
      const reader = openWalReader(fs, dir);
      const names = (await reader.list(LANE, ["sealed"])).map(({ name }) => name);
      strictEqual(names.length, 2);
      const { rows, attributes } = await sampleAttributes(reader, LANE, names);
      strictEqual(rows, 2 * SAMPLED);
      const [at, ...rare] = attributes;
      deepStrictEqual([at?.name, at?.integers], ["at", 2 * SAMPLED]);
      strictEqual(rare.length, SAMPLED, "names beyond the sample are not counted");
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});
