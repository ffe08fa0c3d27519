/** The hub and its readers on a clock that the test moves. */

import assert from "node:assert/strict";
import { textOf } from "../../shared/base/bytes.ts";
import { isOperatingError } from "../../shared/base/errors.ts";
import { ByteBuilder } from "../../shared/columns/byte_builder.ts";
import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { batchOfRows } from "../../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { TableSchema } from "../../shared/schema/schema.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { appendRows } from "../append_rows.ts";
import { createIngestMetrics } from "../metrics.ts";
import { eventWriterOf } from "./stream_event.ts";
import { StreamHub } from "./stream_hub.ts";
import { STREAM_LIMITS } from "./stream_limits.ts";

function openHub() {
  const clock = new FakeClock();
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  return { clock, metrics, hub: new StreamHub({ clock, metrics }) };
}

function batchOf(raws: readonly string[]): ColumnBatch {
  const rest = { timestamp: 1n, timestamp_ns: 1_000n, host: "h", source: "s", index: "main" };
  return batchOfRows(
    EVENTS_SCHEMA,
    raws.map((raw) => ({ ...rest, sourcetype: "t", raw, attributes: null })),
  );
}

/** A batch that fails the test when anybody reads a column. */
const UNREADABLE: ColumnBatch = {
  schema: EVENTS_SCHEMA,
  rows: 1,
  get columns(): never {
    throw new Error("columns were read");
  },
};

async function read(body: ReadableStream<Uint8Array>): Promise<{ text: string; error?: unknown }> {
  let text = "";
  try {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) text += chunk;
  } catch (error) {
    return { text, error };
  }
  return { text };
}

function rawsOf(text: string): string[] {
  return [...text.matchAll(/"raw":"([^"]*)"/g)].map(([, raw]) => raw ?? "");
}

const PLACE = { keep: () => {}, [Symbol.dispose]: () => {} };

Deno.test({
  name: "appendRows asks one field of the hub when nobody listens, and renders nothing",
  async fn() {
    let asked = 0;
    const stream = {
      get isHeard() {
        asked += 1;
        return false;
      },
      publish: () => assert.fail("published"),
    };
    const { clock, metrics } = openHub();
    const deps = {
      stream,
      clock,
      metrics,
      lanes: { admit: () => PLACE },
      wal: { append: () => Promise.resolve({ segment: "1" }) },
    };
    const lane = { tenant: "default", index: "events" };
    await appendRows(batchOf(["a"]), { lane, mode: "auto", deps });
    assert.equal(asked, 1);
  },
});

Deno.test({
  name: "appendRows publishes before the append, and nothing that no lane takes",
  async fn() {
    const { clock, metrics } = openHub();
    const told: string[] = [];
    const deps = {
      stream: { isHeard: true, publish: (tenant: string) => void told.push(`publish ${tenant}`) },
      clock,
      metrics,
      lanes: {
        admit({ index }: { index: string }) {
          if (index === "full") throw new Error("no lane");
          return PLACE;
        },
      },
      wal: {
        append() {
          told.push("append");
          return Promise.reject(new Error("disk"));
        },
      },
    };
    for (const index of ["full", "events"]) {
      const lane = { tenant: "acme", index };
      await assert.rejects(appendRows(batchOf(["a"]), { lane, mode: "auto", deps }));
    }
    assert.deepEqual(told, ["publish acme", "append"]);
  },
});

Deno.test({
  name: "StreamHub is heard while there is a reader, and reads batches of heard tenants only",
  fn() {
    const { hub } = openHub();
    assert.equal(hub.isHeard, false);
    const first = hub.open("a");
    const second = hub.open("b");
    hub.publish("c", UNREADABLE);
    assert.throws(() => hub.publish("a", UNREADABLE), /columns were read/);
    first.leave();
    first.leave();
    hub.publish("a", UNREADABLE);
    assert.deepEqual([hub.isHeard, hub.readers], [true, 1]);
    second.leave();
    assert.deepEqual([hub.isHeard, hub.readers], [false, 0]);
  },
});

Deno.test({
  name: "StreamHub.publish has rendered what it gives when it returns",
  async fn() {
    const { hub } = openHub();
    const reader = hub.open("a");
    const batch = batchOf(["kept"]);
    hub.publish("a", batch);
    for (const column of batch.columns) column.values.fill(0x78);
    hub.stop();
    assert.deepEqual(rawsOf((await read(reader.body)).text), ["kept"]);
  },
});

