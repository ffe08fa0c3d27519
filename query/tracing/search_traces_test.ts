/**
 * Searches against a plain model over random spans: the newest traces with a matching span,
 * whatever windows they fall into and wherever the spans lie. `TRACE_SEARCH_SEEDS` runs more seeds
 * than a few.
 */

import assert from "node:assert/strict";
import type { Engine } from "../../shared/engine/types.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { V1_TRACES, V3_SUMMARIES } from "../../tests/tracing/jaeger_schemas.ts";
import type { TimeSpan } from "./search_request.ts";
import { windows } from "./search_traces.ts";
import { replanned } from "../../tests/tracing/replanned_engine.ts";
import {
  micros,
  rfc3339,
  type SpanFields,
  spanId,
  traceId,
  TraceLab,
} from "../../tests/tracing/trace_lab.ts";

const SEEDS = Number(Deno.env.get("TRACE_SEARCH_SEEDS") ?? 1);
const SEARCHES = 20;
/** Within the hour in which a search looks for the other spans of a trace. */
const SPREAD_SECS = 600;

Deno.test({
  name: "windows are the range, without gap or overlap, newest first, each a multiple of the last",
  fn() {
    for (const [minNs, maxNs] of [[0n, 0n], [5n, 6n], [0n, 10n ** 14n], [7n, 9n * 10n ** 18n]]) {
      for (const [was, growth] of [["read", 4n], ["empty", 16n]] as const) {
        const walk = windows({ minNs: minNs ?? 0n, maxNs: maxNs ?? 0n });
        const all: TimeSpan[] = [];
        for (let next = walk.next(); next.done !== true; next = walk.next(was)) {
          all.push(next.value);
        }
        assert.equal(all[0]?.maxNs, maxNs);
        assert.equal(all.at(-1)?.minNs, minNs);
        assert.ok(all.length < 30);
        all.slice(1).forEach(({ maxNs }, at) => assert.equal(maxNs, (all[at]?.minNs ?? 0n) - 1n));
        const widths = all.map((window) => window.maxNs - window.minNs + 1n);
        widths.slice(1, -1).forEach((width, at) =>
          assert.equal(width, growth * (widths[at] ?? 0n))
        );
      }
    }
    assert.deepEqual([...windows({ minNs: 2n, maxNs: 1n })], []);
  },
});

for (const way of ["at once", "in windows"] as const) {
  Deno.test({
    name: `searches read ${way} answer what a model of the spans answers (${SEEDS} seeds)`,
    async fn() {
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const random = new SeededRandom(seed);
        const spans = makeSpans(random);
        await using lab = await TraceLab.open();
        if (way === "in windows") Object.assign(lab.service, { engine: dear(lab.lab.engine) });
        const third = Math.floor(spans.length / 3);
        await lab.commit(spans.slice(0, third));
        await lab.commit(spans.slice(third, 2 * third));
        await lab.append(spans.slice(2 * third));
        for (let n = 0; n < SEARCHES; n += 1) await check(lab, spans, random, `seed ${seed}`);
      }
    },
  });
}

/**
 * An engine whose plans cost three million rows more, when they cost any: what a large table's do.
 */
function dear(engine: Engine): Engine {
  return replanned(engine, ({ cost }) => {
    const rows = cost.estimated_rows_processed;
    return { cost: { ...cost, estimated_rows_processed: rows === 0 ? 0 : rows + 3e6 } };
  });
}

/** Up to a day of traces whose spans lie together; sparse at first, dense at the end. */
function makeSpans(random: SeededRandom): SpanFields[] {
  const pick = <T>(items: readonly T[]) => items[random.below(items.length)] as T;
  return Array.from({ length: 120 }, (_, trace) => {
    const at = Math.floor(random.below(1_000) ** 2 / 1e6 * 80_000);
    return Array.from({ length: 1 + random.below(5) }, (_, n): SpanFields => ({
      trace,
      span: 100 * trace + n,
      parent: n === 0 ? null : 100 * trace + random.below(n),
      at: at + random.below(SPREAD_SECS),
      service: pick(["shop", "db", "mail"]),
      name: pick(["GET /", "POST /"]),
      status: pick(["STATUS_CODE_UNSET", "STATUS_CODE_ERROR"]),
      durationNs: BigInt(random.below(5)) * 1_000_000n,
      columns: { attributes: `{"n":${random.below(3)}}` },
    }));
  }).flat();
}

