/**
 * Ingest on a small file system of its own that somebody else fills. Needs the right to mount a
 * tmpfs; ignored, by name, without it.
 */

import assert from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { OPTIONS, startIngest } from "../../ingest/mod.ts";
import { storedRows } from "../clients/running_ingest.ts";
import { MAY_MOUNT, mountDisk } from "./small_disk.ts";

const PASS_MS_MAX = 60_000;

function start(dataDir: string) {
  const listeners = ["--bind", "--metrics-bind", "--otlp-grpc-listen"]
    .flatMap((flag) => [flag, "127.0.0.1:0"]);
  return startIngest(parseOptions(OPTIONS, ["--data-dir", dataDir, ...listeners]));
}

/** Sends rows of one text each, and remembers which were acknowledged. */
class Sender {
  readonly acknowledged: string[] = [];
  #sent = 0;

  constructor(readonly url: string) {}

  async send() {
    const text = `row ${this.#sent++}`;
    const logRecords = [{ timeUnixNano: "1763000000000000000", body: { stringValue: text } }];
    const response = await fetch(`${this.url}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    const answer = await response.text();
    if (response.status === 200) this.acknowledged.push(text);
    return { status: response.status, retryAfter: response.headers.get("retry-after"), answer };
  }

  async isReady(): Promise<boolean> {
    const response = await fetch(`${this.url}/readyz`);
    await response.body?.cancel();
    return response.status === 200;
  }
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + PASS_MS_MAX;
  while (!await condition()) {
    assert.ok(performance.now() < endMs, `${what}: not within ${PASS_MS_MAX} ms`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const CASES = [
  { name: "below the free-space floor", freeMib: 200, statuses: [503] },
  // The floor is looked at once a second: before that, rows meet the full disk itself.
  { name: "to its last byte", freeMib: 0, statuses: [500, 503] },
];

for (const { name, freeMib, statuses } of CASES) {
  const title = `ingest on a disk filled ${name} refuses rows, keeps what it took, and recovers`;
  Deno.test({
    name: MAY_MOUNT ? title : `${title} (may not mount a tmpfs)`,
    ignore: !MAY_MOUNT,
    fn: async () => {
      await using disk = await mountDisk();
      assert.ok(disk !== undefined);
      await using server = await start(disk.path);
      const sender = new Sender(`http://127.0.0.1:${server.address.port}`);
      for (let row = 0; row < 5; row++) assert.equal((await sender.send()).status, 200);

      await disk.fill(freeMib);
      await until("503 with a hint", async () => {
        const { status, retryAfter, answer } = await sender.send();
        if (status === 200) return false;
        assert.ok(statuses.includes(status), answer);
        return status === 503 && /^[1-5]$/.test(retryAfter ?? "");
      });
      await until("not ready", async () => !await sender.isReady());
      assert.equal((await sender.send()).status, 503);

      await disk.empty();
      await until("rows again", async () => (await sender.send()).status === 200);
      await until("ready again", () => sender.isReady());
      for (let row = 0; row < 5; row++) assert.equal((await sender.send()).status, 200);

      await server.stop();
      const stored = (await storedRows(disk.path)).map((row) => row.columns.raw ?? "");
      assert.equal(new Set(stored).size, stored.length, "a row twice");
      const known = new Set(stored);
      assert.deepEqual(sender.acknowledged.filter((text) => !known.has(text)), []);
    },
  });
}
