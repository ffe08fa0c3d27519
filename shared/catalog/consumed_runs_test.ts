import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { SeededRandom } from "../testing/seeded_random.ts";
import { segmentNames } from "../testing/segment_names.ts";
import { SleeplessClock } from "../testing/sleepless_clock.ts";
import { ordinalOfSegmentName, SegmentNames } from "../wal/layout.ts";
import { type ConsumedRun, holds, planRuns } from "./consumed_runs.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

/** Three writers, and names of an earlier release, which are random. */
const NAMES = [
  ...[1, 2, 3].flatMap((seed) => segmentNames(12, seed)),
  ...Array.from({ length: 4 }, (_, at) => `170000000000${at}-0000-${randomHex(at)}.seg`),
];

Deno.test({
  name: "runs tell exactly those segments as consumed that were folded, in whatever order",
  fn: () =>
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat({ max: NAMES.length - 1 }))), (folds) => {
        let runs: readonly ConsumedRun[] = [];
        const model = new Set<string>();
        for (const fold of folds) {
          const names = fold.map((at) => NAMES[at] ?? "");
          for (const name of names) model.add(name);
          const { gone, made } = planRuns(runs, names.map(ordinalOf));
          const left = new Set(gone);
          runs = [...runs.filter((run) => !left.has(run)), ...made];
          const told = NAMES.filter((name) => runs.some((run) => holds(run, ordinalOf(name))));
          assert.deepEqual(told, NAMES.filter((name) => model.has(name)));
        }
        assert.equal(runs.length, stretches(model), "each stretch without a gap is one run");
      }),
      { numRuns: 500 },
    ),
});

Deno.test({
  name: "a segment with a run's number that was begun at another time is not of the run",
  fn() {
    const run = { writer: "a", firstNumber: 0, lastNumber: 9, firstMs: 100, lastMs: 200 };
    assert.equal(holds(run, { writer: "a", number: 5, ms: 150 }), true);
    assert.equal(holds(run, { writer: "a", number: 5, ms: 201 }), false);
    const late = { writer: "a", number: 5, ms: 201 };
    const { gone, made } = planRuns([run], [late]);
    assert.deepEqual(gone, []);
    assert.equal(made.length, 1);
    assert.ok(made.some((other) => holds(other, late)));
  },
});

Deno.test({
  name: "100,000 consumed segments of one writer take a row, and one more for each that is not",
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "svc-runs-" });
    try {
      const path = `${folder}/catalog.db`;
      await using catalog = await openSqliteCatalog({ path });
      const names = new SegmentNames(new SleeplessClock(), new SeededRandom(1));
      const aside: string[] = [];
      for (let part = 0; part < 100; part += 1) {
        const folded = Array.from({ length: 1_000 }, () => names.next());
        if (part % 25 === 5) aside.push(...folded.splice(500, 1));
        await catalog.foldConsumed(folded);
      }
      using db = new DatabaseSync(path, { readOnly: true });
      const rows = () => db.prepare("SELECT count(*) AS n FROM svc_wal_consumed_runs").get()?.n;
      assert.equal(rows(), 1 + aside.length);
      assert.deepEqual(await catalog.consumedOf(aside), new Set());
      await catalog.foldConsumed(aside);
      assert.equal(rows(), 1);
      assert.deepEqual(await catalog.consumedOf(aside), new Set(aside));
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** How many stretches of numbers without a gap there are. */
function stretches(names: ReadonlySet<string>): number {
  const ordinals = [...names].map(ordinalOf);
  const ids = new Set(ordinals.map(({ writer, number }) => `${writer} ${number}`));
  return ordinals.filter(({ writer, number }) => !ids.has(`${writer} ${number - 1}`)).length;
}

function ordinalOf(name: string) {
  const ordinal = ordinalOfSegmentName(name);
  assert.ok(ordinal !== undefined, name);
  return ordinal;
}

function randomHex(seed: number): string {
  const bytes = new SeededRandom(1_000 + seed).bytes(8);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
