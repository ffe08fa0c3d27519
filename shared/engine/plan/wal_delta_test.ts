import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { isOperatingError, OperatingError } from "../../base/errors.ts";
import { encodeBatch, encodeSchemaMessage } from "../../columns/ipc.ts";
import { batchOfRows } from "../../columns/rows.ts";
import { concatBytes } from "../../base/bytes.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { LaneId } from "../../tenant/tenant.ts";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import type {
  SegmentInfo,
  SegmentReader,
  SegmentState,
  WalFrame,
  WalReader,
} from "../../wal/types.ts";
import { ALL_TIME } from "../../iceberg/types.ts";
import { until } from "../../testing/until.ts";
import { WalDelta } from "./wal_delta.ts";

const LANE: LaneId = { tenant: "default", index: "events" };
const NONE: ReadonlySet<string> = new Set();

/** A WAL in memory that counts what is read of it. */
class CountingWal implements WalReader {
  readonly segments = new Map<string, WalFrame[]>();
  /** Segments whose next frame after the good ones is damaged. */
  readonly damaged = new Set<string>();
  /** Segments whose header is damaged. */
  readonly headless = new Set<string>();
  readonly committed = new Set<string>();
  opened = 0;
  framesRead = 0;

  append(name: string, times: readonly bigint[]): void {
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
        raw: "r",
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
      schemaMessage: encodeSchemaMessage(EVENTS_SCHEMA),
      framesOffset: 100,
      frames: (offset = 100) => this.#frames(name, frames.filter((one) => one.offset >= offset)),
      close: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
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

async function openLab(options: { readonly bytesMax?: number } = {}): Promise<Lab> {
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
  name: "WalDelta a complete segment is opened once",
  fn: async () => {
    await using lab = await openLab();
    lab.wal.append("s1", [1n]);
    const complete = new Set(["s1"]);
    for (let i = 0; i < 3; i += 1) {
      using lease = await lab.delta.lease(LANE, ["s1"], { range: ALL_TIME, complete });
      strictEqual(rowsIn(lease), 1);
    }
    strictEqual(lab.wal.opened, 1);
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
  name: "WalDelta a segment that is gone is not_found",
  fn: async () => {
    await using lab = await openLab();
    await rejects(
      lab.delta.lease(LANE, ["gone"], { range: ALL_TIME, complete: NONE }),
      (error) => isOperatingError(error, "not_found"),
    );
  },
});
