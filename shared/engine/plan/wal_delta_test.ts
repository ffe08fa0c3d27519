import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { encodeBatch, encodeSchemaMessage } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { concatBytes } from "../../base/bytes.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { unaskedColumn } from "../../schema/promoted.ts";
import type { Column } from "../../schema/schema.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import type {
  FrameOutline,
  SegmentInfo,
  SegmentOutline,
  SegmentReader,
  SegmentState,
  WalFrame,
  WalReader,
} from "../../wal/types.ts";
import { ALL_TIME, type TimeRange } from "../../iceberg/types.ts";
import type { OrderedRequest } from "../order/nearest_units.ts";
import { until } from "../../testing/until.ts";
import { type DeltaFile, type DeltaRows, encodeDelta } from "./delta_file.ts";
import { frameSieve } from "./frame_sieve.ts";
import type { NeededColumns } from "./left_out.ts";
import { LATELY_MS } from "./needed_lately.ts";
import type { FrameTests } from "./sifted_frames.ts";
import { type DeltaLease, WalDelta, type WalDeltaOptions } from "./wal_delta.ts";
import type { DeltaColumns } from "./lane_request.ts";

const LANE: LaneId = { tenant: "default", index: "events" };
const NONE: ReadonlySet<string> = new Set();
const RAW_COLUMN = present(EVENTS_SCHEMA.columns.find(({ name }) => name === "raw"));
const RAW_ID = RAW_COLUMN.id;

/** A WAL in memory that counts what is read of it. */
class CountingWal implements WalReader {
  readonly segments = new Map<string, WalFrame[]>();
  /** Segments whose next frame after the good ones is damaged. */
  readonly damaged = new Set<string>();
  /** Segments whose header is damaged. */
  readonly headless = new Set<string>();
  readonly committed = new Set<string>();
  /** Rows on record that no frame holds: they are damaged. */
  readonly lostRows = new Map<string, number>();
  /** Whether a sealed segment's rows and times are on record. */
  hasOutlines = false;
  /** Segments that are still written: nothing of them is on record. */
  readonly active = new Set<string>();
  /** Epochs of segments; 0 where there is none. */
  readonly epochs = new Map<string, number>();
  opened = 0;
  framesRead = 0;
  /** Frames that were counted without their rows. */
  headsRead = 0;

  append(
    name: string,
    times: readonly bigint[],
    raw: (ns: bigint) => string = () => "r",
    attributes: string | null = null,
  ): void {
    const frames = this.segments.get(name) ?? [];
    const offset = frames.at(-1)?.endOffset ?? 100;
    const batch = encodeBatch(batchOfRows(
      EVENTS_SCHEMA,
      times.map((ns) => ({
        timestamp: ns / 1_000n,
        timestamp_ns: ns,
        host: "h",
        source: "s",
        sourcetype: "t",
        index: "i",
        raw: raw(ns),
        attributes,
      })),
    ));
    frames.push({
      offset,
      endOffset: offset + batch.byteLength,
      rows: batch.rows,
      timestampNsMin: batch.timestampNsMin,
      timestampNsMax: batch.timestampNsMax,
      message: concatBytes(batch.pieces),
    });
    this.segments.set(name, frames);
  }

  lanes(): Promise<LaneId[]> {
    return Promise.resolve([LANE]);
  }

  list(_lane: LaneId, states: readonly SegmentState[]): Promise<SegmentInfo[]> {
    const listed = [...this.segments.keys()].map((name): SegmentInfo => ({
      lane: LANE,
      name,
      state: this.committed.has(name) ? "committed" : "sealed",
      byteLength: 0,
      modifiedMs: 0,
    }));
    return Promise.resolve(listed.filter(({ state }) => states.includes(state)));
  }

  names(lane: LaneId, states: readonly SegmentState[]): Promise<SegmentInfo[]> {
    return this.list(lane, states);
  }

  messageBytes(): Promise<number> {
    return Promise.resolve(0);
  }

  open(lane: LaneId, name: string): Promise<SegmentReader> {
    const frames = this.segments.get(name);
    if (frames === undefined) {
      return Promise.reject(new OperatingError("not_found", `segment ${name} is gone`));
    }
    this.opened += 1;
    if (this.headless.has(name)) {
      return Promise.reject(new OperatingError("corrupt", "bad header"));
    }
    return Promise.resolve({
      lane,
      name,
      schemaMessage: encodeSchemaMessage({ ...EVENTS_SCHEMA, epoch: this.epochs.get(name) ?? 0 }),
      framesOffset: 100,
      outline: this.hasOutlines && !this.active.has(name)
        ? this.#outlineOf(name, frames)
        : undefined,
      frames: (offset = 100) => this.#frames(name, frames.filter((one) => one.offset >= offset)),
      heads: (offset = 100) => this.#heads(name, frames.filter((one) => one.offset >= offset)),
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  }

  #outlineOf(name: string, frames: readonly WalFrame[]): SegmentOutline {
    const times = frames.flatMap((one) => [one.timestampNsMin, one.timestampNsMax]).sort(
      (a, b) => Number(a - b),
    );
    const rows = frames.reduce((sum, one) => sum + one.rows, this.lostRows.get(name) ?? 0);
    return { rows, timestampNsMin: times[0] ?? 0n, timestampNsMax: times.at(-1) ?? 0n };
  }

  async *#heads(name: string, frames: readonly WalFrame[]): AsyncGenerator<FrameOutline> {
    for (const { message: _rows, ...head } of frames) {
      await Promise.resolve();
      this.headsRead += 1;
      yield head;
    }
    if (this.damaged.has(name)) throw new OperatingError("corrupt", "bad frame");
  }

