/**
 * Rows of a trace are found in the WAL, whatever its frames say of the traces that they hold. Log
 * records and spans come as senders send them, with ids of every kind, and are drained at times.
 * Answers are compared with a plain list of the rows.
 *
 * `SVC_TEST_SEED` and `SVC_TEST_TRACE_SEEDS` ask for other seeds, and more of them.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { decodeLogsJson } from "../../ingest/otlp/logs/logs_json.ts";
import { decodeSpansJson } from "../../ingest/otlp/spans/spans_json.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { rowsOf } from "../../shared/columns/rows.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { summaryOf } from "../../shared/wal/frame_summary.ts";
import { drain } from "./sql_lab.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 64_000);
const SEEDS = Number(Deno.env.get("SVC_TEST_TRACE_SEEDS") ?? 4);
const STEPS = 12;
const STATEMENTS_A_STEP = 8;
const FIRST_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z
const TABLES = ["events", "traces"] as const;
type Table = typeof TABLES[number];

interface Row {
  readonly trace: string | null;
  /** What its attributes say. */
  readonly said: string | null;
  readonly ns: bigint;
}

function pick<T>(random: SeededRandom, of: readonly T[]): T {
  return of[random.below(of.length)] as T;
}

const hexOf = (random: SeededRandom, digits: number) =>
  Array.from({ length: digits }, () => random.below(16).toString(16)).join("");

/** Random ids, ids that differ in their last digit alone, and ids of other systems. */
function traceIds(random: SeededRandom): readonly string[] {
  const alike = hexOf(random, 31);
  return [
    ...Array.from({ length: 30 }, () => hexOf(random, 32)),
    ...Array.from({ length: 6 }, (_, at) => alike + at.toString(16)),
    ...Array.from({ length: 4 }, (_, at) => `${"0".repeat(16)}${hexOf(random, 15)}${at}`),
    ...Array.from({ length: 3 }, () => `${hexOf(random, 16)}${"0".repeat(15)}1`),
  ];
}

function logsRequest(random: SeededRandom, ids: readonly string[], odd: number) {
  const logRecords = Array.from({ length: 1 + random.below(60) }, () => ({
    timeUnixNano: String(FIRST_NS + BigInt(random.below(600_000)) * 1_000_000n),
    body: { stringValue: "line" },
    ...random.chance(0.8) ? { traceId: pick(random, ids) } : {},
    ...random.below(100) < odd ? { traceId: pick(random, ["", "0".repeat(32)]) } : {},
    attributes: random.below(100) < odd
      ? [{ key: "trace_id", value: { stringValue: pick(random, ids) } }]
      : [{ key: "n", value: { intValue: "1" } }],
  }));
  return { resourceLogs: [{ scopeLogs: [{ logRecords }] }] };
}

function spansRequest(random: SeededRandom, ids: readonly string[]) {
  const spans = Array.from({ length: 1 + random.below(60) }, () => {
    const start = FIRST_NS + BigInt(random.below(600_000)) * 1_000_000n;
    return {
      traceId: pick(random, ids),
      spanId: `1${hexOf(random, 15)}`,
      name: "call",
      startTimeUnixNano: String(start),
      endTimeUnixNano: String(start + 5n),
      attributes: random.chance(0.2)
        ? [{ key: "trace_id", value: { stringValue: pick(random, ids) } }]
        : [],
    };
  });
  return { resourceSpans: [{ scopeSpans: [{ spans }] }] };
}

class Tables {
  readonly rows: Record<Table, Row[]> = { events: [], traces: [] };

  constructor(
    readonly lab: EngineLab,
    readonly random: SeededRandom,
    readonly ids: readonly string[],
  ) {}

  async append(table: Table): Promise<void> {
    const { lab, random } = this;
    const few = Array.from({ length: 1 + random.below(12) }, () => pick(random, this.ids));
    const odd = random.chance(0.2) ? 10 : 0;
    const request = table === "events" ? logsRequest(random, few, odd) : spansRequest(random, few);
    const body = new TextEncoder().encode(JSON.stringify(request));
    const decode = table === "events" ? decodeLogsJson : decodeSpansJson;
    const batch = decode(body, { nowNs: FIRST_NS });
    for (const row of rowsOf(batch)) {
      const said = JSON.parse(String(row["attributes"] ?? "{}")).trace_id ?? null;
      const trace = table === "traces" ? row["trace_id"] as string : said;
      this.rows[table].push({ trace, said, ns: row["timestamp_ns"] as bigint });
    }
    const encoded = encodeBatch(batch);
    const summary = random.chance(0.05) ? undefined : summaryOf(batch);
    const framed = { ...encoded, ...summary === undefined ? {} : { summary } };
    await lab.wal?.append({ tenant: "default", index: table }, framed, "auto");
    batch.release?.();
  }

  async seal(table: Table): Promise<void> {
    await this.lab.wal?.seal({ tenant: "default", index: table });
  }

