import assert from "node:assert/strict";
import { NS_PER_US } from "../../base/time.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { columnOf } from "../../schema/schema.ts";
import type { DataFile, TimeRange } from "../../iceberg/types.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { EdgeTimes, type TimeWindow, WINDOW_US } from "./edge_times.ts";

const TIMESTAMP = columnOf(EVENTS_SCHEMA, "timestamp");
const US_PER_MINUTE = 60_000_000n;
/** A window's begin. */
const START_US = 2_983_333n * WINDOW_US;

interface Lab {
  readonly times: EdgeTimes;
  readonly read: TimeWindow[];
  nowMs: number;
  /** Thrown by the next reads. */
  failure: Error | undefined;
}

/** Over files of which each has rows at `instants`. */
function labOf(instants: readonly bigint[], { bytesMax = 1_000_000 } = {}): Lab {
  const lab: Lab = {
    read: [],
    nowMs: 0,
    failure: undefined,
    times: new EdgeTimes({
      bytesMax,
      nowMs: () => lab.nowMs,
      read: (window) => {
        lab.read.push(window);
        if (lab.failure !== undefined) return Promise.reject(lab.failure);
        const { firstUs } = window;
        const own = instants.filter((us) => us >= firstUs && us < firstUs + WINDOW_US);
        return Promise.resolve(Uint32Array.from(own, (us) => Number(us - firstUs)).sort());
      },
    }),
  };
  return lab;
}

function fileOf(key: string): DataFile {
  return { key } as DataFile;
}

/** Microseconds [first, end). */
function rangeOf(first: bigint, end: bigint): TimeRange {
  return { minNs: first * NS_PER_US, maxNs: end * NS_PER_US - 1n };
}

/** What is known of a range once it was missed often enough. */
async function rowsOf({ times }: Lab, range: TimeRange, file = fileOf("a")) {
  for (let miss = 0; miss < 2; miss += 1) times.want([{ file, range }], TIMESTAMP);
  await times.settled;
  return times.rowsOf({ file, range });
}

Deno.test("EdgeTimes counts rows by minute as they are, wherever a range begins and ends", async () => {
  const random = new SeededRandom(7_009);
  const near = (us: number) => START_US + BigInt(Math.round(us));
  // Some many times, at both ends of windows and of minutes, and before 1970.
  const instants = [
    ...Array.from({ length: 3_000 }, () => near((random.float() - 0.5) * 2e9)),
    ...Array.from({ length: 500 }, () => near(60e6 * (random.below(40) - 20) - random.below(2))),
    ...Array.from({ length: 200 }, () => BigInt(random.below(2e9)) - 1_000_000_000n),
  ];
  const lab = labOf(instants);
  for (let round = 0; round < 2_000; round += 1) {
    const around = instants[random.below(instants.length)] as bigint;
    const first = around - BigInt(random.below(3));
    const end = first + BigInt(random.chance(0.3) ? random.below(3) : random.below(1.2e8));
    const counted = await rowsOf(lab, rangeOf(first, end));
    const expected = new Map<number, number>();
    for (const us of instants) {
      if (us < first || us >= end) continue;
      const minute = Math.floor(Number(us) / Number(US_PER_MINUTE));
      expected.set(minute, (expected.get(minute) ?? 0) + 1);
    }
    const found = new Map(
      counted?.filter(({ rows }) => rows > 0).map(({ minute, rows }) => [minute, rows]),
    );
    assert.deepEqual(found, expected, `[${first}, ${end})`);
  }
  await lab.times[Symbol.asyncDispose]();
});

Deno.test("EdgeTimes reads a window once it was missed twice, and once for all that miss it", async () => {
  const lab = labOf([START_US + 5n]);
  const { times } = lab;
  const edge = { file: fileOf("a"), range: rangeOf(START_US, START_US + 10n) };
  times.want([edge], TIMESTAMP);
  await times.settled;
  assert.deepEqual([lab.read.length, times.rowsOf(edge)], [0, undefined]);
  for (let miss = 0; miss < 3; miss += 1) times.want([edge], TIMESTAMP);
  await times.settled;
  times.want([edge], TIMESTAMP);
  await times.settled;
  assert.deepEqual(lab.read.map(({ file, firstUs }) => [file.key, firstUs]), [["a", START_US]]);
  assert.deepEqual(times.rowsOf(edge)?.map(({ rows }) => rows), [1]);
  assert.equal(times.rowsOf({ ...edge, file: fileOf("b") }), undefined);
});

Deno.test("EdgeTimes knows nothing finer than a microsecond, and of no range without ends", async () => {
  const lab = labOf([START_US]);
  const { minNs = 0n, maxNs = 0n } = rangeOf(START_US, START_US + 10n);
  for (
    const range of [
      { minNs: minNs + 1n, maxNs },
      { minNs, maxNs: maxNs - 1n },
      { minNs, maxNs: undefined },
      { minNs: undefined, maxNs },
    ]
  ) {
    assert.equal(await rowsOf(lab, range), undefined);
  }
  assert.equal(lab.read.length, 0);
});

Deno.test("EdgeTimes holds as many bytes as it may, and lets go what was asked least recently", async () => {
  const instants = Array.from({ length: 1_000 }, (_, at) => START_US + BigInt(at));
  const lab = labOf(instants, { bytesMax: 3 * 4_300 });
  const range = rangeOf(START_US, START_US + 10n);
  const known = (key: string) => lab.times.rowsOf({ file: fileOf(key), range }) !== undefined;
  for (const key of ["a", "b", "c"]) await rowsOf(lab, range, fileOf(key));
  assert.ok(known("a"));
  await rowsOf(lab, range, fileOf("d"));
  assert.deepEqual(["a", "b", "c", "d"].map(known), [true, false, true, true]);
  assert.ok(lab.times.bytes <= 3 * 4_300, `${lab.times.bytes} bytes`);
});

Deno.test("EdgeTimes asks for a minute's patience after a failure, then reads again", async () => {
  const lab = labOf([START_US]);
  const range = rangeOf(START_US, START_US + 10n);
  lab.failure = new Error("the disk is gone");
  assert.equal(await rowsOf(lab, range), undefined);
  lab.failure = undefined;
  assert.equal(await rowsOf(lab, range), undefined);
  assert.equal(lab.read.length, 1);
  lab.nowMs += 60_000;
  assert.deepEqual((await rowsOf(lab, range))?.map(({ rows }) => rows), [1]);
});

Deno.test("EdgeTimes remembers a window of too many rows as such, and does not read it again", async () => {
  let reads = 0;
  const times = new EdgeTimes({
    bytesMax: 1_000,
    nowMs: () => 0,
    read: () => {
      reads += 1;
      return Promise.resolve(undefined);
    },
  });
  const edge = { file: fileOf("a"), range: rangeOf(START_US, START_US + 10n) };
  for (let miss = 0; miss < 6; miss += 1) {
    times.want([edge], TIMESTAMP);
    await times.settled;
  }
  assert.deepEqual([reads, times.rowsOf(edge)], [1, undefined]);
});