  async *#frames(name: string, frames: readonly WalFrame[]): AsyncGenerator<WalFrame> {
    for (const frame of frames) {
      await Promise.resolve();
      this.framesRead += 1;
      yield frame;
    }
    if (this.damaged.has(name)) throw new OperatingError("corrupt", "bad frame");
  }
}

interface Lab extends AsyncDisposable {
  readonly dir: string;
  readonly wal: CountingWal;
  readonly delta: WalDelta;
  /** How often damage was told. */
  readonly damages: number;
  filesOnDisk(): Promise<number>;
}

async function openLab(
  options: Pick<WalDeltaOptions, "bytesMax" | "encoder" | "nowMs" | "siftedRowsMin"> = {},
): Promise<Lab> {
  const dir = await Deno.makeTempDir({ prefix: "wal-delta-" });
  const wal = new CountingWal();
  let damages = 0;
  const onDamage = () => void (damages += 1);
  return {
    dir,
    wal,
    delta: new WalDelta({ wal, files: new DenoFileSystem(), dir, onDamage, ...options }),
    get damages() {
      return damages;
    },
    filesOnDisk: async () => (await Array.fromAsync(Deno.readDir(dir))).length,
    [Symbol.asyncDispose]: () => Deno.remove(dir, { recursive: true }),
  };
}

function rowsIn(lease: { readonly files: readonly { readonly rows: number }[] }): number {
  return lease.files.reduce((sum, file) => sum + file.rows, 0);
}

Deno.test({
  name: "WalDelta reads each frame once, also of a segment that grows",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n, 2n]);
    for (const expected of [2, 2]) {
      using lease = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: NONE });
      strictEqual(rowsIn(lease), expected);
    }
    lab.wal.append("s1", [3n]);
    using grown = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: NONE });
    strictEqual(rowsIn(grown), 3);
    strictEqual(lab.wal.framesRead, 2);
  },
});

Deno.test({
  name: "WalDelta a complete segment is read once",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const complete = new Set(["s1"]);
    for (let i = 0; i < 3; i += 1) {
      using lease = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete });
      strictEqual(rowsIn(lease), 1);
    }
    strictEqual(lab.wal.framesRead, 1);
    // Once for what it holds, once for its rows.
    strictEqual(lab.wal.opened, 2);
  },
});

Deno.test({
  name: "WalDelta callers at the same time share conversions and miss nothing",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const leases = await Promise.all(
      Array.from(
        { length: 5 },
        () => lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: NONE }),
      ),
    );
    deepStrictEqual(leases.map(rowsIn), [1, 1, 1, 1, 1]);
    strictEqual(lab.wal.framesRead, 1);
    strictEqual(await lab.filesOnDisk(), 1);
    for (const lease of leases) lease[Symbol.dispose]();
  },
});

Deno.test({
  name: "WalDelta prunes by time",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [10n, 20n]);
    lab.wal.append("s2", [30n]);
    const counts: number[] = [];
    for (const [minNs, maxNs] of [[21n, undefined], [undefined, 9n], [20n, 30n], [25n, 25n]]) {
      using lease = await lab.delta.lease(LANE, ["s1", "s2"], {
        range: { minNs, maxNs },
        complete: NONE,
      });
      counts.push(rowsIn(lease));
    }
    deepStrictEqual(counts, [1, 0, 3, 0]);
  },
});

Deno.test({
  name: "WalDelta removes idle files past its bound, least recently used first, never one in use",
  fn: async () => {
    await using lab = await openLab({ bytesMax: 1 });
    for (const name of ["s1", "s2"]) lab.wal.append(name, [1n]);
    const complete = new Set(["s1", "s2"]);
    const first = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete });
    const second = await lab.delta.lease(LANE, ["s2"], { range: ALL_TIME, complete });
    strictEqual(await lab.filesOnDisk(), 2);
    second[Symbol.dispose]();
    await until(async () => await lab.filesOnDisk() === 1);
    ok(await new DenoFileSystem().exists(first.files[0]?.path ?? ""));
    first[Symbol.dispose]();
    await until(async () => await lab.filesOnDisk() === 0);
    strictEqual(lab.delta.bytes, 0);
    using again = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete });
    strictEqual(rowsIn(again), 1);
  },
});

Deno.test({
  name: "WalDelta compresses files once they take a quarter of its bound, and counts packed bytes",
  fn: async () => {
    const times = Array.from({ length: 2_000 }, (_, at) => BigInt(at));
    await using lab = await openLab({ bytesMax: 400_000 });
    const [stored, told]: [number[], number[]] = [[], []];
    for (const name of ["s1", "s2", "s3"]) {
      lab.wal.append(name, times, (ns) => `request ${ns} of a client was refused: no such item`);
      using lease = await lab.delta.lease(LANE, [name], { range: ALL_TIME, complete: NONE });
      strictEqual(rowsIn(lease), times.length);
      stored.push(present(lease.files[0]).byteLength);
      told.push(present(present(lease.files[0]).columnSizes.get(RAW_ID)));
    }
    const [plain = 0, packed = 0] = stored;
    ok(plain > 100_000 && packed < plain / 3 && stored[2] === packed, `${stored} bytes`);
    ok(told.every((bytes) => bytes < plain / 3), `${told} bytes`);
  },
});

