import assert from "node:assert/strict";
import fc from "fast-check";
import { isOperatingError } from "../base/errors.ts";
import type { ColumnBatch } from "../columns/batch.ts";
import { batchOfRows, rowsOf } from "../columns/rows.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { mergeRuns, type SortedRun } from "./merge_runs.ts";

const START_NS = 1_795_132_800_000_000_000n;

function batch(times: readonly number[], label: string): ColumnBatch {
  return batchOfRows(
    EVENTS_SCHEMA,
    times.map((time, at) => {
      const ns = START_NS + BigInt(time);
      return {
        timestamp: ns / 1_000n,
        timestamp_ns: ns,
        host: label,
        source: "lab",
        sourcetype: "lab",
        index: "main",
        raw: `${label} ${at}`,
        attributes: at % 3 === 0 ? null : `{"at":${at}}`,
      };
    }),
  );
}

/** A run of `batches` of times; `opened` hears when it is asked for. */
function run(
  batches: readonly (readonly number[])[],
  name: string,
  opened: (name: string) => void = () => {},
): SortedRun {
  return {
    name,
    startNs: START_NS + BigInt(batches.flat()[0] ?? 0),
    async *batches() {
      opened(name);
      for (const [at, times] of batches.entries()) yield await batch(times, `${name}.${at}`);
    },
  };
}

async function collected(runs: readonly SortedRun[]): Promise<ColumnBatch[]> {
  return await Array.fromAsync(mergeRuns(runs));
}

/** Sorted times, cut into batches, some of them empty. */
const arbitraryRun = fc.tuple(
  fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 30 }),
  fc.integer({ min: 1, max: 7 }),
).map(([times, size]) => {
  const sorted = times.toSorted((a, b) => a - b);
  const batches: number[][] = [];
  for (let at = 0; at < sorted.length; at += size) batches.push(sorted.slice(at, at + size), []);
  return batches;
});

Deno.test({
  name: "mergeRuns gives every row of every run once, whole and in order",
  async fn() {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryRun, { maxLength: 6 }), async (runs) => {
        const merged = (await collected(runs.map((batches, at) => run(batches, `run${at}`))))
          .flatMap(rowsOf);
        const expected = runs.flatMap((batches, at) =>
          batches.flatMap((times, index) => rowsOf(batch(times, `run${at}.${index}`)))
        );
        const byText = (a: { raw?: unknown }, b: { raw?: unknown }) =>
          String(a.raw) < String(b.raw) ? -1 : 1;
        assert.deepEqual(merged.toSorted(byText), expected.toSorted(byText));
        const times = merged.map((row) => row.timestamp_ns as bigint);
        times.forEach((time, at) => assert.ok(at === 0 || (times[at - 1] as bigint) <= time));
      }),
      { numRuns: 150 },
    );
  },
});

Deno.test({
  name: "mergeRuns opens a run when it comes to its first row",
  async fn() {
    const opened: string[] = [];
    const note = (name: string) => void opened.push(name);
    const runs = [run([[40, 50], [60]], "c", note), run([[0, 10], [20]], "a", note)];
    const merging = mergeRuns([...runs, run([[20, 30]], "b", note)]);
    assert.equal((await merging.next()).value?.rows, 2);
    assert.deepEqual(opened, ["a"]);
    assert.equal((await merging.next()).value?.rows, 2);
    assert.deepEqual(opened, ["a", "b"]);
    await Array.fromAsync(merging);
    assert.deepEqual(opened, ["a", "b", "c"]);
  },
});

Deno.test({
  name: "mergeRuns refuses a run whose rows are out of order, by name",
  async fn() {
    const first: SortedRun = { ...run([[10, 20]], "early"), startNs: START_NS + 15n };
    for (const wrong of [run([[10, 5]], "within"), run([[10, 20], [19]], "between"), first]) {
      await assert.rejects(
        collected([wrong, run([[0, 100]], "other")]),
        (error) => isOperatingError(error, "corrupt") && error.message.includes(wrong.name),
        wrong.name,
      );
    }
  },
});

Deno.test({
  name: "mergeRuns cuts what many rows of one time make into batches of bounded size",
  async fn() {
    const times = Array.from({ length: 20_000 }, () => 5);
    const batches = await collected(["a", "b", "c"].map((name) => run([times], name)));
    assert.equal(batches.reduce((sum, { rows }) => sum + rows, 0), 60_000);
    assert.ok(batches.every(({ rows }) => rows <= 32_768));
  },
});