Deno.test({
  name: "StreamHub says something each 15 s without rows",
  async fn() {
    const { hub, clock } = openHub();
    const reader = hub.open("a");
    const answer = read(reader.body);
    for (let second = 0; second < 46; second += 1) await clock.advance(1_000);
    hub.stop();
    const { text } = await answer;
    assert.equal(text, ": connected\n\n" + ": keep-alive\n\n".repeat(3));
  },
});

Deno.test({
  name: "StreamHub gives a batch that is too large as far as there is room, and counts the rest",
  async fn() {
    const { hub, metrics } = openHub();
    const [slow, gone] = [hub.open("a"), hub.open("a")];
    gone.leave();
    const raw = "x".repeat(1_000);
    const rows = 8_000;
    hub.publish("a", batchOf(Array.from({ length: rows }, () => raw)));
    hub.publish("a", batchOf([raw, raw]));
    const { text } = await read(slow.body);
    const events = text.split("event: event\n").length - 1;
    const missed = Number(/event: lagged\ndata: \{"missed":(\d+)\}\n\n$/.exec(text)?.[1]);
    assert.equal(events + missed, rows + 2);
    const held = STREAM_LIMITS.readerBytesMax;
    assert.ok(text.length < held && text.length > held / 2, `${text.length} characters`);
    assert.equal(metrics.streamEvents.at({}).value, events);
    assert.equal(metrics.streamLagged.at({}).value, 1);
    assert.equal(hub.isHeard, false);
  },
});

Deno.test({
  name: "StreamHub cuts a reader off who does not read in time what it still may have",
  async fn() {
    const { hub, clock } = openHub();
    for (const end of [() => hub.publish("a", large), () => hub.stop()]) {
      const reader = hub.open("a");
      end();
      await clock.advance(STREAM_LIMITS.lastMsMax - 1);
      assert.equal(hub.readers, 1);
      await clock.advance(1);
      assert.equal(hub.readers, 0);
      const { text, error } = await read(reader.body);
      assert.deepEqual([text, isOperatingError(error, "cancelled")], ["", true]);
    }
    assert.throws(() => hub.open("a"), { code: "unavailable", retryAfterSecs: 5 });
    assert.equal(clock.sleepers, 0);
  },
});

const large = batchOf(Array.from({ length: 5_000 }, () => "x".repeat(1_000)));

Deno.test({
  name: "StreamHub bounds readers of a tenant and of the process",
  fn() {
    const { hub, metrics } = openHub();
    const { readersMax, tenantReadersMax } = STREAM_LIMITS;
    for (let i = 0; i < tenantReadersMax; i += 1) hub.open("busy");
    assert.throws(() => hub.open("busy"), { code: "unavailable", reason: "stream_readers" });
    for (let i = hub.readers; i < readersMax; i += 1) hub.open(`t${i}`);
    assert.throws(() => hub.open("last"), { code: "unavailable", reason: "stream_readers" });
    assert.equal(metrics.streamRefused.at({}).value, 2);
    hub.stop();
  },
});

Deno.test({
  name: "eventWriterOf writes every column type; 64-bit integers as strings, NaN as a string",
  fn() {
    const types = ["timestamptz", "long", "int", "double", "bool", "string"] as const;
    const schema: TableSchema = {
      columns: types.map((type, i) => ({ id: i + 1, name: type, type, required: false })),
      tags: [],
    };
    const batch = batchOfRows(schema, [
      {
        timestamptz: 1_763_000_000_123_456n,
        long: 9_223_372_036_854_775_807n,
        int: -7,
        double: 0.5,
        bool: true,
        string: '"\n',
      },
      { timestamptz: 0n, long: -1n, int: 0, double: NaN, bool: false, string: null },
    ]);
    const write = eventWriterOf(batch);
    const data = (row: number) => {
      const out = new ByteBuilder();
      write(out, row);
      return JSON.parse(textOf(out.take()).slice("event: event\ndata: ".length));
    };
    assert.deepEqual(data(0), {
      timestamptz: "2025-11-13T02:13:20.123456Z",
      long: "9223372036854775807",
      int: -7,
      double: 0.5,
      bool: true,
      string: '"\n',
    });
    assert.deepEqual(data(1), {
      timestamptz: "1970-01-01T00:00:00.000000Z",
      long: "-1",
      int: 0,
      double: "NaN",
      bool: false,
      string: null,
    });
  },
});