Deno.test({
  name: "WalDelta.forget drops consumed segments that nobody reads",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const complete = new Set(["s1"]);
    const lease = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete });
    lab.delta.forget(LANE, ["s1"]);
    strictEqual(await lab.filesOnDisk(), 1);
    lease[Symbol.dispose]();
    lab.delta.forget(LANE, ["s1", "unknown"]);
    await until(async () => await lab.filesOnDisk() === 0);
  },
});

Deno.test({
  name: "WalDelta.forgetGone drops what was committed or swept, and no more",
  fn: async () => {
    await using lab = await openLab();
    const names = ["s1", "s2", "s3"];
    for (const name of names) lab.wal.append(name, [1n]);
    const complete = new Set(names);
    const lease = await lab.delta.lease(LANE, names, { range: ALL_TIME, complete });
    lab.wal.committed.add("s1");
    lab.wal.segments.delete("s2");
    await lab.delta.forgetGone();
    strictEqual(await lab.filesOnDisk(), 3);
    lease[Symbol.dispose]();
    await lab.delta.forgetGone();
    await until(async () => await lab.filesOnDisk() === 1);
    using again = await lab.delta.lease(LANE, ["s3"], { range: ALL_TIME, complete });
    strictEqual(rowsIn(again), 1);
    strictEqual(lab.wal.framesRead, 3);
  },
});

Deno.test({
  name: "WalDelta a bad frame costs its rows, counted, and not the statement",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n, 2n]);
    lab.wal.damaged.add("s1");
    using lease = await lab.delta.lease(LANE, ["s1"], {
      range: ALL_TIME,
      complete: new Set(["s1"]),
    });
    strictEqual(rowsIn(lease), 2);
    strictEqual(lab.damages, 1);
    lab.wal.append("s2", [3n]);
    const [frame] = lab.wal.segments.get("s2") ?? [];
    frame?.message.fill(0xee, 0, 16);
    using other = await lab.delta.lease(LANE, ["s2"], { range: ALL_TIME, complete: NONE });
    strictEqual(rowsIn(other), 0);
    strictEqual(lab.damages, 2);
  },
});

Deno.test({
  name: "WalDelta a segment whose header is damaged costs its rows, told, and not the statement",
  fn: async () => {
    await using lab = await openLab();
    for (const name of ["s1", "s2"]) lab.wal.append(name, [1n]);
    lab.wal.headless.add("s1");
    const names = ["s1", "s2"];
    const options = { range: ALL_TIME, complete: new Set(names) };
    using lease = await lab.delta.lease(LANE, names, options);
    using again = await lab.delta.lease(LANE, names, options);
    strictEqual(rowsIn(lease), 1);
    strictEqual(rowsIn(again), 1);
    strictEqual(lab.damages, 1);
  },
});

Deno.test({
  name: "WalDelta a directory that cannot be written is unavailable, and later tries succeed",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const files = new DenoFileSystem();
    let full = true;
    const delta = new WalDelta({
      wal: lab.wal,
      dir: lab.dir,
      files: {
        create: (path) => full ? Promise.reject(new Error("disk full")) : files.create(path),
        remove: (path) => files.remove(path),
      },
    });
    const lease = () => delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: NONE });
    await rejects(lease(), (error) => isOperatingError(error, "unavailable"));
    full = false;
    using later = await lease();
    strictEqual(rowsIn(later), 1);
  },
});

Deno.test({
  name: "WalDelta a disk that becomes full keeps nothing of the file that had no room",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const files = new DenoFileSystem();
    const create = async (path: string) => {
      const file = await files.create(path);
      const write = async (bytes: Uint8Array) => {
        await file.write(bytes.subarray(0, 100));
        throw new Error("disk full");
      };
      return Object.assign(file, { write });
    };
    const remove = (path: string) => files.remove(path);
    const delta = new WalDelta({ wal: lab.wal, dir: lab.dir, files: { create, remove } });
    await rejects(
      delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: NONE }),
      (error) => isOperatingError(error, "unavailable"),
    );
    strictEqual(await lab.filesOnDisk(), 0);
  },
});

Deno.test({
  name: "WalDelta a segment that is gone is not_found",
  fn: async () => {
    await using lab = await openLab();
    await rejects(
      lab.delta.lease(LANE, ["gone"], { range: ALL_TIME, complete: NONE }),
      (error) => isOperatingError(error, "not_found"),
    );
  },
});

/** Segments of two rows each: s0 holds 0 ms and 9 ms, s1 10 ms and 19 ms, and so on. */
async function openSealedLab(count: number): Promise<Lab & { readonly names: readonly string[] }> {
  const lab = await openLab();
  lab.wal.hasOutlines = true;
  const names = Array.from({ length: count }, (_, at) => `s${at}`);
  names.forEach((name, at) => lab.wal.append(name, [ms(10 * at), ms(10 * at + 9)]));
  return Object.assign(lab, { names });
}

function ms(count: number): bigint {
  return BigInt(count) * 1_000_000n;
}

interface NearestCase {
  readonly what: string;
  readonly range?: TimeRange;
  readonly nearest?: OrderedRequest;
  /** Segments whose frames are read. */
  readonly read: readonly string[];
}

const NEAREST: readonly NearestCase[] = [
  { what: "all rows", read: ["s0", "s1", "s2", "s3"] },
  { what: "a range", range: { minNs: ms(12), maxNs: ms(25) }, read: ["s1", "s2"] },
  { what: "times of none", range: { minNs: ms(40), maxNs: undefined }, read: [] },
  { what: "the newest row", nearest: { direction: "newest", rows: 1 }, read: ["s3"] },
  { what: "the newest three", nearest: { direction: "newest", rows: 3 }, read: ["s2", "s3"] },
  { what: "the oldest row", nearest: { direction: "oldest", rows: 1 }, read: ["s0"] },
  {
    what: "the newest row before a time that cuts a segment",
    range: { minNs: undefined, maxNs: ms(25) },
    nearest: { direction: "newest", rows: 1 },
    read: ["s1", "s2"],
  },
  { what: "no row", nearest: { direction: "newest", rows: 0 }, read: [] },
];

