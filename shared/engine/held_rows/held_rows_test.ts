import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import type { Column } from "../../schema/schema.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import {
  HELD_SCHEMA,
  HeldRows,
  type HeldRowsMeter,
  type HeldTables,
  type WantedBlock,
} from "./held_rows.ts";

const START_NS = 1_790_000_000_000_000_000n;
const HELD_MS_MAX = 20_000;

const HOST: Column = { id: 3, name: "host", type: "string", required: true };
const CODE: Column = { id: 4, name: "code", type: "int", required: false };
const CODE_WIDENED: Column = { ...CODE, type: "long" };

function block(key: string, columns: readonly Column[] = [HOST]): WantedBlock {
  return { file: { key } as DataFile, rows: { first: 0, end: 100 }, columns };
}

/** Tables of 10 bytes a column. */
class FakeTables implements HeldTables {
  readonly made: string[] = [];
  readonly there = new Set<string>();
  failure: Error | undefined;

  make(
    { file, columns }: WantedBlock,
    { table, bytesMax }: { readonly table: string; readonly bytesMax: number },
  ): Promise<number | undefined> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    this.made.push(`${file.key} ${columns.map(({ name }) => name).join(" ")}`);
    const bytes = 10 * columns.length;
    if (bytes > bytesMax) return Promise.resolve(undefined);
    this.there.add(table);
    return Promise.resolve(bytes);
  }

  drop(tables: readonly string[]): Promise<void> {
    for (const table of tables) ok(this.there.delete(table), `${table} is there`);
    return Promise.resolve();
  }
}

/** What is told, counted. */
class FakeMeter implements HeldRowsMeter {
  readonly told = { limit: 0, hits: 0, misses: 0, bytes: 0, blocks: 0, evicted: 0, failed: 0 };

  limit(bytes: number): void {
    this.told.limit = bytes;
  }

  lookedUp(outcome: "hit" | "miss"): void {
    this.told[outcome === "hit" ? "hits" : "misses"] += 1;
  }

  held(bytes: number, blocks: number): void {
    this.told.bytes = bytes;
    this.told.blocks = blocks;
  }

  evicted(blocks: number): void {
    this.told.evicted += blocks;
  }

  failed(): void {
    this.told.failed += 1;
  }
}

function heldRows(options: { readonly bytesMax?: number } = {}) {
  const tables = new FakeTables();
  const time = { ms: 0 };
  const meter = new FakeMeter();
  const held = new HeldRows({ bytesMax: 100, tables, nowMs: () => time.ms, meter, ...options });
  const read = async (...wanted: readonly WantedBlock[]) => {
    const lease = held.lease();
    const taken = lease.take(wanted, { wants: true });
    lease[Symbol.dispose]();
    await held.settled;
    return taken?.length;
  };
  return { held, tables, time, read, told: meter.told };
}

Deno.test("HeldRows a block is made when it is wanted again, and then it is taken", async () => {
  const { held, tables, read } = heldRows();
  deepStrictEqual([await read(block("a")), tables.made], [undefined, []]);
  deepStrictEqual([await read(block("a")), tables.made], [undefined, ["a host"]]);
  strictEqual(await read(block("a")), 1);
  deepStrictEqual([held.blocks, held.bytes], [1, 10]);
});

Deno.test("HeldRows takes all blocks or none, and makes those that lack", async () => {
  const { tables, read } = heldRows();
  for (let i = 0; i < 2; i += 1) await read(block("a"));
  strictEqual(await read(block("a"), block("b")), undefined);
  strictEqual(await read(block("a"), block("b")), undefined);
  strictEqual(await read(block("a"), block("b")), 2);
  deepStrictEqual(tables.made, ["a host", "b host"]);
});

Deno.test("HeldRows a block gains the columns that are wanted of it, and their types as they are now", async () => {
  const { held, tables, read } = heldRows();
  for (let i = 0; i < 3; i += 1) await read(block("a"));
  for (let i = 0; i < 2; i += 1) strictEqual(await read(block("a", [CODE])), undefined);
  strictEqual(await read(block("a", [CODE])), 1);
  strictEqual(await read(block("a", [HOST, CODE])), 1);
  for (let i = 0; i < 2; i += 1) strictEqual(await read(block("a", [CODE_WIDENED])), undefined);
  strictEqual(await read(block("a", [HOST, CODE_WIDENED])), 1);
  deepStrictEqual(tables.made, ["a host", "a code host", "a code host"]);
  deepStrictEqual([held.blocks, held.bytes, tables.there.size], [1, 20, 1]);
});