interface Conditions {
  readonly service: string;
  readonly operation: string | undefined;
  readonly n: string | undefined;
  readonly error: boolean;
  readonly minMs: number | undefined;
  readonly start: number;
  readonly end: number;
  readonly limit: number;
}

async function check(
  lab: TraceLab,
  spans: readonly SpanFields[],
  random: SeededRandom,
  seed: string,
): Promise<void> {
  const start = random.below(80_000);
  const maybe = <T>(value: T) => random.below(2) === 0 ? value : undefined;
  const asked: Conditions = {
    service: ["shop", "db", "mail", "none"][random.below(4)] as string,
    operation: maybe("POST /"),
    n: maybe("1"),
    error: random.below(3) === 0,
    minMs: maybe(2),
    start,
    end: start + 1 + random.below(80_000),
    limit: 1 + random.below(30),
  };
  const expected = newestTraces(spans, asked);
  const told = `${seed} ${JSON.stringify(asked)}`;
  const tags = JSON.stringify({
    ...(asked.n === undefined ? {} : { n: asked.n }),
    ...(asked.error ? { error: "true" } : {}),
  });
  const v1 = new URLSearchParams({
    service: asked.service,
    ...(asked.operation === undefined ? {} : { operation: asked.operation }),
    ...(asked.minMs === undefined ? {} : { minDuration: `${asked.minMs}ms` }),
    tags,
    start: micros(asked.start),
    end: micros(asked.end),
    limit: String(asked.limit),
  });
  const { data } = V1_TRACES.parse(await lab.ok(`/traces?${v1}`));
  assert.deepEqual(data.map(({ traceID }) => traceID), expected.map(traceId), told);
  for (const [at, trace] of expected.entries()) {
    const own = spans.filter((span) => span.trace === trace).map(({ span }) => spanId(span));
    assert.deepEqual(data[at]?.spans.map(({ spanID }) => spanID).sort(), own.sort(), told);
  }
  const v3 = new URLSearchParams({
    "query.serviceName": asked.service,
    ...(asked.operation === undefined ? {} : { "query.operationName": asked.operation }),
    ...(asked.minMs === undefined ? {} : { "query.durationMin": `${asked.minMs}ms` }),
    "query.attributes": tags,
    "query.startTimeMin": rfc3339(asked.start),
    // The end is not in the range.
    "query.startTimeMax": rfc3339(asked.end + 1),
    "query.searchDepth": String(asked.limit),
  });
  const { summaries } = V3_SUMMARIES.parse(await lab.ok(`/v3/trace-summaries?${v3}`));
  assert.deepEqual(summaries.map(({ traceId }) => traceId), expected.map(traceId), told);
}

function newestTraces(spans: readonly SpanFields[], asked: Conditions): number[] {
  const newest = new Map<number, number>();
  for (const span of spans) {
    const matches = span.service === asked.service && span.at >= asked.start &&
      span.at <= asked.end && (asked.operation ?? span.name) === span.name &&
      (asked.n === undefined || span.columns?.["attributes"] === `{"n":${asked.n}}`) &&
      (!asked.error || span.status === "STATUS_CODE_ERROR") &&
      (span.durationNs ?? 0n) >= BigInt(asked.minMs ?? 0) * 1_000_000n;
    const trace = Number(span.trace);
    if (matches) newest.set(trace, Math.max(span.at, newest.get(trace) ?? 0));
  }
  const order = ([a, atA]: [number, number], [b, atB]: [number, number]) => atB - atA || a - b;
  return [...newest].sort(order).slice(0, asked.limit).map(([trace]) => trace);
}