for (const { what, range = ALL_TIME, nearest, read } of NEAREST) {
  Deno.test({
    name: `WalDelta converts only segments on record that can hold ${what}`,
    fn: async () => {
      await using lab = await openSealedLab(4);
      const complete = new Set(lab.names);
      using lease = await lab.delta.lease(LANE, lab.names, { range, nearest, complete });
      strictEqual(lab.wal.framesRead, read.length);
      deepStrictEqual(
        lease.files.map(({ timestampNsMin }) => timestampNsMin),
        read.map((name) => ms(10 * lab.names.indexOf(name))),
      );
      ok(lease.columns !== undefined && lease.lost === undefined);
      // What was left out is there for whoever wants it.
      using whole = await lab.delta.lease(LANE, lab.names, { range: ALL_TIME, complete });
      strictEqual(rowsIn(whole), 8);
    },
  });
}

Deno.test({
  name: "WalDelta takes the next segment where a damaged one lacks the wanted rows",
  fn: async () => {
    await using lab = await openSealedLab(4);
    lab.wal.segments.set("s3", []);
    lab.wal.append("s3", [ms(39)]);
    lab.wal.lostRows.set("s3", 1);
    lab.wal.damaged.add("s3");
    using lease = await lab.delta.lease(LANE, lab.names, {
      range: ALL_TIME,
      nearest: { direction: "newest", rows: 2 },
      complete: new Set(lab.names),
    });
    deepStrictEqual(lease.files.map(({ timestampNsMin }) => timestampNsMin), [ms(20), ms(39)]);
    strictEqual(lease.lost?.segments, 1);
  },
});

Deno.test({
  name: "WalDelta reads a segment that is still written, whatever is wanted",
  fn: async () => {
    await using lab = await openSealedLab(2);
    lab.wal.append("s2", [ms(1)]);
    using lease = await lab.delta.lease(LANE, ["s0", "s1", "s2"], {
      range: ALL_TIME,
      nearest: { direction: "newest", rows: 1 },
      complete: new Set(["s0", "s1"]),
    });
    strictEqual(lab.wal.framesRead, 2);
    strictEqual(rowsIn(lease), 3);
  },
});

Deno.test({
  name: "WalDelta converts a segment that was listed as active, and looked at as sealed since",
  fn: async () => {
    await using lab = await openSealedLab(2);
    const nearest = { direction: "newest", rows: 1 } as const;
    const complete = new Set(lab.names);
    using newest = await lab.delta.lease(LANE, lab.names, { range: ALL_TIME, nearest, complete });
    strictEqual(rowsIn(newest), 2);
    // It would convert without an end.
    const signal = AbortSignal.timeout(5_000);
    using all = await lab.delta.lease(LANE, lab.names, { range: ALL_TIME, complete: NONE, signal });
    strictEqual(rowsIn(all), 4);
    strictEqual(lab.wal.framesRead, 2);
  },
});

Deno.test({
  name: "WalDelta fills columns that statements read in what it converts from then on",
  fn: async () => {
    await using lab = await openSealedLab(0);
    const level = present(unaskedColumn("level"));
    const code = present(unaskedColumn("code", "integer"));
    const append = (name: string, attributes: string) =>
      lab.wal.append(name, [ms(0)], undefined, attributes);
    const lease = async (names: readonly string[], promoted: readonly Column[]) => {
      using files = await lab.delta.lease(LANE, names, {
        ...{ range: ALL_TIME, complete: new Set(names), promoted },
      });
      return files.files.map(({ complete, filled }) => [[...complete], [...filled]]);
    };
    append("s0", '{"level":"warn","code":5}');
    deepStrictEqual(await lease(["s0"], []), [[[], []]]);
    append("s1", '{"code":6}');
    append("s2", '{"level":"info"}');
    deepStrictEqual(await lease(["s0", "s1", "s2"], [level]), [
      [[], []],
      [[level.id], []],
      [[level.id], [level.id]],
    ]);
    // `level` is still filled, as far as it goes.
    append("s3", '{"level":{"of":"no column"},"code":7}');
    deepStrictEqual(await lease(["s3"], [code]), [[[code.id], [code.id]]]);
  },
});

Deno.test({
  name: "WalDelta counts no row of an earlier epoch as one of the nearest",
  fn: async () => {
    await using lab = await openSealedLab(2);
    lab.wal.epochs.set("s1", 1);
    lab.wal.active.add("s0");
    using lease = await lab.delta.lease(LANE, lab.names, {
      range: ALL_TIME,
      nearest: { direction: "oldest", rows: 2 },
      complete: new Set(["s1"]),
      epoch: 1,
    });
    deepStrictEqual(lease.files.map(({ timestampNsMin }) => timestampNsMin), [ms(10)]);
  },
});

