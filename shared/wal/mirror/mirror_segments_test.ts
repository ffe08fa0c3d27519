import assert from "node:assert/strict";
import { OperatingError } from "../../base/errors.ts";
import { MemoryStore } from "../../testing/memory_store.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { FakeClock } from "../../testing/fake_clock.ts";
import { inlinePacker } from "../../testing/inline_packer.ts";
import { numberedBatch, rowsOfMessage } from "../../testing/numbered_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../admin.ts";
import { pinsDirectory, segmentNamesIn, segmentPath, stateDirectory } from "../layout.ts";
import { openWalReader } from "../reader.ts";
import { openWal } from "../wal.ts";
import { segmentKey } from "./mirror_layout.ts";
import { type LaneId as Lane, laneName } from "../../tenant/tenant.ts";
import { openMirrorWalReader } from "./mirror_wal_reader.ts";
import { mirrorBacklog, type MirrorEvent, mirrorSegments } from "./mirror_segments.ts";

const ROOT = "/data/wal";
const LANE = { tenant: "default", index: "events" };
const PREFIX = "wal-mirror";
const GOING = new AbortController().signal;

Deno.test({
  name: "mirrorSegments puts every sealed row into the mirror once, and nothing in a second round",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 3);
    assert.equal((await mirrorBacklog(lab.deps, new Map())).segments, 3);
    const mirrored = new Map();
    await mirrorSegments(lab.deps, mirrored, GOING);
    assert.deepEqual(await lab.mirroredRows(), [0, 1, 2, 3, 4, 5]);
    assert.deepEqual(await mirrorBacklog(lab.deps, mirrored), {
      segments: 0,
      bytes: 0,
      oldestMs: undefined,
    });
    await mirrorSegments(lab.deps, new Map(), GOING);
    assert.deepEqual(lab.events.map(({ kind }) => kind), ["uploaded", "uploaded", "uploaded"]);
  },
});

Deno.test({
  name: "mirrorSegments packs what it uploads, and knows its own object again in either form",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 2);
    lab.store.loseAnswers = 1;
    await assert.rejects(mirrorSegments(lab.packing, new Map(), GOING), { code: "unavailable" });
    const mirrored = () => new Map([["default/events", new Set<string>()]]);
    await mirrorSegments(lab.packing, mirrored(), GOING);
    const keys = await Array.fromAsync(lab.store.list(""), ({ key }) => key);
    assert.equal(keys.length, 2);
    for (const key of keys) assert.match(key, /\.seg\.\d{12}\.\d{12}\.zst$/);
    assert.deepEqual(await lab.mirroredRows(), [0, 1, 2, 3]);
    // A process that may have no thread goes on where one that had stopped.
    await mirrorSegments(lab.deps, new Map(), GOING);
    assert.deepEqual(await Array.fromAsync(lab.store.list(""), ({ key }) => key), keys);
    const [first = "", second = ""] = keys;
    const other = await lab.store.get(second);
    await lab.store.delete([first]);
    await lab.store.putNew(first, other);
    await assert.rejects(mirrorSegments(lab.packing, mirrored(), GOING), {
      code: "corrupt",
      reason: "mirror_object_differs",
    });
  },
});

Deno.test({
  name: "mirrorSegments power cut before every operation and resumed leaves each row once, no pin",
  async fn() {
    const setUp = new CrashableFileSystem();
    await Lab.sealed(setUp, 3);
    const before = setUp.operations;
    const whole = new CrashableFileSystem();
    const lab = await Lab.sealed(whole, 3);
    await mirrorSegments(lab.deps, new Map(), GOING);
    assert.ok(whole.operations >= before + 7, "a pin and its removal for each, and a sync");
    for (let crashAt = before; crashAt < whole.operations; crashAt += 1) {
      for (const loss of ["drop", "keep", "prefix"] as const) {
        const fs = new CrashableFileSystem({ crashAt });
        const crashed = await Lab.sealed(fs, 3);
        const deps = crashAt % 2 === 0 ? crashed.deps : crashed.packing;
        await assert.rejects(mirrorSegments(deps, new Map(), GOING));
        const next = crashed.on(fs.reboot(loss, new SeededRandom(crashAt)));
        await mirrorSegments(next.deps, new Map(), GOING);
        assert.deepEqual(await next.mirroredRows(), [0, 1, 2, 3, 4, 5], `${crashAt} ${loss}`);
        assert.deepEqual(await next.pins(), []);
      }
    }
  },
});

