/**
 * Rows of the WAL that are counted by what their frames say of them are those that are read. Log
 * records come as senders send them: with severities of every kind, with attributes that are called
 * as a severity, from many services, in any order of time.
 *
 * `SVC_TEST_SEED` and `SVC_TEST_TALLY_SEEDS` ask for other seeds, and more of them.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { decodeLogsJson } from "../../ingest/otlp/logs/logs_json.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import { drainAll } from "../../shared/drain/drain_all.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { EngineLab, type LabAnswer } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import { summaryOf } from "../../shared/wal/frame_summary.ts";
import { openWalReader } from "../../shared/wal/reader.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 81_000);
const SEEDS = Number(Deno.env.get("SVC_TEST_TALLY_SEEDS") ?? 4);
const STEPS = 14;
const STATEMENTS_A_STEP = 6;
const LANE = { tenant: "default", index: "events" };
const FIRST_NS = 1_790_000_000_000_000_000n; // 2026-09-21T14:13:20Z

const SEVERITIES = [
  ...[
    "INFO",
    "INFO",
    "INFO",
    "WARN",
    "ERROR",
    "error",
    "",
    "Info 2",
    'a "b" \\',
    "\u00c9RR\u00d6R",
  ],
  ...["x".repeat(40), "NULL"],
];
const SERVICES = ["api", "web", "checkout", "caf\u00e9", "a'b", ""];

/** Statements whose rows were counted by frames, and those that read some of them. */
const told = { counted: 0, read: 0 };

function pick<T>(random: SeededRandom, of: readonly T[]): T {
  return of[random.below(of.length)] as T;
}

/** How the records of one request are made. */
interface Sender {
  readonly severities: readonly string[];
  readonly services: readonly string[];
  readonly spanSecs: number;
  /** How many of a hundred records have an attribute that is called as a severity. */
  readonly odd: number;
}

function randomSender(random: SeededRandom): Sender {
  const many = Array.from({ length: 20 }, (_, at) => `S${at}`);
  return {
    severities: random.chance(0.1)
      ? many
      : Array.from({ length: 1 + random.below(4) }, () => pick(random, SEVERITIES)),
    services: random.chance(0.1)
      ? many
      : Array.from({ length: 1 + random.below(3) }, () => pick(random, SERVICES)),
    spanSecs: pick(random, [5, 5, 60, 300, 4_000]),
    odd: pick(random, [0, 0, 0, 0, 3, 30]),
  };
}

function text(key: string, stringValue: string) {
  return { key, value: { stringValue } };
}

function randomRecord(random: SeededRandom, { severities, spanSecs, odd }: Sender) {
  const severityText = pick(random, severities);
  const ns = FIRST_NS + BigInt(random.below(spanSecs * 1_000)) * 1_000_000n +
    BigInt(random.below(1_000_000));
  const attributes = [text("user.id", `u${random.below(30)}`)];
  if (random.below(100) < odd) {
    attributes.push(text(
      pick(random, ["severity_text", "severity_number", "level", "sourcetype", "index"]),
      pick(random, ["INFO", "odd"]),
    ));
  }
  return {
    timeUnixNano: String(ns),
    ...random.chance(0.97) ? { severityText } : {},
    ...random.chance(0.97) ? { severityNumber: severityText.length % 24 } : {},
    body: { stringValue: `line ${random.below(9)}` },
    attributes,
  };
}

function randomRequest(random: SeededRandom): Uint8Array<ArrayBuffer> {
  const sender = randomSender(random);
  const resourceLogs = Array.from({ length: 1 + random.below(3) }, () => ({
    resource: {
      attributes: [
        text("service.name", pick(random, sender.services)),
        ...random.chance(0.5) ? [text("host.name", `h${random.below(25)}`)] : [],
        ...random.chance(0.03) ? [text("severity_text", "of the resource")] : [],
      ],
    },
    scopeLogs: [{
      logRecords: Array.from(
        { length: 1 + random.below(40) },
        () => randomRecord(random, sender),
      ),
    }],
  }));
  return new TextEncoder().encode(JSON.stringify({ resourceLogs }));
}

async function append({ wal }: EngineLab, random: SeededRandom): Promise<void> {
  const batch = decodeLogsJson(randomRequest(random), { nowNs: FIRST_NS });
  const encoded = encodeBatch(batch);
  // Frames of other senders say nothing of their rows.
  const summary = random.chance(0.03) ? undefined : summaryOf(batch);
  await wal?.append(
    LANE,
    { ...encoded, ...summary === undefined ? {} : { summary } },
    "auto",
  );
  batch.release?.();
}

async function drain({ store, catalog, clock, random, files, dir, wal }: EngineLab) {
  await wal?.seal(LANE);
  const totals = await drainAll({
    ...{ store, catalog, clock, random },
    wal: openWalReader(files, `${dir}/wal`),
    admin: openWalConsumerAdmin(files, clock, `${dir}/wal`),
    encoder: INLINE_PARQUET_ENCODER,
    deriver: INLINE_DERIVER,
    attributeColumnsMax: 64,
  });
  deepStrictEqual(totals.failures, []);
}

