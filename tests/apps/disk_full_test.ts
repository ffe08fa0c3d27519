/**
 * Ingest on a small file system of its own that somebody else fills. Needs the right to mount a
 * tmpfs; ignored, by name, without it.
 */

import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { OPTIONS, startIngest } from "../../ingest/mod.ts";
import { storedRows } from "../clients/running_ingest.ts";

const MIB = 1024 * 1024;
/** More than the floor of 256 MiB that the WAL keeps free. */
const DISK_MIB = 300;
const PASS_MS_MAX = 15_000;

/** A tmpfs on a directory of its own; undefined where mounting is not allowed. */
async function mountDisk() {
  const path = await Deno.makeTempDir({ prefix: "svc-disk-" });
  const mount = ["-t", "tmpfs", "-o", `size=${DISK_MIB}m`, "tmpfs", path];
  if (!await succeeds("mount", mount)) {
    await Deno.remove(path);
    return undefined;
  }
  const filler = join(path, "filler");
  return {
    path,
    /** Takes all but `freeMib` of what is free. */
    async fill(freeMib: number) {
      const { bavail, bsize } = statfsSync(path);
      const file = await Deno.open(filler, { write: true, create: true, append: true });
      const zeros = new Uint8Array(MIB);
      try {
        const mib = Math.floor(bavail * bsize / MIB) - freeMib;
        for (let count = 0; count < mib; count++) await file.write(zeros);
        if (freeMib > 0) return;
        while (await file.write(zeros.subarray(0, 4096)) > 0);
      } catch (error) {
        if (freeMib > 0 || !/No space/.test(String(error))) throw error;
      } finally {
        file.close();
      }
    },
    empty: () => Deno.remove(filler),
    async [Symbol.asyncDispose]() {
      assert.ok(await succeeds("umount", [path]), `cannot unmount ${path}`);
      await Deno.remove(path);
    },
  };
}

async function succeeds(command: string, args: string[]): Promise<boolean> {
  try {
    const output = await new Deno.Command(command, { args, stdout: "null", stderr: "null" })
      .output();
    return output.success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function canMount(): Promise<boolean> {
  await using disk = await mountDisk();
  return disk !== undefined;
}

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
const MAY_MOUNT = await canMount();

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
