/**
 * `last_values()` and `distinct_values()` through the engine: what they answer, what they read,
 * what they refuse.
 */

import { deepStrictEqual, equal, ok, rejects } from "node:assert/strict";
import fc from "fast-check";
import { encodeBatch } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { openWalReader } from "../../wal/reader.ts";
import type { WalReader } from "../../wal/types.ts";
import { type HotCacheMeter, HotCaches } from "./hot_caches.ts";

const START_NS = 1_780_000_000_000_000_000n;
const EVENTS: LaneId = { tenant: "default", index: "events" };
const DISTINCT = "SELECT value, rows FROM distinct_values('host') ORDER BY value";

function openLab(hotCaches = true): Promise<EngineLab> {
  return EngineLab.open({ wal: true, engine: { hotCaches } });
}

function at(second: number): bigint {
  return START_NS + BigInt(second) * 1_000_000_000n;
}

Deno.test({
  name: "distinct_values counts the rows of the WAL, follows it, and joins like a table",
  async fn() {
    await using lab = await openLab();
    deepStrictEqual((await lab.query(DISTINCT)).rows, []);
    await lab.append([{ ns: at(1), host: "b" }, { ns: at(3), host: "a" }, {
      ns: at(2),
      host: "b",
    }]);
    const { columns, rows } = await lab.query(
      "SELECT * EXCLUDE timestamp_ns FROM distinct_values('host') ORDER BY value",
    );
    deepStrictEqual(columns, ["value", "rows", "timestamp"]);
    deepStrictEqual(rows, [["a", 1, "2026-05-28T20:26:43.000000Z"], [
      "b",
      2,
      "2026-05-28T20:26:42.000000Z",
    ]]);
    await lab.wal?.seal(EVENTS);
    await lab.append([{ ns: at(9), host: "ü" }, { ns: at(8), host: "b" }]);
    deepStrictEqual((await lab.query(DISTINCT)).rows, [["a", 1], ["b", 3], ["ü", 1]]);
    const joined = await lab.query(
      "WITH busy AS (SELECT d.value FROM distinct_values(host, events) AS d WHERE d.rows > 1) " +
        "SELECT e.raw, count(*) FROM events e JOIN busy ON e.host = busy.value GROUP BY 1",
    );
    deepStrictEqual(joined.rows, [["", 3]]);
    const { stats } = await lab.query("SELECT count(*) FROM distinct_values('host')");
    equal(stats.served_by, "scan");
  },
});

Deno.test("hot caches tell texts apart that differ in a byte order mark", async () => {
  await using lab = await openLab();
  await lab.append([{ ns: at(1), host: "a" }, { ns: at(2), host: "\ufeffa" }]);
  deepStrictEqual((await lab.query(DISTINCT)).rows, [["a", 1], ["\ufeffa", 1]]);
  deepStrictEqual((await lab.query("SELECT host FROM last_values() ORDER BY host")).rows, [
    ["a"],
    ["\ufeffa"],
  ]);
});

Deno.test({
  name: "HotCaches tell what they hold, and which segments they had to read",
  async fn() {
    const told: unknown[] = [];
    const meter: HotCacheMeter = {
      held: ({ bytes, segments }) => void told.push([bytes > 0, segments]),
      asked: (segments) => void told.push(segments),
    };
    await using lab = await EngineLab.open({
      wal: true,
      engine: { hotCaches: true, hotCacheMeter: meter },
    });
    const toldBy = async () => {
      told.length = 0;
      await lab.query(DISTINCT);
      return [...told];
    };
    deepStrictEqual(await toldBy(), [{ hits: 0, misses: 0 }, [false, 0]]);
    await lab.append([{ ns: at(1), host: "a" }]);
    deepStrictEqual(await toldBy(), [{ hits: 0, misses: 1 }, [true, 1]]);
    deepStrictEqual(await toldBy(), [{ hits: 1, misses: 0 }, [true, 1]]);
    await lab.wal?.seal(EVENTS);
    await lab.append([{ ns: at(2), host: "b" }]);
    deepStrictEqual(await toldBy(), [{ hits: 1, misses: 1 }, [true, 2]]);
  },
});