Deno.test({
  name: "an upload whose answer is lost is taken as done by the next round",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 2);
    lab.store.loseAnswers = 1;
    await assert.rejects(mirrorSegments(lab.deps, new Map(), GOING), { code: "unavailable" });
    assert.equal((await lab.pins()).length, 2, "what was to come next is pinned, too");
    const mirrored = new Map([["default/events", new Set<string>()]]);
    await mirrorSegments(lab.deps, mirrored, GOING);
    assert.deepEqual(await lab.mirroredRows(), [0, 1, 2, 3]);
    assert.deepEqual(await lab.pins(), []);
  },
});

Deno.test({
  name: "a segment that cannot be mirrored holds up no other, and the round fails all the same",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 3);
    const names = await segmentNamesIn(lab.fs, stateDirectory(ROOT, LANE, "sealed"));
    const [unreadable = "", foreign = ""] = names;
    await lab.store.putNew(segmentKey(PREFIX, LANE, foreign), Uint8Array.of(1, 2, 3));
    const failing = segmentPath(ROOT, LANE, { state: "sealed", name: unreadable });
    const fs = new Proxy(lab.fs, {
      get: (files, name) => {
        if (name !== "readFile") return Reflect.get(files, name).bind(files);
        return (path: string) =>
          path === failing ? Promise.reject(new Error("EIO")) : files.readFile(path);
      },
    });
    const mirrored = new Map([["default/events", new Set<string>()]]);
    await assert.rejects(mirrorSegments({ ...lab.deps, fs }, mirrored, GOING), /EIO/);
    assert.deepEqual([...mirrored.get("default/events") ?? []], names.slice(2));
  },
});

Deno.test({
  name: "mirrorSegments gives tenants turns, and those whose segments are sealed meanwhile",
  async fn() {
    const [fs, clock] = [new CrashableFileSystem(), new FakeClock()];
    await using wal = await openWal({
      ...{ fs, clock, random: new SeededRandom(5), root: ROOT, freeBytesMin: 0 },
    });
    const lane = (tenant: string, at: number) => ({ tenant, index: `web-${10 + at}` });
    const seal = async (to: Lane, segments: number) => {
      for (let at = 0; at < segments; at += 1) {
        await wal.append(to, numberedBatch([at]), "wait_for");
        await wal.seal(to);
      }
    };
    await seal(lane("a", 0), 20);
    for (let at = 1; at < 30; at += 1) await seal(lane("a", at), 1);
    await seal(lane("b", 0), 40);
    const order: string[] = [];
    let meanwhile: Lane[] = [];
    await mirrorSegments(
      {
        ...{ fs, root: ROOT, store: new MemoryStore(), prefix: PREFIX, parallel: 1 },
        sealedMeanwhile: () => meanwhile.splice(0, 1),
        onEvent: ({ lane }) => order.push(laneName(lane)),
      },
      new Map(),
      GOING,
    );
    const runs = order.filter((name, at) => name !== order[at - 1]);
    assert.deepEqual(runs.slice(0, 7), [
      ...["a/web-10", "b/web-10", "a/web-10", "b/web-10", "a/web-11", "b/web-10", "a/web-12"],
    ]);
    assert.equal(order.length, 89);

    await seal(lane("a", 0), 40);
    await seal(lane("c", 0), 1);
    meanwhile = [lane("c", 0)];
    order.length = 0;
    await mirrorSegments(
      {
        ...{ fs, root: ROOT, store: new MemoryStore(), prefix: PREFIX, parallel: 1 },
        sealedMeanwhile: () => meanwhile.splice(0, 1),
        onEvent: ({ lane }) => order.push(laneName(lane)),
      },
      new Map([["a/web-10", new Set()], ["c/web-10", new Set()]]),
      GOING,
      [lane("a", 0)],
    );
    assert.equal(order.indexOf("c/web-10"), 16);
  },
});

