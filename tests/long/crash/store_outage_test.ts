/**
 * An object store that is away for longer than the disk has room. Rows are taken into the WAL until
 * the free-space floor, then refused with a hint, while queries answer. When the store is back,
 * everything goes on by itself. Takes the minute for which consumed segments are kept, and the
 * right to mount a tmpfs.
 */

import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { POSTGRES, PostgresProcess } from "../../../shared/testing/postgres_process.ts";
import { S3Process } from "../../../shared/testing/s3_process.ts";
import { MAY_MOUNT, mountDisk } from "../../apps/small_disk.ts";
import { Stack } from "../../apps/stack.ts";

const ROWS_PER_REQUEST = 50;
const ROW_BYTES = 10_000;
/** The floor leaves 44 of 300 MiB for the WAL. */
const REQUESTS_MAX = 200;
/** It took so many at the least before it refused: the outage alone does not refuse. */
const TAKEN_MIN = 10;
const RECOVERY_MS_MAX = 150_000;

const NAME =
  "An outage of the object store fills the WAL to its floor, refuses with 503, and passes";

Deno.test({
  name: MAY_MOUNT ? NAME : `${NAME} (may not mount a tmpfs)`,
  ignore: !MAY_MOUNT || POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using disk = await mountDisk();
    assert.ok(disk !== undefined);
    await using s3 = await S3Process.start();
    await using postgres = await PostgresProcess.start();
    await using stack = await Stack.start({
      dataDir: disk.path,
      catalogUri: await postgres.newDatabase(),
      warehouseUrl: "s3://warehouse/lake",
      env: s3.environment,
      rollAgeSecs: 1,
    });
    const sender = new Sender(stack);

    assert.equal((await sender.send()).status, 200);
    s3.faultOf = () => ({ status: 503, code: "SlowDown" });
    let refused = 0;
    for (let request = 0; request < REQUESTS_MAX && refused < 3; request += 1) {
      const { status, retryAfter, text } = await sender.send();
      if (status === 200) continue;
      assert.equal(status, 503, text);
      assert.match(text, /free/);
      assert.match(retryAfter ?? "", /^[1-5]$/);
      refused += 1;
    }
    assert.equal(refused, 3, "the floor was reached");
    const taken = sender.acknowledged;
    assert.ok(taken > TAKEN_MIN * ROWS_PER_REQUEST, `${taken} rows`);
    assert.deepEqual((await stack.sql("SELECT count(*) FROM events")).rows, [[taken]]);
    // Its answer is some seconds old.
    while (await readiness(stack) === 200) await delay(200);

    s3.faultOf = () => undefined;
    const endMs = performance.now() + RECOVERY_MS_MAX;
    while ((await sender.send()).status !== 200) {
      assert.ok(performance.now() < endMs, "it takes rows again");
      await delay(1_000);
    }
    const { rows } = await stack.sql("SELECT count(*), count(DISTINCT raw) FROM events");
    assert.deepEqual(rows, [[sender.acknowledged, sender.acknowledged]]);
  },
});

async function readiness(stack: Stack): Promise<number> {
  const response = await fetch(`${stack.ingestUrl}/readyz`);
  await response.body?.cancel();
  return response.status;
}

/** Sends rows, each another; a refused request's rows are sent again by the next. */
class Sender {
  acknowledged = 0;

  constructor(readonly stack: Stack) {}

  async send() {
    const first = this.acknowledged;
    const logRecords = Array.from({ length: ROWS_PER_REQUEST }, (_, row) => ({
      timeUnixNano: `${Date.now()}000000`,
      body: { stringValue: `${first + row} ${noise(ROW_BYTES)}` },
    }));
    const response = await fetch(`${this.stack.ingestUrl}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    const text = await response.text();
    if (response.status === 200) this.acknowledged += ROWS_PER_REQUEST;
    return { status: response.status, retryAfter: response.headers.get("retry-after"), text };
  }
}

/** Text that does not compress to nothing. */
function noise(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes * 3 / 4)).toBase64();
}