Deno.test({
  name: "last_values has the newest row of each combination of tags",
  async fn() {
    await using lab = await openLab();
    await lab.append([
      { ns: at(5), host: "a", raw: "newest of a", attributes: '{"x":1}' },
      { ns: at(1), host: "a", raw: "old" },
      { ns: at(2), host: "b", raw: "first of b" },
    ]);
    await lab.wal?.seal(EVENTS);
    await lab.append([{ ns: at(4), host: "a", raw: "late" }, {
      ns: at(6),
      host: "b",
      raw: "new b",
    }]);
    const { columns, rows } = await lab.query(
      "SELECT host, raw, attr_get(attributes, 'x') FROM last_values() ORDER BY host",
    );
    deepStrictEqual(columns.slice(0, 2), ["host", "raw"]);
    deepStrictEqual(rows, [["a", "newest of a", "1"], ["b", "new b", null]]);
    const all = await lab.query("SELECT * FROM last_values()");
    deepStrictEqual(all.columns, EVENTS_SCHEMA.columns.map(({ name }) => name));
  },
});

Deno.test({
  name: "hot caches keep tenants and indexes apart",
  async fn() {
    await using lab = await openLab();
    await lab.append([{ ns: at(1), host: "own" }]);
    await lab.append([{ ns: at(1), host: "other" }], { tenant: "acme", index: "events" });
    await lab.append([{ ns: at(1), host: "orders" }], { tenant: "default", index: "orders" });
    const values = async (call: string, who = {}) =>
      (await lab.query(`SELECT value FROM ${call}`, who)).rows.flat();
    deepStrictEqual(await values("distinct_values('host')"), ["own"]);
    deepStrictEqual(await values("distinct_values('host', 'orders')"), ["orders"]);
    const acme = { tenant: "acme", namespace: "acme" };
    deepStrictEqual(await values("distinct_values('host')", acme), ["other"]);
    await rejects(values("distinct_values('host', 'none')"), { reason: "unknown_table" });
    await rejects(values("last_values('../default/events')"), {
      reason: "unknown_table",
      message: /there is no such table; there are: events/,
    });
    deepStrictEqual(await values("distinct_values('service', 'traces')"), []);
  },
});

const REFUSED: [sql: string, reason: string, message: RegExp][] = [
  ["SELECT * FROM distinct_values('raw')", "unknown_dimension", /its tags are host, source/],
  ["SELECT * FROM distinct_values()", "bad_hot_call", /write distinct_values\('<column>'\)/],
  ["SELECT * FROM distinct_values('a', 'b', 'c')", "bad_hot_call", /write distinct/],
  ["SELECT * FROM distinct_values(1)", "bad_hot_call", /write distinct/],
  ["SELECT * FROM distinct_values(lower('host'))", "bad_hot_call", /write distinct/],
  ["SELECT * FROM last_values(1 + 1)", "bad_hot_call", /write last_values\(\)/],
  ["SELECT distinct_values('host')", "refused_function", /distinct_values/],
  ["SELECT * FROM main.last_values()", "refused_function", /last_values/],
];

Deno.test({
  name: "hot functions refuse what they cannot answer, and everything when they are off",
  async fn(t) {
    await using lab = await openLab();
    for (const [sql, reason, message] of REFUSED) {
      await t.step(sql, async () => {
        await rejects(lab.query(sql), { code: "invalid_argument", reason, message });
      });
    }
    await rejects(lab.query(DISTINCT, { snapshot: "latest" }), { reason: "bad_hot_call" });
    await using prepared = await lab.prepare("SELECT * FROM last_values() AS l");
    deepStrictEqual(prepared.tables.map(({ table }) => table), ["last_values(events)"]);
    equal(prepared.defaultOrderApplied, false);
    await using off = await openLab(false);
    const message = /--query-hot-caches and --query-wal-buffer-dir/;
    await rejects(off.query(DISTINCT), { reason: "hot_caches_off", message });
  },
});

/** Counts how often segments are opened, and the rows that are read of them. */
function counting(wal: WalReader): WalReader & { opened: number; rows: number } {
  const counted = {
    opened: 0,
    rows: 0,
    lanes: () => wal.lanes(),
    list: wal.list.bind(wal),
    names: wal.names.bind(wal),
    messageBytes: wal.messageBytes.bind(wal),
    open: async (...args: Parameters<WalReader["open"]>) => {
      counted.opened += 1;
      const segment = await wal.open(...args);
      const frames = segment.frames.bind(segment);
      segment.frames = async function* (offset) {
        for await (const frame of frames(offset)) {
          counted.rows += frame.rows;
          yield frame;
        }
      };
      return segment;
    },
  };
  return counted;
}

