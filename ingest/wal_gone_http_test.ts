/**
 * The WAL's directory vanishes below a running server: rows are refused instead of written where
 * nobody finds them.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { RunningIngest } from "../tests/clients/running_ingest.ts";

const HEADERS = { "content-type": "application/json" };

function send(ingest: RunningIngest, text: string, rows = 1): Promise<Response> {
  const logRecords = Array(rows).fill({ body: { stringValue: text } });
  const body = JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  return ingest.post(body, { headers: HEADERS });
}

const WAIT_MS_MAX = 30_000;

/**
 * Sends until an answer is of `status` and `pattern`: a lane may fail before its directory is
 * missed.
 */
async function sendUntil(
  ingest: RunningIngest,
  text: string,
  { status, pattern = /(?:)/ }: { status: number; pattern?: RegExp },
): Promise<void> {
  const untilMs = performance.now() + WAIT_MS_MAX;
  for (;;) {
    const response = await send(ingest, text);
    const answer = await response.text();
    if (response.status === status && pattern.test(answer)) return;
    assert.ok(performance.now() < untilMs, `${response.status} ${answer}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const GONE = /the WAL's directory is not there any more/;

Deno.test({
  name: "a WAL directory that goes is a 503, also in /readyz; made again it takes rows that stay",
  fn: async () => {
    // Half of a segment has the next one made ahead, which goes with the others.
    await using ingest = await RunningIngest.start(["--wal-max-events", "1000"]);
    assert.equal((await send(ingest, "gone", 600)).status, 200);
    const wal = join(ingest.dataDir, "wal");
    await Deno.remove(wal, { recursive: true });
    await sendUntil(ingest, "gone", { status: 503, pattern: GONE });
    const ready = await fetch(`${ingest.url}/readyz`);
    assert.equal(ready.status, 503);
    assert.match(await ready.text(), GONE);

    await Deno.mkdir(wal);
    await sendUntil(ingest, "kept", { status: 200 });
    for (let n = 0; n < 3; n += 1) assert.equal((await send(ingest, "kept")).status, 200);
    await ingest.server.stop();
    assert.deepEqual(
      (await ingest.rows()).map(({ columns }) => columns.raw),
      Array(4).fill("kept"),
    );
  },
});