Deno.test({
  name: "WalDelta counts segments within the range, sealed or not, and converts those it cuts",
  fn: async () => {
    await using lab = await openSealedLab(4);
    lab.wal.append("s4", [ms(33), ms(34)]);
    lab.wal.active.add("s4");
    const names = [...lab.names, "s4"];
    const complete = new Set(lab.names);
    const count = (range: TimeRange) =>
      lab.delta.lease(LANE, names, { range, complete, countedBy: { columns: [], minutes: false } });
    using all = await count(ALL_TIME);
    deepStrictEqual(all.counted.map(({ rows }) => rows), [2, 2, 2, 2, 2]);
    deepStrictEqual([rowsIn(all), await lab.filesOnDisk(), lab.wal.framesRead], [0, 0, 0]);
    // The active one grew; the others are not read once more.
    const before = lab.wal.headsRead;
    lab.wal.append("s4", [ms(35)]);
    using more = await count(ALL_TIME);
    deepStrictEqual(more.counted.map(({ rows }) => rows), [2, 2, 2, 2, 3]);
    strictEqual(lab.wal.headsRead - before, 1);
    // s1 begins before the range, s0 is not in it.
    using cut = await count({ minNs: ms(11), maxNs: undefined });
    deepStrictEqual(cut.counted.map(({ timestampNsMin }) => timestampNsMin), [
      ...[ms(20), ms(30), ms(33)],
    ]);
    deepStrictEqual(cut.files.map(({ timestampNsMin }) => timestampNsMin), [ms(10)]);
    strictEqual(await lab.filesOnDisk(), 1);
    using older = await count({ minNs: undefined, maxNs: ms(33) });
    deepStrictEqual(older.counted.map(({ timestampNsMin }) => timestampNsMin), [ms(0), ms(20)]);
    strictEqual(rowsIn(older), 2 + 2 + 3);
  },
});

Deno.test({
  name:
    "WalDelta takes rows of a segment that was converted from its files, counted ones from none",
  fn: async () => {
    await using lab = await openSealedLab(3);
    lab.wal.active.add("s2");
    const first = { range: ALL_TIME, complete: new Set(["s0"]) };
    using some = await lab.delta.lease(LANE, ["s0", "s2"], first);
    strictEqual(rowsIn(some), 4);
    lab.wal.append("s2", [ms(25)]);
    lab.wal.active.delete("s2");
    using lease = await lab.delta.lease(LANE, lab.names, {
      range: ALL_TIME,
      complete: new Set(lab.names),
      countedBy: { columns: [], minutes: false },
    });
    deepStrictEqual([rowsIn(lease), lease.counted.map(({ rows }) => rows)], [2, [2, 3]]);
    using read = await lab.delta.lease(LANE, lab.names, {
      range: ALL_TIME,
      complete: new Set(lab.names),
    });
    deepStrictEqual([rowsIn(read), read.counted], [7, []]);
  },
});

Deno.test({
  name: "WalDelta converts a damaged segment also where its rows are just counted, and tells of it",
  fn: async () => {
    await using lab = await openSealedLab(3);
    lab.wal.damaged.add("s1");
    for (let asked = 0; asked < 2; asked += 1) {
      using lease = await lab.delta.lease(LANE, lab.names, {
        range: ALL_TIME,
        complete: new Set(lab.names),
        countedBy: { columns: [], minutes: false },
      });
      deepStrictEqual(lease.counted.map(({ rows }) => rows), [2, 2]);
      deepStrictEqual([rowsIn(lease), lease.lost?.segments, lab.damages], [2, 1, 1]);
    }
  },
});

Deno.test({
  name: "WalDelta counts no row of an earlier epoch",
  fn: async () => {
    for (const active of [[], ["s0"]]) {
      await using lab = await openSealedLab(2);
      lab.wal.epochs.set("s1", 1);
      for (const name of active) lab.wal.active.add(name);
      using lease = await lab.delta.lease(LANE, lab.names, {
        range: ALL_TIME,
        complete: new Set(lab.names.filter((name) => !active.includes(name))),
        countedBy: { columns: [], minutes: false },
        epoch: 1,
      });
      deepStrictEqual([rowsIn(lease), lease.counted.map(({ rows }) => rows)], [0, [2]]);
    }
  },
});

Deno.test({
  name: "WalDelta counts each frame once for callers at the same time",
  fn: async () => {
    await using lab = await openSealedLab(5);
    const asked = Array.from({ length: 4 }, () =>
      lab.delta.lease(LANE, lab.names, {
        range: ALL_TIME,
        complete: new Set(lab.names),
        countedBy: { columns: [], minutes: false },
      }));
    for (const lease of await Promise.all(asked)) {
      strictEqual(lease.counted.reduce((sum, { rows }) => sum + rows, 0), 10);
      lease[Symbol.dispose]();
    }
    strictEqual(lab.wal.headsRead, 5);
    strictEqual(await lab.filesOnDisk(), 0);
  },
});

Deno.test({
  name: "WalDelta has many rows converted beside itself, and few where it is",
  fn: async () => {
    let beside = 0;
    const encode = (rows: DeltaRows) => {
      beside += 1;
      return Promise.resolve(encodeDelta(rows));
    };
    await using lab = await openLab({ encoder: { encode } });
    lab.wal.hasOutlines = true;
    const names = Array.from({ length: 6 }, (_, at) => `s${at}`);
    for (const [at, name] of names.entries()) lab.wal.append(name, [ms(at)]);
    // So many rows are on record; whether they are there is not known before.
    for (const name of names.slice(2)) lab.wal.lostRows.set(name, 30_000);
    const complete = new Set(names);
    using few = await lab.delta.lease(LANE, names.slice(0, 3), { range: ALL_TIME, complete });
    deepStrictEqual([rowsIn(few), beside], [3, 0]);
    using some = await lab.delta.lease(LANE, names, { range: ALL_TIME, complete });
    deepStrictEqual([rowsIn(some), beside], [6, 0]);
    lab.wal.append("s6", [ms(6)]);
    lab.wal.lostRows.set("s6", 100_000);
    using many = await lab.delta.lease(LANE, [...names, "s6"], {
      range: ALL_TIME,
      complete: new Set([...names, "s6"]),
    });
    deepStrictEqual([rowsIn(many), beside], [7, 1]);
  },
});

