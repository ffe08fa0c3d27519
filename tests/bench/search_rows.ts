/**
 * Log rows to search in, made like those of web servers, services and clusters: a dozen shapes, ids
 * that do not repeat, words that are in many rows. Some texts are planted in ten rows each,
 * whatever the number of rows.
 */

import type { ColumnBatch } from "../../shared/columns/batch.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import { EVENTS_SCHEMA, EVENTS_TABLE } from "../../shared/schema/events.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { START_NS, type TableSource } from "./table_fixture.ts";

/** In ten rows of the table. */
export const NEEDLE = "checkpoint7f3a9c";
/** Part of a word in ten rows. */
export const INNER = "9942xq1";
/** Words next to each other in ten rows; each alone is in one of a thousand. */
export const PHRASE = "shard handoff stalled";
/** A phrase of words of which each is in one of twenty rows, always with the others. */
export const COMMON_PHRASE = "quota exceeded disk";
/** Begins a word of ten rows. */
export const PREFIX = "ledgershard";
/** In about a tenth of the rows. */
export const COMMON = "refused";
/** In every row of a shape that half of the rows have. */
export const EVERYWHERE = "request";
const PLANTED = 10;

const SERVICES = ["checkout", "cart", "payment", "search", "frontend", "ledger", "mailer"];
const PATHS = ["orders", "items", "carts", "users", "sessions", "invoices"];
const AGENTS = [
  "Mozilla/5.0 (X11; Linux x86_64)",
  "curl/8.5.0",
  "okhttp/4.12",
  "Go-http-client/2.0",
];

/** The trace id of row `at`: in one row only. */
export function traceId(at: number): string {
  const random = new SeededRandom(at * 2 + 1);
  return hex(random, 32);
}

/**
 * A table `events` of `rows` such rows. Batches are as far apart as their rows a millisecond each.
 */
export function searchSource(rows: number): TableSource {
  return {
    name: EVENTS_TABLE,
    schema: EVENTS_SCHEMA,
    batch: (first, records) => searchRows({ first, count: records, rows }),
  };
}

function searchRows(
  { first, count, rows }: {
    readonly first: number;
    readonly count: number;
    readonly rows: number;
  },
): ColumnBatch {
  const startNs = START_NS + BigInt(first) * NS_PER_MS;
  const random = new SeededRandom(first * 2 + 2);
  const own = Array.from({ length: count }, (_, i): RowObject => {
    const at = first + i;
    const ns = startNs + BigInt(i) * 1_000n;
    return {
      timestamp: ns / 1_000n,
      timestamp_ns: ns,
      host: `node-${random.below(40)}.example.internal`,
      source: pick(random, SERVICES),
      sourcetype: "otel:logs",
      index: "main",
      raw: planted(at, rows) ?? rawOf(random),
      attributes: attributesOf(random, at),
    };
  });
  return batchOfRows(EVENTS_SCHEMA, own);
}

function planted(at: number, rows: number): string | undefined {
  const step = Math.floor(rows / PLANTED);
  const texts = [
    `wal: ${NEEDLE} written in 41 ms`,
    `payment declined code=E${INNER}7 retry later`,
    `node 4711: ${PHRASE} for 30 s`,
    `user 4711: ${COMMON_PHRASE} /dev/sdb1`,
    `replica ${PREFIX}0${at % 7} promoted`,
  ];
  return texts[at % step - (step >> 1)];
}

function rawOf(random: SeededRandom): string {
  const n = (below: number) => random.below(below);
  const rare = PHRASE.split(" ")[n(1_000)];
  if (rare !== undefined) return `raft: ${rare} of group ${n(4_096)} seen by peer ${n(9)}`;
  const ip = `10.${n(256)}.${n(256)}.${n(256)}`;
  switch (n(20)) {
    case 0:
    case 1:
      return `dial tcp ${ip}:${1024 + n(60_000)}: connect: connection ${COMMON} after ${
        n(9)
      } retries`;
    case 2:
      return `user ${n(100_000)} logged in from ${ip} session ${hex(random, 24)}`;
    case 3:
      return `Receiving block blk_${n(2 ** 31)} src: /${ip}:50010 dest: /10.251.${n(256)}.${
        n(256)
      }:50010`;
    case 4:
      return `disk usage of /dev/sd${"abcdef"[n(6)]}1 at ${n(100)}% exceeded quota of tenant ${
        n(500)
      }`;
    case 5:
      return `query took ${n(9_000)} ms: SELECT * FROM orders WHERE id = ${
        n(10_000_000)
      } AND region = 'eu-${n(9)}'`;
    case 6:
      return `GC pause (G1 Evacuation Pause) ${n(500)} ms, heap ${n(4_096)}M->${n(2_048)}M`;
    case 7:
      return `kafka: partition orders-${n(64)} offset ${n(2 ** 31)} committed by consumer-${n(32)}`;
    case 8:
      return `panic: runtime error: index out of range [${n(64)}] with length ${n(64)} goroutine ${
        n(9_000)
      }`;
    case 9:
      return `cache miss for key user:${n(1_000_000)}:profile, loaded in ${n(90)} ms`;
    default:
      return `${ip} - - "${n(5) === 0 ? "POST" : "GET"} /api/v1/${pick(random, PATHS)}/${
        hex(random, 8)
      } HTTP/1.1" ` +
        `${n(20) === 0 ? 500 : 200} ${n(90_000)} "${pick(random, AGENTS)}" request_time=0.${
          n(999)
        } ${EVERYWHERE} done`;
  }
}

function attributesOf(random: SeededRandom, at: number): string {
  const level = ["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"][random.below(6)];
  return `{"severity_text":"${level}","trace_id":"${traceId(at)}","span_id":"${hex(random, 16)}",` +
    `"http.status_code":${random.below(20) === 0 ? 500 : 200},"user.id":"u-${
      random.below(100_000)
    }"}`;
}

function hex(random: SeededRandom, digits: number): string {
  let text = "";
  while (text.length < digits) text += random.below(2 ** 24).toString(16).padStart(6, "0");
  return text.slice(0, digits);
}

function pick<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}
