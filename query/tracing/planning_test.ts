/**
 * What trace lookup reads: few row groups for an id, few files for a search, whatever else the
 * table holds.
 */

import assert from "node:assert/strict";
import type { Engine, PreparedQuery, QueryRequest } from "../../shared/engine/types.ts";
import { ROW_GROUP_ROWS } from "../../shared/parquet/row_groups.ts";
import { replanned } from "../../tests/tracing/replanned_engine.ts";
import { micros, type SpanFields, TraceLab } from "../../tests/tracing/trace_lab.ts";
import type { QueryRecord } from "../query_record.ts";

const SPANS_PER_TRACE = 50;
const HOURS = 24;

/**
 * Whole traces one after another, a second apart. Ids are in no order, so that bounds of a column
 * tell nothing.
 */
function tracesFrom(first: number, count: number, at: number): SpanFields[] {
  return Array.from({ length: count * SPANS_PER_TRACE }, (_, n) => {
    const trace = idOf(first + Math.floor(n / SPANS_PER_TRACE));
    return { trace, span: 1 + n % SPANS_PER_TRACE, at: at + n / SPANS_PER_TRACE };
  });
}

function idOf(trace: number): string {
  const digits = (Math.imul(trace + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");
  return digits.repeat(4);
}

Deno.test({
  name: "a trace by its id is read from the row group that holds it, of all files and row groups",
  async fn() {
    const records: QueryRecord[] = [];
    await using lab = await TraceLab.open({ observer: { completed: (one) => records.push(one) } });
    const count = Math.ceil(1.5 * ROW_GROUP_ROWS / SPANS_PER_TRACE);
    // All at the same time, so that only ids tell the files apart.
    for (const first of [0, count]) {
      await lab.commit(tracesFrom(first, count, 0), { derived: true });
    }
    for (const [trace, api] of [[10, ""], [count + count - 10, "/v3"]] as const) {
      await lab.ok(`${api}/traces/${idOf(trace)}`);
      const { rowsReturned, cost } = records.pop() ?? {};
      assert.equal(rowsReturned, SPANS_PER_TRACE);
      assert.ok((cost?.estimated_rows_processed ?? Infinity) <= ROW_GROUP_ROWS, `${trace}`);
      assert.equal(cost?.files_to_scan, 1);
    }
    assert.equal((await lab.get(`/traces/${idOf(3 * count)}`)).status, 404);
    assert.equal(records.pop()?.cost?.estimated_rows_processed, 0);
  },
});

Deno.test({
  name: "a search reads the newest hours that it needs, and no older ones",
  async fn() {
    await using lab = await TraceLab.open();
    const files: number[] = [];
    Object.assign(lab.service, { engine: noted(dear(lab.lab.engine), files) });
    for (let hour = 0; hour < HOURS; hour += 1) {
      await lab.commit(tracesFrom(10 * hour, 10, 3_600 * hour));
    }
    const range = `start=${micros(0)}&end=${micros(3_600 * HOURS)}`;
    const { data } = await lab.ok(`/traces?service=shop&limit=5&${range}`);
    const newest = Array.from({ length: 5 }, (_, n) => idOf(10 * HOURS - 1 - n));
    assert.deepEqual(data.map(({ traceID }: { traceID: string }) => traceID), newest);
    assert.ok(Math.max(...files) <= 3, `at most of three hours at once: ${files}`);
  },
});

/**
 * Plans a table as if it had a hundred million spans: a day of it costs too much to be read at
 * once.
 */
function dear(engine: Engine): Engine {
  return replanned(engine, ({ cost }) => {
    const rows = cost.estimated_rows_processed;
    return { cost: { ...cost, estimated_rows_processed: 10_000 * rows } };
  });
}

/** Notes how many files each statement that runs was planned to read. */
function noted(engine: Engine, files: number[]): Engine {
  const prepare = async (request: QueryRequest): Promise<PreparedQuery> => {
    const prepared = await engine.prepare(request);
    const run = prepared.run.bind(prepared);
    return Object.assign(prepared, {
      run: () => {
        files.push(prepared.tables[0]?.files ?? 0);
        return run();
      },
    });
  };
  return new Proxy(engine, {
    get: (target, name) => name === "prepare" ? prepare : Reflect.get(target, name),
  });
}