Deno.test({
  name: "WalDelta keeps what was converted for a statement that ran out of time",
  fn: async () => {
    await using lab = await openSealedLab(8);
    const complete = new Set(lab.names);
    const ended = new AbortController();
    const open = lab.wal.open.bind(lab.wal);
    let opened = 0;
    lab.wal.open = (lane, name) => {
      opened += 1;
      // Each is looked at first.
      if (opened === lab.names.length + 3) ended.abort(new Error("out of time"));
      return open(lane, name);
    };
    const { signal } = ended;
    await rejects(lab.delta.lease(LANE, lab.names, { range: ALL_TIME, complete, signal }), /time/);
    const before = lab.wal.framesRead;
    ok(before >= 2 && before < 8, `${before} converted`);
    using lease = await lab.delta.lease(LANE, lab.names, { range: ALL_TIME, complete });
    deepStrictEqual([rowsIn(lease), lab.wal.framesRead], [16, 8]);
  },
});

const LONG = "a text that is so long that it is left out where nobody needs it";
const NOTHING: NeededColumns = { ids: new Set(), holders: [] };
const RAW: NeededColumns = { ids: new Set([RAW_ID]), holders: [] };

function leftOutOf({ files }: DeltaLease): (readonly string[])[] {
  return files.map(({ leftOut = [] }) => leftOut.map(({ name }) => name));
}

Deno.test({
  name: "WalDelta leaves long texts out that nobody needs, and converts once more who needs them",
  fn: async () => {
    await using lab = await openSealedLab(0);
    lab.wal.append("s1", [ms(0), ms(1)], () => LONG, null);
    const lease = (needed: NeededColumns | undefined) =>
      lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: new Set(["s1"]), needed });
    const narrow = await lease(NOTHING);
    deepStrictEqual([rowsIn(narrow), leftOutOf(narrow), lab.wal.framesRead], [2, [["raw"]], 1]);
    const wide = await lease(RAW);
    deepStrictEqual([rowsIn(wide), leftOutOf(wide), lab.wal.framesRead], [2, [[]], 2]);
    using again = await lease(NOTHING);
    deepStrictEqual([again.files, lab.wal.framesRead], [narrow.files, 2]);
    const bytes = [narrow, wide].map(({ files }) => present(files[0]).byteLength);
    strictEqual(lab.delta.bytes, bytes.reduce((sum, one) => sum + one));
    for (const one of [narrow, wide, again]) one[Symbol.dispose]();
    lab.delta.forget(LANE, ["s1"]);
    await until(async () => await lab.filesOnDisk() === 0);
    strictEqual(lab.delta.bytes, 0);
  },
});

Deno.test({
  name: "WalDelta converts the pieces of a growing segment once more that hold a wanted row",
  fn: async () => {
    let now = 0;
    await using lab = await openLab({ nowMs: () => now });
    const lease = async (needed: NeededColumns | undefined, range: TimeRange = ALL_TIME) => {
      now += LATELY_MS;
      using files = await lab.delta.lease(LANE, ["s1"], { range, complete: NONE, needed });
      return files.files.map(({ rows, leftOut = [] }) => [rows, leftOut.length]);
    };
    lab.wal.append("s1", [ms(0)], () => LONG);
    deepStrictEqual(await lease(undefined), [[1, 0]]);
    lab.wal.append("s1", [ms(1), ms(2)], () => LONG);
    deepStrictEqual(await lease(NOTHING), [[1, 0], [2, 1]]);
    lab.wal.append("s1", [ms(3)], () => LONG);
    deepStrictEqual(await lease(NOTHING), [[1, 0], [2, 1], [1, 1]]);
    lab.wal.append("s1", [ms(4)], () => LONG);
    // Only what can hold a wanted row.
    deepStrictEqual(await lease(RAW, { minNs: ms(5), maxNs: undefined }), []);
    deepStrictEqual(await lease(NOTHING), [[1, 0], [2, 1], [1, 1], [1, 0]]);
    deepStrictEqual(await lease(RAW), [[1, 0], [2, 0], [1, 0], [1, 0]]);
    const before = lab.wal.framesRead;
    deepStrictEqual(await lease(NOTHING), [[1, 0], [2, 1], [1, 1], [1, 0]]);
    strictEqual(lab.wal.framesRead, before);
    strictEqual(lab.damages, 0);
  },
});

Deno.test({
  name: "WalDelta leaves nothing out that statements over the lane needed lately",
  fn: async () => {
    let now = 0;
    await using lab = await openLab({ nowMs: () => now });
    const [newest, all] = ["active", "sealed"];
    const lease = async (needed: NeededColumns | undefined, nearest?: OrderedRequest) => {
      for (const name of [newest, all]) lab.wal.append(name, [ms(0)], () => LONG);
      using files = await lab.delta.lease(LANE, [newest, all], {
        ...{ range: ALL_TIME, complete: new Set([all]), needed, nearest },
      });
      return leftOutOf(files).map((names) => names.length);
    };
    const first = await lease(NOTHING);
    deepStrictEqual(first, [1, 1]);
    // What reads just the newest rows will want those of the segment that is still written.
    await lease(RAW, { direction: "newest", rows: 1 });
    for (const name of [newest, all]) lab.wal.segments.delete(name);
    lab.delta.forget(LANE, [newest, all]);
    now += LATELY_MS - 1;
    deepStrictEqual(await lease(NOTHING), [0, 1]);
    lab.delta.forget(LANE, [newest, all]);
    await lease(RAW);
    lab.delta.forget(LANE, [newest, all]);
    now += LATELY_MS - 1;
    deepStrictEqual(await lease(NOTHING), [0, 0]);
    lab.delta.forget(LANE, [newest, all]);
    now += LATELY_MS;
    deepStrictEqual(await lease(NOTHING), [1, 1]);
  },
});