  /** A statement, and the rows that it is meant to find. */
  statement(table: Table): { readonly sql: string; readonly isMeant: (row: Row) => boolean } {
    const { random } = this;
    const id = table === "events" ? "attr_get(attributes, 'trace_id')" : "trace_id";
    const [one, other] = [pick(random, this.ids), pick(random, this.ids)];
    const absent = hexOf(random, 32);
    const us = FIRST_NS / 1_000n + BigInt(random.below(600)) * 1_000_000n;
    const is = (...traces: readonly string[]) => ({ trace }: Row) =>
      trace !== null && traces.includes(trace);
    const cases: readonly (readonly [string, (row: Row) => boolean])[] = [
      [`${id} = '${one}'`, is(one)],
      [`${id} = '${one}'`, is(one)],
      [`'${one}' = ${id}`, is(one)],
      [`${id} = '${absent}'`, is()],
      [`attr_get(attributes, 'trace_id') = '${one}'`, ({ said }) => said === one],
      [`${id} = '${one.toUpperCase()}'`, is(one.toUpperCase())],
      [`${id} IN ('${one}', '${other}')`, is(one, other)],
      [`${id} = '${one}' OR ${id} = '${other}'`, is(one, other)],
      [`(${id} = '${one}' OR ${id} = 'none') AND ${id} IS NOT NULL`, is(one)],
      [
        `${id} = '${one}' OR timestamp < make_timestamptz(${us})`,
        (row) => is(one)(row) || row.ns / 1_000n < us,
      ],
      [
        `${id} = '${one}' AND timestamp >= make_timestamptz(${us})`,
        (row) => is(one)(row) && row.ns / 1_000n >= us,
      ],
      [`${id} <> '${one}'`, ({ trace }) => trace !== null && trace !== one],
      [`NOT ${id} = '${one}'`, ({ trace }) => trace !== null && trace !== one],
      [`lower(${id}) = '${one}'`, is(one)],
      [
        `${id} LIKE '${one.slice(0, 30)}%'`,
        ({ trace }) => trace?.startsWith(one.slice(0, 30)) === true,
      ],
    ];
    const [condition, isMeant] = pick(random, cases);
    return { sql: `SELECT timestamp_ns FROM ${table} WHERE ${condition}`, isMeant };
  }

  async check(table: Table): Promise<void> {
    const { sql, isMeant } = this.statement(table);
    const { rows } = await this.lab.query(sql, { rowsMax: 100_000 });
    const found = rows.map(([ns]) => String(ns)).toSorted();
    deepStrictEqual(
      found,
      this.rows[table].filter(isMeant).map(({ ns }) => String(ns)).toSorted(),
      sql,
    );
  }
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`rows of a trace are found in the WAL, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    await using lab = await EngineLab.open({ wal: true });
    const tables = new Tables(lab, random, traceIds(random));
    for (let step = 0; step < STEPS; step += 1) {
      for (const table of TABLES) {
        const frames = 1 + random.below(12);
        for (let frame = 0; frame < frames; frame += 1) await tables.append(table);
        if (random.chance(0.6)) await tables.seal(table);
      }
      if (step % 4 === 3) await drain(lab);
      for (let asked = 0; asked < STATEMENTS_A_STEP; asked += 1) {
        await tables.check(pick(random, TABLES));
      }
    }
  });
}

Deno.test("a trace of few frames has just these converted", async () => {
  const random = new SeededRandom(FIRST_SEED);
  await using lab = await EngineLab.open({ wal: true });
  const tables = new Tables(lab, random, Array.from({ length: 4_000 }, () => hexOf(random, 32)));
  for (let frame = 0; frame < 200; frame += 1) await tables.append("traces");
  const converted = async () =>
    (await Array.fromAsync(Deno.readDir(`${lab.dir}/cache/wal`))).length;
  for (const { trace } of tables.rows.traces.slice(0, 20)) {
    const { stats } = await lab.query(`SELECT * FROM traces WHERE trace_id = '${trace}'`);
    ok(Number(stats.rows_scanned) < 1_000, `${stats.rows_scanned} rows were read`);
  }
  deepStrictEqual(await converted(), 0);
});

Deno.test("a trace whose frame is damaged at the end of a segment is found where it was read before", async () => {
  const random = new SeededRandom(FIRST_SEED);
  await using lab = await EngineLab.open({ wal: true });
  const tables = new Tables(lab, random, Array.from({ length: 4_000 }, () => hexOf(random, 32)));
  for (let frame = 0; frame < 6; frame += 1) await tables.append("traces");
  const all = await lab.query("SELECT trace_id FROM traces");
  deepStrictEqual(all.rows.length, tables.rows.traces.length);
  const folder = `${lab.dir}/wal/default/traces/active`;
  for await (const { name } of Deno.readDir(folder)) {
    const bytes = await Deno.readFile(`${folder}/${name}`);
    const at = bytes.byteLength - 100;
    bytes[at] = (bytes[at] ?? 0) ^ 4;
    await Deno.writeFile(`${folder}/${name}`, bytes);
  }
  const { trace } = tables.rows.traces.at(-1) ?? { trace: null };
  const found = await lab.query(`SELECT name FROM traces WHERE trace_id = '${trace}'`);
  deepStrictEqual(
    found.rows.length,
    tables.rows.traces.filter((row) => row.trace === trace).length,
  );
});