Deno.test({
  name: "HotCaches reads a sealed segment once, and gives up lanes nobody asks about",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const wal = counting(openWalReader(new DenoFileSystem(), `${lab.dir}/wal`));
    const caches = new HotCaches({ wal, bytesMax: 2_000 });
    const question = (lane: LaneId) => ({
      lane,
      tags: ["host"],
      epoch: 0,
      signal: new AbortController().signal,
    });
    await lab.append([{ ns: at(1), host: "a" }]);
    await lab.wal?.seal(EVENTS);
    for (let times = 0; times < 3; times += 1) {
      const values = await caches.distinctValues(question(EVENTS), "host");
      deepStrictEqual([...values.keys()], ["a"]);
    }
    deepStrictEqual([wal.opened, wal.rows], [1, 1]);
    const other: LaneId = { tenant: "default", index: "other" };
    await lab.append(Array.from({ length: 4 }, (_, i) => ({ ns: at(i), host: `h${i}` })), other);
    equal((await caches.distinctValues(question(other), "host")).size, 4);
    ok(caches.bytes <= 2_000, `${caches.bytes} bytes`);
    await lab.append(Array.from({ length: 99 }, (_, i) => ({ ns: at(i), host: `n${i}` })), other);
    await rejects(caches.distinctValues(question(other), "host"), {
      code: "unavailable",
      reason: "hot_cache_full",
    });
  },
});

Deno.test({
  name:
    "HotCaches keeps its bound while it reads a lane with too many values, and reads no further",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const wal = counting(openWalReader(new DenoFileSystem(), `${lab.dir}/wal`));
    const caches = new HotCaches({ wal, bytesMax: 20_000 });
    for (let frame = 0; frame < 20; frame += 1) {
      await lab.append(
        Array.from({ length: 20 }, (_, i) => ({ ns: at(i), host: `${frame}-${i}` })),
      );
    }
    const { signal } = new AbortController();
    const asked = caches.distinctValues({ lane: EVENTS, tags: ["host"], epoch: 0, signal }, "host");
    await rejects(asked, { code: "unavailable", reason: "hot_cache_full" });
    ok(wal.rows < 200, `${wal.rows} rows read`);
    equal(caches.bytes, 0);
  },
});

Deno.test({
  name: "hot caches give what a plain model does, however rows come and segments end",
  async fn() {
    await using lab = await EngineLab.open({ wal: true });
    const caches = new HotCaches({ wal: openWalReader(new DenoFileSystem(), `${lab.dir}/wal`) });
    let lanes = 0;
    const rows = fc.array(
      fc.record({ host: fc.constantFrom("a", "b", "", "ü"), second: fc.nat(20) }),
      { minLength: 1, maxLength: 5 },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(rows, fc.boolean()), { maxLength: 6 }), async (steps) => {
        const lane = { tenant: "default", index: `lane${lanes++}` };
        const question = { lane, tags: ["host"], epoch: 0, signal: new AbortController().signal };
        const model = new Map<string, { rows: number; lastNs: bigint }>();
        for (const [batch, seals] of steps) {
          const filled = batch.map(({ host, second }) => ({
            ...{ source: "s", sourcetype: "t", index: "main", raw: "", attributes: null },
            timestamp: at(second) / 1_000n,
            timestamp_ns: at(second),
            host,
          }));
          await lab.wal?.append(lane, encodeBatch(batchOfRows(EVENTS_SCHEMA, filled)), "auto");
          for (const { host, timestamp_ns: ns } of filled) {
            const known = model.get(host) ?? { rows: 0, lastNs: 0n };
            model.set(host, {
              rows: known.rows + 1,
              lastNs: ns > known.lastNs ? ns : known.lastNs,
            });
          }
          if (seals) await lab.wal?.seal(lane);
          deepStrictEqual(await caches.distinctValues(question, "host"), model);
          const last = await caches.lastValues(question);
          deepStrictEqual(
            new Map(last.rows.map((row) => [row["host"], row["timestamp_ns"]])),
            new Map([...model].map(([host, { lastNs }]) => [host, lastNs])),
          );
        }
      }),
      { numRuns: 40 },
    );
  },
});