Deno.test({
  name: "sweepCommitted keeps a segment while its upload is under way, and removes it afterwards",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 1);
    const clock = new FakeClock();
    const admin = openWalConsumerAdmin(lab.deps.fs, clock, ROOT);
    const [segment] = await openWalReader(lab.deps.fs, ROOT).list(LANE, ["sealed"]);
    assert.ok(segment);
    const laterMs = clock.nowMs() + 61_000;
    let swept: string[] | undefined;
    lab.store.onPut = async () => {
      await admin.markCommitted(LANE, [segment.name]);
      swept = await admin.sweepCommitted(LANE, laterMs);
    };
    await mirrorSegments(lab.deps, new Map(), GOING);
    assert.deepEqual(swept, []);
    assert.deepEqual(await admin.sweepCommitted(LANE, laterMs), [segment.name]);
  },
});

Deno.test({
  name: "a segment that is committed before its turn is skipped and leaves no object and no pin",
  async fn() {
    const lab = await Lab.sealed(new CrashableFileSystem(), 2);
    const [, second] = await openWalReader(lab.deps.fs, ROOT).list(LANE, ["sealed"]);
    assert.ok(second);
    const admin = openWalConsumerAdmin(lab.deps.fs, new FakeClock(), ROOT);
    lab.store.onPut = () => admin.markCommitted(LANE, [second.name]);
    await mirrorSegments(lab.deps, new Map(), GOING);
    assert.deepEqual(lab.events.map(({ kind }) => kind), ["uploaded", "skipped"]);
    assert.deepEqual(await lab.mirroredRows(), [0, 1]);
    assert.deepEqual(await lab.pins(), []);
  },
});

/** A store that a test stops on the way to. */
class FaultyStore extends MemoryStore {
  onPut: () => Promise<void> = () => Promise.resolve();
  loseAnswers = 0;

  override async putNew(key: string, bytes: Uint8Array): Promise<void> {
    await this.onPut();
    await super.putNew(key, bytes);
    if (this.loseAnswers === 0) return;
    this.loseAnswers -= 1;
    throw new OperatingError("unavailable", "the answer was lost");
  }
}

class Lab {
  readonly events: MirrorEvent[] = [];
  readonly deps;

  private constructor(readonly fs: CrashableFileSystem, readonly store: FaultyStore) {
    this.deps = {
      fs,
      store,
      root: ROOT,
      prefix: PREFIX,
      parallel: 1,
      onEvent: (event: MirrorEvent) => this.events.push(event),
    };
  }

  /** `count` sealed segments of two rows each; an ingester that has ended. */
  static async sealed(fs: CrashableFileSystem, count: number): Promise<Lab> {
    const random = new SeededRandom(5);
    const clock = new FakeClock();
    await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
    for (let at = 0; at < count; at += 1) {
      await wal.append(LANE, numberedBatch([2 * at, 2 * at + 1]), "wait_for");
      await wal.seal(LANE);
    }
    return new Lab(fs, new FaultyStore());
  }

  get packing() {
    return { ...this.deps, packer: inlinePacker(this.fs) };
  }

  on(fs: CrashableFileSystem): Lab {
    return new Lab(fs, this.store);
  }

  pins(): Promise<string[]> {
    return segmentNamesIn(this.fs, pinsDirectory(ROOT, LANE));
  }

  async mirroredRows(): Promise<number[]> {
    const mirror = openMirrorWalReader(this.store, PREFIX);
    const rows: number[] = [];
    for (const { name } of await mirror.list(LANE, ["sealed"])) {
      await using segment = await mirror.open(LANE, name);
      for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    }
    return rows;
  }
}