Deno.test({
  name: "WalDelta leaves attributes out where columns say all that is asked of them",
  fn: async () => {
    await using lab = await openSealedLab(0);
    const level = present(unaskedColumn("level"));
    const asked = { promoted: [level], needed: { ids: new Set<number>(), holders: [[level.id]] } };
    const lease = async (name: string, columns: Partial<DeltaColumns>) => {
      const complete = new Set([name]);
      using files = await lab.delta.lease(LANE, [name], { range: ALL_TIME, complete, ...columns });
      return leftOutOf(files);
    };
    const append = (name: string, value: string) =>
      lab.wal.append(name, [ms(0)], undefined, `{"level":${value},"more":"${LONG}"}`);
    append("plain", '"warn"');
    append("nested", '{"of":"no column"}');
    deepStrictEqual(await lease("plain", asked), [["attributes"]]);
    deepStrictEqual(await lease("nested", asked), [[]]);
    // A column that is asked for later is filled where the others were.
    append("early", '"info"');
    deepStrictEqual(await lease("early", { needed: NOTHING }), [["attributes"]]);
    const before = lab.wal.framesRead;
    deepStrictEqual(await lease("early", asked), [["attributes"]]);
    strictEqual(lab.wal.framesRead, before);
    const code = present(unaskedColumn("more"));
    const more = { promoted: [code], needed: { ids: new Set<number>(), holders: [[code.id]] } };
    // The next one will be found in them.
    deepStrictEqual(await lease("early", more), [[]]);
    strictEqual(lab.wal.framesRead, before + 1);
  },
});

Deno.test({
  name: "WalDelta tells of rows that are gone when they are converted once more",
  fn: async () => {
    await using lab = await openSealedLab(0);
    for (const at of [0, 1]) lab.wal.append("s1", [ms(at)], () => LONG, `{"a":"${LONG}"}`);
    const lease = (needed: NeededColumns | undefined) =>
      lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete: new Set(["s1"]), needed });
    (await lease(NOTHING))[Symbol.dispose]();
    lab.wal.segments.get("s1")?.pop();
    using wide = await lease(RAW);
    deepStrictEqual([rowsIn(wide), wide.lost?.rows, lab.damages], [1, 1, 1]);
    // Each row is told once, however often the others are converted.
    using all = await lease(undefined);
    deepStrictEqual([rowsIn(all), all.lost?.rows, lab.damages], [1, 1, 1]);
  },
});

function lacksIn(lease: { readonly files: readonly DeltaFile[] }): string[] {
  return lease.files.flatMap(({ leftOut = [] }) => leftOut.map(({ name }) => name));
}

Deno.test({
  name: "WalDelta gives no piece that lacks a needed column, also of rows that need not be there",
  fn: async () => {
    await using lab = await openSealedLab(0);
    const names = ["s0", "s1"];
    for (const [at, name] of names.entries()) lab.wal.append(name, [ms(at)], () => LONG);
    const wanted = { range: ALL_TIME, complete: new Set(names) };
    using all = await lab.delta.lease(LANE, names, { ...wanted, needed: NOTHING });
    deepStrictEqual(lacksIn(all), ["raw", "raw"]);
    const nearest = { direction: "newest", rows: 1 } as const;
    using newest = await lab.delta.lease(LANE, names, { ...wanted, nearest });
    deepStrictEqual([rowsIn(newest), lacksIn(newest)], [1, []]);
  },
});

Deno.test({
  name: "WalDelta gives no piece that another statement had converted meanwhile without a column",
  fn: async () => {
    let now = 0;
    // Nothing was needed lately.
    await using lab = await openLab({ nowMs: () => now += LATELY_MS });
    for (const name of ["s0", "s1", "s2"]) lab.wal.append(name, [ms(0)], () => LONG);
    const names = ["s0", "s1", "s2"];
    const open = lab.wal.open.bind(lab.wal);
    let meanwhile: Promise<unknown> | undefined;
    lab.wal.open = async (lane, name) => {
      // s0 was converted by then.
      if (name === "s2" && meanwhile === undefined) {
        lab.wal.append("s0", [ms(1)], () => LONG);
        meanwhile = lab.delta.lease(LANE, ["s0"], {
          ...{ range: ALL_TIME, complete: NONE, needed: NOTHING },
        });
        using _other = await meanwhile as Disposable;
      }
      return await open(lane, name);
    };
    using lease = await lab.delta.lease(LANE, names, { range: ALL_TIME, complete: NONE });
    deepStrictEqual([rowsIn(lease), lacksIn(lease)], [3, []]);
  },
});