Deno.test("HeldRows a table stays as long as a statement holds it", async () => {
  const { held, tables, read } = heldRows();
  for (let i = 0; i < 2; i += 1) await read(block("a"));
  const lease = held.lease();
  const [taken] = lease.take([block("a")], { wants: true }) ?? [];
  for (let i = 0; i < 2; i += 1) await read(block("a", [CODE]));
  strictEqual(await read(block("a", [CODE])), 1);
  ok(tables.there.has(taken?.table ?? ""));
  lease[Symbol.dispose]();
  await held.settled;
  deepStrictEqual([tables.there.has(taken?.table ?? ""), held.bytes], [false, 20]);
});

Deno.test("HeldRows.forget takes no table that is gone, also one that was being made", async () => {
  const { held, tables, read, told } = heldRows();
  for (let i = 0; i < 2; i += 1) await read(block("a"));
  const lease = held.lease();
  strictEqual(lease.take([block("a")], { wants: true })?.length, 1);
  tables.there.clear();
  held.forget();
  deepStrictEqual([held.blocks, held.bytes, told.blocks, told.bytes], [0, 0, 0, 0]);
  strictEqual(await read(block("a")), undefined);
  lease[Symbol.dispose]();
  await held.settled;
  // It was begun before, and ends afterwards.
  const begun = Promise.withResolvers<void>();
  const goesOn = Promise.withResolvers<void>();
  const make = tables.make.bind(tables);
  tables.make = async (...args) => {
    const bytes = await make(...args);
    begun.resolve();
    await goesOn.promise;
    return bytes;
  };
  await read(block("b"));
  const making = read(block("b"));
  await begun.promise;
  held.forget();
  goesOn.resolve();
  await making;
  deepStrictEqual([held.blocks, held.bytes, told.failed], [0, 0, 0]);
  // Nobody would ever read it.
  strictEqual(tables.there.size, 0);
});

Deno.test("HeldRows.forget a table that is gone before it can be dropped is no failure", async () => {
  const { held, tables, read, told } = heldRows();
  const make = tables.make.bind(tables);
  tables.make = async (...args) => {
    const bytes = await make(...args);
    held.forget();
    return bytes;
  };
  tables.drop = () => Promise.reject(new Error("there is no such table"));
  for (let i = 0; i < 2; i += 1) await read(block("a"));
  deepStrictEqual([held.blocks, told.failed], [0, 0]);
});

Deno.test("HeldRows drops what was used least recently, and nothing for what is wanted less often", async () => {
  const { held, tables, read } = heldRows({ bytesMax: 40 });
  const names = ["a", "b", "c", "d"];
  for (const name of names) for (let i = 0; i < 2; i += 1) await read(block(name));
  strictEqual(held.blocks, 4);
  // All were read since `e` was wanted first: there is no room for it.
  await read(block("e"));
  for (const name of names) strictEqual(await read(block(name)), 1);
  await read(block("e"));
  deepStrictEqual([held.blocks, tables.made.includes("e host")], [4, false]);
  await read(block("e"));
  deepStrictEqual([await read(block("e")), await read(block("a"))], [1, undefined]);
  deepStrictEqual([held.blocks, held.bytes, tables.there.size], [4, 40, 4]);
});

Deno.test("HeldRows a block that is too large is not made again, and after a failure none is for a while", async () => {
  const { tables, time, read } = heldRows({ bytesMax: 40 });
  for (let i = 0; i < 5; i += 1) await read(block("a", [HOST, CODE]));
  deepStrictEqual([tables.made, tables.there.size], [["a host code"], 0]);
  tables.failure = new Error("the pool is full");
  for (let i = 0; i < 2; i += 1) await read(block("b"));
  tables.failure = undefined;
  for (let i = 0; i < 2; i += 1) strictEqual(await read(block("b")), undefined);
  time.ms += 60_000;
  await read(block("b"));
  strictEqual(await read(block("b")), 1);
});

Deno.test("HeldRows without room holds nothing", async () => {
  const { tables, read, told } = heldRows({ bytesMax: 0 });
  for (let i = 0; i < 4; i += 1) strictEqual(await read(block("a")), undefined);
  deepStrictEqual(tables.made, []);
  deepStrictEqual([told.limit, told.misses], [0, 0]);
});