const LEVEL = "attr_get(attributes, 'severity_text')";
const NUMBER = "attributes->>'$.severity_number'";
const GROUPS = [
  ...["date_trunc('minute', timestamp)", "time_bucket(INTERVAL '5 minutes', timestamp)"],
  ...["date_part('hour', timestamp)", "source", "sourcetype", '"index"', "upper(source)", "host"],
  ...[LEVEL, LEVEL, LEVEL, NUMBER, `lower(${LEVEL})`, `(${NUMBER})::INT`],
  ...[
    "attr_get(attributes, 'severity_number')",
    `coalesce(${LEVEL}, attr_get(attributes, 'level'))`,
  ],
  ...[`coalesce(${LEVEL}, 'none')`, `coalesce(attr_get(attributes, 'level'), ${LEVEL})`],
  ...["attr_get(attributes, 'user.id')", "date_trunc('second', timestamp)"],
];
const CONDITIONS = [
  ...["source = 'api'", "source IN ('api', 'web')", "source <> 'web'", "source LIKE '%a%'"],
  ...[`${LEVEL} = 'ERROR'`, `${LEVEL} IS NULL`, `NOT ${LEVEL} = 'INFO'`, `${NUMBER} > '4'`],
  ...[`(${NUMBER})::INT BETWEEN 2 AND 5`, `${LEVEL} = 'INFO' OR source = 'web'`],
  ...[
    "sourcetype = 'odd'",
    "host = 'h3'",
    `coalesce(${LEVEL}, attr_get(attributes, 'level')) = 'INFO'`,
  ],
  ...[
    "raw LIKE '%3%'",
    "attr_get(attributes, 'user.id') = 'u7'",
    "date_part('minute', timestamp) < 20",
  ],
];

function randomBound(random: SeededRandom): string {
  const us = FIRST_NS / 1_000n + BigInt(random.below(600)) * 1_000_000n;
  const whole = random.chance(0.5) ? us - us % 60_000_000n : us;
  return `timestamp ${pick(random, [">=", "<", ">", "<="])} make_timestamptz(${whole})`;
}

function randomStatement(random: SeededRandom): string {
  const groups = Array.from({ length: random.below(3) }, () => pick(random, GROUPS));
  const conditions = [
    ...Array.from({ length: random.below(4) === 0 ? 1 : 0 }, () => randomBound(random)),
    ...Array.from({ length: random.below(3) === 0 ? 1 : 0 }, () => pick(random, CONDITIONS)),
  ];
  const counts = ["count(*)", ...random.chance(0.2) ? [`count(${LEVEL})`] : []];
  const select = [...groups.map((group, at) => `${group} AS g${at}`), ...counts].join(", ");
  return [
    `SELECT ${select} FROM events`,
    ...conditions.length === 0 ? [] : [`WHERE ${conditions.join(" AND ")}`],
    ...groups.length === 0 ? [] : [`GROUP BY ${groups.map((_, at) => at + 1).join()}`],
    ...random.chance(0.2) ? ["HAVING count(*) > 3"] : [],
  ].join(" ");
}

async function answerOf(lab: EngineLab, sql: string, fastPaths: boolean): Promise<string[]> {
  let answer: LabAnswer;
  try {
    answer = await lab.query(sql, { fastPaths });
  } catch (error) {
    // Which of several values it names, and where, may differ.
    return [String(error).replace(/'.*/s, "")];
  }
  return answer.rows.map((row) =>
    JSON.stringify(row, (_, value) => typeof value === "bigint" ? String(value) : value)
  ).toSorted();
}

async function segmentsCounted(lab: EngineLab, sql: string): Promise<number> {
  await using prepared = await lab.prepare(sql);
  return Number(/(\d+) segments? of it counted/.exec(await prepared.explain())?.[1] ?? 0);
}

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test(`rows that frames tell of are counted as they are read, seed ${seed}`, async () => {
    const random = new SeededRandom(seed);
    await using lab = await EngineLab.open({ wal: true });
    for (let step = 0; step < STEPS; step += 1) {
      const rounds = 1 + random.below(4);
      for (let round = 0; round < rounds; round += 1) await append(lab, random);
      if (random.chance(0.6)) await lab.wal?.seal(LANE);
      if (step % 5 === 1) await drain(lab);
      for (let asked = 0; asked < STATEMENTS_A_STEP; asked += 1) {
        const sql = randomStatement(random);
        const isCounted = await segmentsCounted(lab, sql).catch(() => 0) > 0;
        told[isCounted ? "counted" : "read"] += 1;
        const counted = await answerOf(lab, sql, true);
        deepStrictEqual(counted, await answerOf(lab, sql, false), `step ${step}: ${sql}`);
      }
    }
  });
}

Deno.test("many of these statements count rows that frames tell of, and many read some", () => {
  ok(told.counted > 30 && told.read > 30, JSON.stringify(told));
});
