import assert from "node:assert/strict";
import { NS_PER_DAY } from "../base/time.ts";
import type { DataFile } from "../iceberg/types.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import {
  MERGE_POLICY_DEFAULT,
  type MergeCandidate,
  type MergePolicy,
  type MergeTask,
  overlapDepth,
  planFileMerges,
} from "./plan_merge.ts";

const ORDER = 1;
const TODAY = 20_500;

interface Spec {
  readonly rows?: number;
  /** Place in the day, nanoseconds. */
  readonly from?: number;
  readonly to?: number;
  readonly day?: number;
  readonly isFull?: boolean;
  readonly isSettled?: boolean;
  readonly byteLength?: number;
  readonly sortOrderId?: number;
}

let made = 0;

function candidate(spec: Spec = {}): MergeCandidate {
  const { rows = 10, from = 0, to = from, day = TODAY, isFull = false, isSettled = false } = spec;
  made += 1;
  const start = BigInt(day) * NS_PER_DAY;
  const file = {
    key: `f${String(made).padStart(6, "0")}`,
    rows,
    day,
    byteLength: spec.byteLength ?? rows * 100,
    sortOrderId: spec.sortOrderId ?? ORDER,
    timestampNsMin: start + BigInt(from),
    timestampNsMax: start + BigInt(to),
  };
  return { file: file as DataFile, isFull, isSettled };
}

function plan(candidates: readonly MergeCandidate[], policy: Partial<MergePolicy> = {}) {
  return planFileMerges(
    { candidates, sortOrderId: ORDER, today: TODAY },
    { ...MERGE_POLICY_DEFAULT, ...policy },
  );
}

function times(count: number, make: (at: number) => Spec): MergeCandidate[] {
  return Array.from({ length: count }, (_, at) => candidate(make(at)));
}

Deno.test({
  name: "planFileMerges: what is merged and why",
  fn() {
    const apart = (at: number): Spec => ({ from: at * 10, to: at * 10 + 5 });
    const wide = (): Spec => ({ from: 0, to: 1_000 });
    const over = { day: TODAY - 1, isSettled: true };
    const cases: [
      what: string,
      candidates: MergeCandidate[],
      expected: [reason: string, files: number][],
    ][] = [
      ["nothing", [], []],
      ["seven of a tier", times(7, apart), []],
      ["eight of a tier", times(8, apart), [["tier", 8]]],
      ["eight of a tier and a smaller one", [
        ...times(8, (at) => ({ ...apart(at), rows: 100 })),
        candidate({ from: 500, to: 505, rows: 1 }),
      ], [["tier", 9]]],
      ["seven small ones and a large one", [
        ...times(7, apart),
        candidate({ rows: 100_000, from: 500, to: 600 }),
      ], []],
      ["eight full ones", times(8, (at) => ({ ...apart(at), isFull: true })), []],
      ["ten that cover one instant", times(10, (at) => ({ ...wide(), rows: 8 ** (at % 5) })), []],
      ["eleven that do", times(11, (at) => ({ ...wide(), rows: 4 ** at })), [["overlap", 2]]],
      ["eleven alike that do", times(11, () => ({ ...wide(), isFull: true })), [["overlap", 11]]],
      [
        "eleven full ones of one instant",
        times(11, () => ({ from: 7, to: 7, isFull: true })),
        [],
      ],
      ["two of yesterday", times(2, (at) => ({ ...apart(at), ...over })), [["settled", 2]]],
      ["one of yesterday", times(1, () => over), []],
      [
        "two of yesterday, one just came",
        times(2, (at) => ({ ...apart(at), ...over, isSettled: at === 0 })),
        [],
      ],
      ["two of today that are settled", times(2, (at) => ({ ...apart(at), isSettled: true })), []],
      ["eight in another order", times(8, (at) => ({ ...apart(at), sortOrderId: 0 })), []],
      [
        "eight of another program's size",
        times(8, (at) => ({ ...apart(at), byteLength: 1e9 })),
        [],
      ],
      ["eight of each of two days", [
        ...times(8, (at) => ({ ...apart(at), day: TODAY - 2 })),
        ...times(8, apart),
      ], [["tier", 8], ["tier", 8]]],
    ];
    for (const [what, candidates, expected] of cases) {
      const tasks = plan(candidates);
      assert.deepEqual(tasks.map(({ reason, files }) => [reason, files.length]), expected, what);
    }
  },
});

Deno.test({
  name: "planFileMerges bounds a task by files, bytes and files that overlap",
  fn() {
    const policy = { taskFilesMax: 20, taskBytesMax: 50_000, taskDepthMax: 4 };
    const small = times(100, (at) => ({ from: at * 10, to: at * 10 + 5 }));
    assert.deepEqual(plan(small, policy).map(({ files }) => files.length), [20]);
    const heavy = times(10, (at) => ({ from: at, to: at, rows: 200 }));
    assert.deepEqual(plan(heavy, policy).map(({ files }) => files.length), [2]);
    const wide = times(30, () => ({ from: 0, to: 1_000 }));
    const [task] = plan(wide, policy);
    assert.deepEqual([task?.reason, task?.files.length], ["overlap", 4]);
    assert.equal(overlapDepth(task?.files ?? []), 4);
  },
});