Deno.test("HeldRows tells what is held, asked for, evicted and failed", async () => {
  const { tables, read, told } = heldRows({ bytesMax: 40 });
  for (const name of ["a", "b", "c", "d"]) for (let i = 0; i < 2; i += 1) await read(block(name));
  deepStrictEqual(told, {
    ...{ limit: 40, hits: 0, misses: 8, bytes: 40, blocks: 4 },
    ...{ evicted: 0, failed: 0 },
  });
  // One gives way.
  for (let i = 0; i < 2; i += 1) await read(block("e"));
  await read(block("e"), block("a"));
  deepStrictEqual(told, {
    ...{ limit: 40, hits: 1, misses: 11, bytes: 40, blocks: 4 },
    ...{ evicted: 1, failed: 0 },
  });
  tables.failure = new Error("the pool is full");
  await read(block("f"));
  await read(block("f"));
  deepStrictEqual([told.blocks, told.failed], [4, 1]);
});

/** Asks until the statement reads rows in memory. */
async function untilHeld(lab: EngineLab, sql: string): Promise<void> {
  const until = Date.now() + HELD_MS_MAX;
  for (;;) {
    await lab.query(sql);
    const { texts } = await lab.query(`EXPLAIN ${sql}`);
    if (texts.join().includes(HELD_SCHEMA) && !texts.join().includes("READ_PARQUET")) return;
    ok(Date.now() < until, `rows of ${sql} are not in memory after ${HELD_MS_MAX} ms: ${texts}`);
  }
}

async function answerOf(lab: EngineLab, sql: string) {
  const { columns, types, texts, stats: { phases: _, ...stats } } = await lab.query(sql);
  return { columns, types, texts, stats };
}

/** Rows of two blocks, and a file of a few that is later. */
async function openLab(): Promise<EngineLab> {
  const lab = await EngineLab.open({ wal: true });
  const rows = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ns: START_NS + BigInt(from + i) * 1_000n,
      host: `h${i % 3}`,
      raw: `line "${from + i}"`,
      attributes: i % 2 === 0 ? null : `{"n":${i}}`,
    }));
  await lab.commit(rows(0, 9_000));
  await lab.commit(rows(9_000, 10));
  return lab;
}

const STATEMENTS = [
  "SELECT timestamp, host, raw FROM events ORDER BY timestamp DESC LIMIT 100",
  "SELECT * FROM events ORDER BY timestamp DESC LIMIT 5000",
  "SELECT upper(raw) AS r, attr_get(attributes, 'n') FROM events ORDER BY timestamp LIMIT 7 OFFSET 3",
  "SELECT timestamp_ns FROM events WHERE timestamp_ns < 1790000000000200000 " +
  "ORDER BY timestamp DESC LIMIT 150",
];

Deno.test("rows in memory give the answer and the figures that files give", async () => {
  await using lab = await openLab();
  for (const sql of STATEMENTS) {
    const answer = await answerOf(lab, sql);
    await untilHeld(lab, sql);
    deepStrictEqual(await answerOf(lab, sql), answer, sql);
  }
});

Deno.test("rows that come later are there at once, before those in memory", async () => {
  await using lab = await openLab();
  const sql = "SELECT raw FROM events ORDER BY timestamp DESC LIMIT 3";
  await untilHeld(lab, sql);
  await lab.append([{ ns: START_NS + 20_000_000n, raw: "in the WAL" }]);
  deepStrictEqual((await lab.query(sql)).rows, [
    ["in the WAL"],
    ['line "9009"'],
    ['line "9008"'],
  ]);
  await lab.commit([{ ns: START_NS + 30_000_000n, raw: "committed" }]);
  deepStrictEqual((await lab.query(sql)).rows, [["committed"], ["in the WAL"], ['line "9009"']]);
});

Deno.test("no statement can name a table of rows in memory", async () => {
  await using lab = await openLab();
  await untilHeld(lab, STATEMENTS[0] ?? "");
  for (const name of [`${HELD_SCHEMA}.b1`, "b1", `memory.${HELD_SCHEMA}.b1`]) {
    await rejects(lab.query(`SELECT * FROM ${name}`), { reason: "unknown_table" });
  }
  const { texts } = await lab.query(
    `WITH ${HELD_SCHEMA} AS (SELECT 1 AS b1) SELECT b1 FROM ${HELD_SCHEMA}`,
  );
  match(texts.join(), /^\[1\]$/);
});