Deno.test({
  name: "WalDelta a header that was damaged since costs the rows that are converted once more",
  fn: async () => {
    await using lab = await openLab();
    for (const name of ["s0", "s1"]) lab.wal.append(name, [ms(0), ms(1)], () => LONG);
    const names = ["s0", "s1"];
    const wanted = { range: ALL_TIME, complete: new Set(names) };
    {
      using narrow = await lab.delta.lease(LANE, names, { ...wanted, needed: NOTHING });
      strictEqual(rowsIn(narrow), 4);
    }
    lab.wal.headless.add("s0");
    using wide = await lab.delta.lease(LANE, names, wanted);
    deepStrictEqual([rowsIn(wide), lacksIn(wide)], [2, []]);
    deepStrictEqual([wide.lost?.rows, lab.damages], [2, 1]);
  },
});

Deno.test({
  name: "WalDelta rows that are damaged before they are read once more are told of",
  fn: async () => {
    const wal: CountingWal[] = [];
    const encode = async (_rows: DeltaRows, again: () => Promise<DeltaRows>) => {
      wal[0]?.headless.add("s0");
      return encodeDelta(await again());
    };
    await using lab = await openLab({ encoder: { encode } });
    wal.push(lab.wal);
    lab.wal.hasOutlines = true;
    lab.wal.append("s0", [ms(0), ms(1)]);
    lab.wal.lostRows.set("s0", 100_000);
    using lease = await lab.delta.lease(LANE, ["s0"], {
      ...{ range: ALL_TIME, complete: new Set(["s0"]) },
    });
    deepStrictEqual([rowsIn(lease), lease.lost?.rows, lab.damages], [0, 2, 1]);
  },
});

/** Rows with one of some texts in `raw`. */
function having(...texts: readonly string[]): FrameTests {
  const of = texts.map((text) => (
    { kind: "substring", column: RAW_COLUMN, text, ignoreCase: false } as const
  ));
  return { sieve: (columns) => frameSieve({ kind: "or", of }, columns) };
}

Deno.test({
  name:
    "WalDelta converts just the frames with a text, for one statement, and all for the thirteenth",
  fn: async () => {
    await using lab = await openLab({ siftedRowsMin: 1 });
    lab.wal.hasOutlines = true;
    for (const name of ["s1", "s2"]) {
      for (let ns = 0n; ns < 8n; ns += 1n) lab.wal.append(name, [ns], () => `${name} number ${ns}`);
    }
    const names = ["s1", "s2"];
    const how = { range: ALL_TIME, complete: new Set(names) };
    const lease = await lab.delta.lease(LANE, names, { ...how, frames: having("s2 number 5") });
    strictEqual(rowsIn(lease), 1);
    strictEqual(lease.files[0]?.timestampNsMin, 5n);
    strictEqual(await lab.filesOnDisk(), 1);
    lease[Symbol.dispose]();
    await until(async () => await lab.filesOnDisk() === 0);
    strictEqual(lab.delta.bytes, 0);
    {
      using none = await lab.delta.lease(LANE, names, { ...how, frames: having("absent") });
      deepStrictEqual([none.files, none.columns?.length], [[], EVENTS_SCHEMA.columns.length]);
    }
    for (let asked = 2; asked < 12; asked += 1) {
      using one = await lab.delta.lease(LANE, names, { ...how, frames: having("s1 number 0") });
      strictEqual(rowsIn(one), 1);
    }
    using all = await lab.delta.lease(LANE, names, { ...how, frames: having("s2 number 5") });
    strictEqual(rowsIn(all), 16);
    const { framesRead } = lab.wal;
    using served = await lab.delta.lease(LANE, names, { ...how, frames: having("s2 number 5") });
    deepStrictEqual([rowsIn(served), lab.wal.framesRead], [16, framesRead]);
  },
});

Deno.test({
  name: "WalDelta converts few rows at once, whatever is sought in them",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.hasOutlines = true;
    const complete = new Set(["s1"]);
    for (let ns = 0n; ns < 8n; ns += 1n) lab.wal.append("s1", [ns], () => `number ${ns}`);
    const how = { range: ALL_TIME, complete, frames: having("number 7") };
    {
      using lease = await lab.delta.lease(LANE, ["s1"], how);
      strictEqual(rowsIn(lease), 8);
    }
    lab.wal.append("s2", [9n], () => "number 9");
    lab.wal.lostRows.set("s2", 100_000);
    complete.add("s2");
    using many = await lab.delta.lease(LANE, ["s2"], how);
    strictEqual(rowsIn(many), 0);
  },
});

Deno.test({
  name: "WalDelta converts a segment as a whole where most frames have the text",
  fn: async () => {
    await using lab = await openLab({ siftedRowsMin: 1 });
    for (let ns = 0n; ns < 8n; ns += 1n) lab.wal.append("s1", [ns], () => `number ${ns % 3n}`);
    const how = { range: ALL_TIME, complete: new Set(["s1"]), frames: having("number 0") };
    for (let time = 0; time < 2; time += 1) {
      using lease = await lab.delta.lease(LANE, ["s1"], how);
      deepStrictEqual([rowsIn(lease), await lab.filesOnDisk()], [8, 1]);
    }
  },
});

Deno.test({
  name: "WalDelta tells of a damaged segment once, whatever is sought in it",
  fn: async () => {
    await using lab = await openLab({ siftedRowsMin: 1 });
    for (let ns = 0n; ns < 8n; ns += 1n) lab.wal.append("s1", [ns], () => `number ${ns}`);
    lab.wal.damaged.add("s1");
    const how = { range: ALL_TIME, complete: new Set(["s1"]), frames: having("number 7") };
    for (let time = 0; time < 2; time += 1) {
      using lease = await lab.delta.lease(LANE, ["s1"], how);
      deepStrictEqual([rowsIn(lease), lease.lost?.segments, lab.damages], [8, 1, 1]);
    }
  },
});
