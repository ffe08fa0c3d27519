/**
 * Kills the ingest server with SIGKILL while its memory breaker refuses rows, several times. The
 * limit is what an idle server has and little more, so two bodies that do not end reach it. The
 * budget of bodies, which would refuse before the breaker does, has room left.
 * Senders write numbered rows meanwhile, as log records and as bulk documents, with `auto` and with
 * `wait_for`. Holds when at the end, drained and asked for by SQL,
 *
 * - each row of a request that was answered 200 is there exactly once,
 * - none of a request that was answered 503 is there.
 *
 * A row whose request got no answer may be there, once; a number is never sent again.
 */

import assert from "node:assert/strict";
import { until } from "../../../shared/testing/until.ts";
import { Stack } from "../../apps/stack.ts";

const KILLS = 3;
const SENDERS = 4;
const ROWS_PER_REQUEST = 10;
/** An idle server has less; with two bodies it has more, also behind a collection. */
const LIMIT_MIB = 110;
/** They fit in the budget of bodies, which has 24 MiB. */
const BODIES_MIB = [16, 6] as const;
const REQUEST_MS_MAX = 10_000;

/** Rows by what their requests were answered. */
class Ledger {
  readonly stored: string[] = [];
  readonly shed: string[] = [];
  readonly unanswered: string[] = [];
  /** Requests that the memory breaker refused. */
  refusals = 0;

  of(status: number | undefined): string[] {
    if (status === 200) return this.stored;
    assert.ok(status === 503 || status === undefined, `status ${status}`);
    return status === 503 ? this.shed : this.unanswered;
  }
}

Deno.test({
  name:
    "Stack: SIGKILL while the memory breaker sheds loses no acknowledged row and stores no shed one",
  async fn() {
    await using stack = await Stack.start({
      rollAgeSecs: 1,
      ingestArgs: ["--ingest-mem-limit-mib", String(LIMIT_MIB), "--ingest-mem-sample-secs", "1"],
    });
    const ledger = new Ledger();
    for (let round = 0; round < KILLS; round += 1) {
      await stack.ensure("ingest");
      await killedWhileItSheds(stack, round, ledger);
    }
    await stack.ensure("ingest");
    await requireRows(stack, ledger);
  },
});

async function killedWhileItSheds(stack: Stack, round: number, ledger: Ledger): Promise<void> {
  const storedBefore = ledger.stored.length;
  const refusalsBefore = ledger.refusals;
  const over = new AbortController();
  const sending = Array.from(
    { length: SENDERS },
    (_, sender) => sendRows(stack, `${round}-${sender}`, { ledger, signal: over.signal }),
  );
  try {
    await until(() => ledger.stored.length > storedBefore);
    // It ends with the server.
    const halves = Promise.all(BODIES_MIB.map((mib) => sendHalf(stack, mib * 1024 ** 2)));
    await until(() => ledger.refusals > refusalsBefore);
    await new Promise((resolve) => setTimeout(resolve, 100 * Math.random()));
    await stack.kill("ingest");
    await halves;
  } finally {
    over.abort();
    await Promise.all(sending);
  }
}

async function sendRows(
  stack: Stack,
  sender: string,
  { ledger, signal }: { ledger: Ledger; signal: AbortSignal },
): Promise<void> {
  for (let request = 0; !signal.aborted; request += 1) {
    const ids = Array.from({ length: ROWS_PER_REQUEST }, (_, row) => `${sender}-${request}-${row}`);
    const { status, isRefusal } = await send(stack, ids, request);
    ledger.of(status).push(...ids);
    if (isRefusal) ledger.refusals += 1;
    // A server that is gone, or refuses, is not asked without a pause.
    if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The answer's status, undefined without one, and whether the memory breaker gave it. */
async function send(
  stack: Stack,
  ids: readonly string[],
  request: number,
): Promise<{ readonly status: number | undefined; readonly isRefusal: boolean }> {
  const isBulk = request % 3 === 0;
  const path = isBulk ? "/api/v1/_compat/events/_bulk" : "/v1/logs";
  const logRecords = ids.map((id) => ({ body: { stringValue: id } }));
  const body = isBulk
    ? ids.map((id) => `{"index":{}}\n{"message":"${id}"}\n`).join("")
    : JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] });
  const type = isBulk ? "application/x-ndjson" : "application/json";
  const mode = request % 2 === 0 ? "auto" : "wait_for";
  try {
    const response = await fetch(`${stack.ingestUrl}${path}`, {
      method: "POST",
      headers: { "content-type": type, "x-svc-commit": mode },
      body,
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    });
    const text = await response.text();
    if (isBulk && response.status === 200) assert.ok(text.includes('"errors":false'), text);
    const isRefusal = response.status === 503 && text.includes("--ingest-mem-limit-mib");
    return { status: response.status, isRefusal };
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    return { status: undefined, isRefusal: false };
  }
}

/** Sends the head of a body and most of it; returns when the server ends the connection. */
async function sendHalf(stack: Stack, bodyBytes: number): Promise<void> {
  const { hostname, port } = new URL(stack.ingestUrl);
  const head =
    `POST /v1/logs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n` +
    `content-length: ${bodyBytes}\r\n\r\n`;
  try {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const half = new Uint8Array(bodyBytes - 1).fill(1);
    for (const bytes of [new TextEncoder().encode(head), half]) {
      for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
    }
    while (await connection.read(new Uint8Array(4_096)) !== null);
  } catch {
    // Killed, or refused and drained no further.
  }
}

async function requireRows(stack: Stack, { stored, shed, unanswered }: Ledger): Promise<void> {
  assert.ok(stored.length > 0 && shed.length > 0, `${stored.length} stored, ${shed.length} shed`);
  const found = await rawTexts(stack);
  const there = new Set(found);
  assert.equal(found.length, there.size, "rows that are there twice");
  const lost = stored.filter((id) => !there.has(id));
  assert.deepEqual(lost.slice(0, 5), [], `${lost.length} of ${stored.length} acknowledged rows`);
  const kept = shed.filter((id) => there.has(id));
  assert.deepEqual(kept.slice(0, 5), [], `${kept.length} of ${shed.length} shed rows are there`);
  const open = unanswered.filter((id) => there.has(id));
  assert.equal(found.length, stored.length + open.length, "rows that nobody sent");
}

/** The texts of all rows, once the query server answers: it unions what is not drained yet. */
async function rawTexts(stack: Stack): Promise<string[]> {
  let rows: readonly (readonly unknown[])[] = [];
  await until(async () => {
    try {
      ({ rows } = await stack.sql("SELECT raw FROM events", {
        default_order: false,
        limits: { max_rows_returned: 1_000_000 },
      }));
      return true;
    } catch (error) {
      if (error instanceof Error && error.message.startsWith("503")) return false;
      throw error;
    }
  });
  return rows.map(([raw]) => String(raw));
}