Deno.test({
  name: "planFileMerges puts the most urgent first, newest days first among equals",
  fn() {
    const apart = (at: number): Spec => ({ from: at * 10, to: at * 10 + 5 });
    const tasks = plan([
      ...times(2, (at) => ({ ...apart(at), day: TODAY - 9, isSettled: true })),
      ...times(8, (at) => ({ ...apart(at), day: TODAY - 3 })),
      ...times(8, apart),
      ...times(11, () => ({ day: TODAY - 5, from: 0, to: 100 })),
    ]);
    assert.deepEqual(tasks.map(({ reason, day }) => [reason, TODAY - day]), [
      ["overlap", 5],
      ["tier", 0],
      ["tier", 3],
      ["settled", 9],
    ]);
  },
});

/** Merges as `applyMerge` would, on bounds alone: files of `rowsMax` rows, the last one smaller. */
class Day {
  files: MergeCandidate[] = [];
  rowsWritten = 0;

  constructor(readonly rowsMax: number) {}

  /** Performs every task until there is none; false: that took too many. */
  settle(today: number, policy: Partial<MergePolicy> = {}): boolean {
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const [task] = planFileMerges(
        { candidates: this.files, sortOrderId: ORDER, today },
        { ...MERGE_POLICY_DEFAULT, ...policy },
      );
      if (task === undefined) return true;
      this.#apply(task);
    }
    return false;
  }

  #apply(task: MergeTask): void {
    const gone = new Set(task.files.map(({ key }) => key));
    this.files = this.files.filter(({ file }) => !gone.has(file.key));
    const rows = task.files.reduce((sum, file) => sum + file.rows, 0);
    const dayNs = BigInt(task.day) * NS_PER_DAY;
    const from = Math.min(...task.files.map((file) => Number((file.timestampNsMin ?? 0n) - dayNs)));
    const to = Math.max(...task.files.map((file) => Number((file.timestampNsMax ?? 0n) - dayNs)));
    this.rowsWritten += rows;
    for (let at = 0; at < rows; at += this.rowsMax) {
      const count = Math.min(this.rowsMax, rows - at);
      const place = (row: number) => Math.floor(from + ((to - from) * row) / rows);
      this.files.push(candidate({
        day: task.day,
        rows: count,
        from: place(at),
        to: place(at + count),
        isFull: count === this.rowsMax,
        isSettled: true,
      }));
    }
  }
}

Deno.test({
  name:
    "planFileMerges keeps a day's files and their overlap few, however rows come, and writes each a few times",
  fn() {
    const shapes: [
      what: string,
      writesMax: number,
      spec: (at: number, random: SeededRandom) => Spec,
    ][] = [
      ["a trickle in order", 3, (at) => ({ rows: 10, from: at * 100, to: at * 100 + 99 })],
      ["large files in order", 1.5, (at) => ({ rows: 90_000, from: at * 100, to: at * 100 + 99 })],
      ["full files of a drain", 0, (at) => ({
        ...{ rows: 90_000, isFull: true },
        // What senders are apart from each other.
        ...{ from: at * 100 - 30, to: at * 100 + 130 },
      })],
      ["full files over the whole day", 18, () => ({
        ...{ rows: 90_000, isFull: true },
        ...{ from: 0, to: 1_000_000 },
      })],
      ["every file over the whole day", 4, () => ({ rows: 500, from: 0, to: 1_000_000 })],
      ["rows that are late by chance", 6, (at, random) => {
        const late = random.float() < 0.2 ? Math.floor(random.float() * at * 100) : 0;
        return { rows: 40, from: at * 100 - late, to: at * 100 + 99 };
      }],
      ["large files over the whole day", 18, () => ({ rows: 90_000, from: 0, to: 1_000_000 })],
    ];
    for (const [what, writesMax, spec] of shapes) {
      const random = new SeededRandom(5);
      const day = new Day(400_000);
      let rows = 0;
      let depthMax = 0;
      let filesMax = 0;
      for (let at = 0; at < 600; at += 1) {
        const added = candidate(spec(at, random));
        rows += added.file.rows;
        day.files.push(added);
        assert.ok(day.settle(TODAY), `${what}: merging ends`);
        depthMax = Math.max(depthMax, overlapDepth(day.files.map(({ file }) => file)));
        filesMax = Math.max(filesMax, day.files.filter(({ isFull }) => !isFull).length);
      }
      assert.ok(depthMax <= 12, `${what}: ${depthMax} files overlap`);
      assert.ok(filesMax <= 7 * 7, `${what}: ${filesMax} small files`);
      const times = day.rowsWritten / rows;
      assert.ok(times <= writesMax, `${what}: each row was written ${times.toFixed(1)} times`);
      day.files = day.files.map((one) => ({ ...one, isSettled: true }));
      assert.ok(day.settle(TODAY + 1), `${what}: the day's last merges end`);
      const small = day.files.filter(({ isFull }) => !isFull).length;
      assert.ok(small <= 1, `${what}: ${small} small files are left of a day that is over`);
    }
  },
});
