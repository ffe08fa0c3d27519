import { deepStrictEqual, fail, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { hexOf } from "../base/bytes.ts";
import { batchOfRows } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import { readFrameSummary, summaryOf } from "./frame_summary.ts";
import { mayHoldTrace, TraceIds, wordsOfTrace } from "./trace_filter.ts";

const MINUTE = 60_000_000n;
const FIRST = 29_845_333n * MINUTE;

function rowOf(at: number, { micros = FIRST, source = "api", host = "h" } = {}) {
  const core = { host, source, sourcetype: "t", index: "main" };
  return { ...core, timestamp: micros, timestamp_ns: micros * 1_000n, raw: `r${at}` };
}

function summarized(rows: readonly ReturnType<typeof rowOf>[], told = {}) {
  const bytes = summaryOf({ ...batchOfRows(EVENTS_SCHEMA, rows), ...told });
  if (bytes !== undefined) strictEqual(bytes.byteLength % 8, 0);
  return bytes && readFrameSummary(bytes);
}

Deno.test("summaryOf() counts rows by minute, tag and told attribute", () => {
  const rows = [
    rowOf(0, { micros: FIRST - 1n }),
    rowOf(1),
    rowOf(2, { source: "pay" }),
    rowOf(3, { micros: FIRST + MINUTE - 1n }),
  ];
  const told = {
    names: ["severity_text", "severity_number"],
    ids: new Uint8Array([0, 0, 1, 0]),
    values: [["INFO", 9], ["WARN", null]],
  };
  deepStrictEqual(summarized(rows, { told })?.counts, {
    columns: ["host", "source", "sourcetype", "index"],
    attributes: ["severity_text", "severity_number"],
    values: [
      [Number(FIRST / MINUTE) - 1, Number(FIRST / MINUTE)],
      ...[["h"], ["api", "pay"], ["t"], ["main"], ["INFO", "WARN"], [9, null]],
    ],
    cells: [1, 0, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1, 1, 1, 1],
  });
});

Deno.test("summaryOf() leaves out columns with many values, long ones, and what makes many cells", () => {
  const many = Array.from({ length: 40 }, (_, at) => rowOf(at, { host: `h${at % 17}` }));
  deepStrictEqual(summarized(many)?.counts?.columns, ["source", "sourcetype", "index"]);
  const long = [rowOf(0, { source: "x".repeat(129) }), rowOf(1)];
  deepStrictEqual(summarized(long)?.counts?.columns, ["host", "sourcetype", "index"]);
  const cells = Array.from(
    { length: 100 },
    (_, at) => rowOf(at, { host: `h${at % 10}`, source: `s${at % 11}` }),
  );
  deepStrictEqual(summarized(cells)?.counts?.columns, ["host", "sourcetype", "index"]);
});

Deno.test("summaryOf() keeps attributes with many values, and leaves out tags first", () => {
  const ids = Uint8Array.from({ length: 60 }, (_, at) => at % 16);
  const values = Array.from({ length: 16 }, (_, id) => [id, -id]);
  const told = { names: ["a", "b"], ids, values };
  const rows = ids.values().map((_, at) => rowOf(at, { source: `s${at % 7}` })).toArray();
  const { counts } = summarized(rows, { told }) ?? {};
  deepStrictEqual(counts?.columns, ["host", "sourcetype", "index"]);
  deepStrictEqual(counts?.attributes, ["a", "b"]);
});

/** Rows of two minutes, of a table with many tags. */
function tagged(tags: number, rows: number, valueOf: (tag: number, row: number) => string) {
  const names = Array.from({ length: tags }, (_, tag) => `t${tag}`);
  const own = names.map((name, tag) => ({ id: 100 + tag, name, type: "string", required: false }));
  const columns = [...EVENTS_SCHEMA.columns.slice(0, 2), ...own];
  return batchOfRows(
    { columns, tags: names } as TableSchema,
    Array.from({ length: rows }, (_, row) => {
      const micros = FIRST + BigInt(row % 2) * MINUTE;
      const values = names.map((name, tag) => [name, valueOf(tag, row)]);
      return {
        timestamp: micros,
        timestamp_ns: micros * 1_000n,
        ...Object.fromEntries(values),
      };
    }),
  );
}

Deno.test("summaryOf() keeps minutes apart beside many tags of two values", () => {
  const bytes = summaryOf(tagged(9, 32, (tag, row) => String((row >> tag % 5) & 1)));
  const { values, cells } = readFrameSummary(bytes ?? fail()).counts ?? fail();
  const stride = 1 + values.filter((all) => all.length > 1).length;
  const rows = [0, 0];
  for (let at = 0; at < cells.length; at += stride) {
    const minute = cells[at + 1] as number;
    rows[minute] = (rows[minute] ?? 0) + (cells[at] as number);
  }
  deepStrictEqual([values[0].length, rows], [2, [16, 16]]);
});

Deno.test("summaryOf() says nothing where that would be too long for a frame", () => {
  const long = (tag: number, row: number) => "\x01".repeat(126) + ((row + tag) % 16).toString(16);
  strictEqual(summaryOf(tagged(8, 512, long)), undefined);
});

Deno.test("summaryOf() says nothing of many minutes, and of times that no number has exactly", () => {
  const minutes = Array.from(
    { length: 17 },
    (_, at) => rowOf(at, { micros: FIRST + BigInt(at) * MINUTE }),
  );
  strictEqual(summarized(minutes), undefined);
  strictEqual(summarized([rowOf(0, { micros: 9_100_000_000_000_000n })]), undefined);
});

Deno.test("a filter of traces holds each id that was added, and few others", () => {
  const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
  const holds = (filter: Uint8Array, bytes: Uint8Array) => {
    const words = wordsOfTrace(hexOf(bytes));
    return words !== undefined && mayHoldTrace(filter, words);
  };
  fc.assert(fc.property(fc.array(id, { maxLength: 400 }), id, (ids, other) => {
    const traces = new TraceIds();
    for (const bytes of ids) traces.add(new DataView(bytes.buffer), 0, 16);
    const filter = traces.take() ?? new Uint8Array(0);
    ok(filter.byteLength <= Math.max(9, Math.ceil(1.5 * ids.length)));
    for (const bytes of ids) ok(holds(filter, bytes));
    if (ids.length === 0) ok(!holds(filter, other));
  }));
});

for (const [ids, heldMax] of [[1, 20], [2, 40], [5, 100], [10, 200], [1_000, 200]] as const) {
  Deno.test(`a filter of ${ids} traces holds few others`, () => {
    const view = new DataView(new ArrayBuffer(16));
    let held = 0;
    for (let filterAt = 0; filterAt < 100; filterAt += 1) {
      const traces = new TraceIds();
      for (let at = 0; at < ids; at += 1) {
        view.setUint32(12, filterAt * ids + at);
        traces.add(view, 0, 16);
      }
      const filter = traces.take() ?? new Uint8Array(0);
      for (let at = 0; at < 200; at += 1) {
        if (mayHoldTrace(filter, { high: 1, low: at })) held += 1;
      }
    }
    ok(held <= heldMax, `${held} of 20,000`);
  });
}

Deno.test("a filter of traces is not there where an id is not known, and begins anew behind that", () => {
  const traces = new TraceIds();
  const view = new DataView(new ArrayBuffer(16));
  traces.add(view, 0, 8);
  strictEqual(traces.take(), undefined);
  traces.add(view, 4, 4);
  deepStrictEqual(traces.take(), new Uint8Array(0));
  strictEqual(wordsOfTrace("A".repeat(32)), undefined);
  strictEqual(wordsOfTrace("a".repeat(31)), undefined);
});
