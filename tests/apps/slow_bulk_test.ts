/**
 * Bulk senders that stall in the middle of long bodies, that leave, and that send bombs, on one
 * server. What the bodies hold stays within the budget, and others are served. What was abandoned
 * is not stored and is forgotten.
 */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { RunningIngest } from "../clients/running_ingest.ts";
import { Connection, headOf } from "./raw_connection.ts";

const MIB = 1024 * 1024;
const PATH = "/api/v1/_compat/logs/_bulk";
const NDJSON = { "content-type": "application/x-ndjson" };
const HELD = "svc_ingest_bodies_in_flight_bytes";
/** What the server allows (`ingest/memory_parts.ts`). */
const BUDGET_BYTES = 256 * MIB;

/** More of them than the budget has room for. */
const STALLED = 40;
const STALLED_ANNOUNCED_BYTES = 16 * MIB;
const STALLED_SENT_BYTES = 8 * MIB;
/** At their cap they fit into the budget together. */
const BOMBS = 3;

const ANSWER_MS_MAX = 10_000;
const FORGET_MS_MAX = 20_000;

function documents(text: string, bytes: number): Uint8Array {
  const pair = `{"index":{}}\n{"message":"${text} ${"x".repeat(900)}"}\n`;
  return new TextEncoder().encode(pair.repeat(Math.ceil(bytes / pair.length)));
}

/** Its status, and how long it took. */
async function postOne(ingest: RunningIngest, text: string) {
  const begunMs = performance.now();
  const response = await ingest.post(`{"index":{}}\n{"message":"${text}"}\n`, {
    path: PATH,
    headers: NDJSON,
  });
  await response.body?.cancel();
  const retryAfter = response.headers.get("retry-after");
  return { status: response.status, retryAfter, ms: performance.now() - begunMs };
}

/** Sends until the server reads no more or has answered. */
async function sendSome(connection: Connection, bytes: Uint8Array): Promise<void> {
  await connection.write(headOf(PATH, STALLED_ANNOUNCED_BYTES, NDJSON));
  // Refused half-way: the server has closed.
  await connection.write(bytes).catch(() => {});
}

async function settles(ingest: RunningIngest, isSettled: (held: number) => boolean) {
  const endMs = performance.now() + FORGET_MS_MAX;
  for (;;) {
    const held = await ingest.metric(HELD);
    if (isSettled(held)) return;
    assert.ok(performance.now() < endMs, `bodies in flight hold ${held} bytes`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

Deno.test({
  name: "bulk bodies that stall keep to the budget, and what was abandoned is not stored",
  async fn() {
    await using ingest = await RunningIngest.start();
    const { port } = ingest.server.address;
    const stalledBody = documents("stalled", STALLED_SENT_BYTES).subarray(0, STALLED_SENT_BYTES);
    const acknowledged: string[] = [];
    const sendBeside = async (text: string) => {
      const { status, retryAfter, ms } = await postOne(ingest, text);
      assert.ok(ms < ANSWER_MS_MAX, `${text} took ${ms} ms`);
      if (status === 200) acknowledged.push(text);
      else assert.ok(status === 503 && retryAfter !== null, `${text}: ${status} ${retryAfter}`);
    };
    {
      using held = new DisposableStack();
      for (let at = 0; at < STALLED; at += 1) {
        const connection = held.use(await Connection.open(port));
        await sendSome(connection, stalledBody);
        if (at % 8 === 0) await sendBeside(`beside ${at}`);
        assert.ok(await ingest.metric(HELD) <= BUDGET_BYTES);
      }
      assert.ok(await ingest.metric(HELD) > BUDGET_BYTES / 2, "the stalled bodies are held");
    }
    await settles(ingest, (held) => held === 0);
    await sendBeside("after");
    assert.ok(acknowledged.includes("after"));
    const stored = (await ingest.rows()).map(({ columns }) => columns.raw);
    assert.deepEqual(stored.toSorted(), acknowledged.toSorted());
  },
});

Deno.test({
  name: "bulk bombs are refused by their decompressed size, and hold no more than their cap",
  async fn() {
    await using ingest = await RunningIngest.start();
    const bombs: [what: string, body: Uint8Array][] = [
      ["one line without end", new Uint8Array(512 * MIB).fill(0x20)],
      ["many documents", documents("bomb", 128 * MIB)],
    ];
    for (const [what, plain] of bombs) {
      const body = new Uint8Array(gzipSync(plain));
      const headers = { ...NDJSON, "content-encoding": "gzip" };
      const answers = await Promise.all(Array.from({ length: BOMBS }, async () => {
        const response = await ingest.post(body, { path: PATH, headers });
        return { status: response.status, text: await response.text() };
      }));
      for (const { status, text } of answers) assert.equal(status, 413, `${what}: ${text}`);
    }
    await settles(ingest, (held) => held === 0);
    assert.deepEqual(await ingest.rows(), []);
    assert.equal((await postOne(ingest, "after")).status, 200);
  },
});
