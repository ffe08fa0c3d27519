import assert from "node:assert/strict";
import { MemoryStore } from "../../testing/memory_store.ts";
import { CrashableFileSystem } from "../../testing/crashable_file_system.ts";
import { FakeClock } from "../../testing/fake_clock.ts";
import { inlinePacker } from "../../testing/inline_packer.ts";
import { numberedBatch, rowsOfMessage } from "../../testing/numbered_rows.ts";
import { SeededRandom } from "../../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../admin.ts";
import { pinsDirectory, segmentNamesIn } from "../layout.ts";
import { openWalReader } from "../reader.ts";
import type { Wal } from "../types.ts";
import { openWal } from "../wal.ts";
import { type ActiveCopies, mirrorActive, removeMirrored } from "./mirror_active.ts";
import { type Mirrored, type MirrorEvent, mirrorSegments } from "./mirror_segments.ts";
import { parseMirrorKey } from "./mirror_layout.ts";
import { applyRecovery, planRecovery } from "./recover_mirror.ts";

const ROOT = "/data/wal";
const LANE = { tenant: "default", index: "events" };
const PREFIX = "wal-mirror";
const GOING = new AbortController().signal;

Deno.test({
  name: "mirrorActive copies what was appended, one object a segment, and nothing when nothing was",
  async fn() {
    await using lab = await Lab.open();
    await lab.append(0, 1);
    await lab.copy();
    await lab.copy();
    const [first, ...more] = await lab.activeKeys();
    assert.deepEqual(more, []);
    await lab.append(2);
    await lab.copy();
    const second = await lab.activeKeys();
    assert.equal(second.length, 1);
    assert.notEqual(second[0], first);
    assert.deepEqual(await lab.recoveredRows(), [0, 1, 2]);
    lab.packs = true;
    await lab.append(3);
    await lab.copy();
    const third = await lab.activeKeys();
    assert.equal(third.length, 1);
    assert.match(third[0] ?? "", /\.zst$/);
    await lab.append(4);
    await lab.copy();
    assert.equal((await lab.activeKeys()).length, 1);
    assert.deepEqual(lab.events.map(({ kind }) => kind), Array(4).fill("copied"));
    assert.deepEqual(await lab.recoveredRows(), [0, 1, 2, 3, 4]);
    assert.deepEqual(await segmentNamesIn(lab.fs, pinsDirectory(ROOT, LANE)), []);
  },
});

Deno.test({
  name:
    "mirrorActive lets a segment's copies go when the sealed one is there, also after a restart",
  async fn() {
    await using lab = await Lab.open();
    await lab.append(0, 1);
    await lab.copy();
    await lab.wal.seal(LANE);
    await lab.copy();
    assert.equal((await lab.activeKeys()).length, 1, "the sealed segment is not mirrored yet");
    lab.copies = new Map();
    await lab.mirror();
    await lab.copy();
    assert.deepEqual(await lab.activeKeys(), []);
    assert.deepEqual(await lab.recoveredRows(), [0, 1]);
  },
});

Deno.test({
  name: "copies of a segment that was committed before its upload go, those of others stay",
  async fn() {
    await using lab = await Lab.open();
    await lab.append(0);
    await lab.copy();
    const foreign = `${PREFIX}/_active/default/events/` +
      `1700000000000-0000-0123456789abcdef.seg.000000000009`;
    await lab.store.putNew(foreign, new Uint8Array(9));
    const name = await lab.wal.seal(LANE) ?? "";
    await openWalConsumerAdmin(lab.fs, lab.clock, ROOT).markCommitted(LANE, [name]);
    lab.copies = new Map();
    await lab.copy();
    assert.deepEqual(await lab.activeKeys(), [foreign]);
    await removeMirrored(
      lab.deps,
      LANE,
      new Set([parseMirrorKey(PREFIX, foreign)?.name ?? ""]),
    );
    assert.deepEqual(await lab.activeKeys(), []);
  },
});

class Lab implements AsyncDisposable {
  readonly events: MirrorEvent[] = [];
  readonly store = new MemoryStore();
  copies: ActiveCopies = new Map();
  packs = false;
  readonly mirrored: Mirrored = new Map();
  readonly deps;

  private constructor(
    readonly fs: CrashableFileSystem,
    readonly clock: FakeClock,
    readonly wal: Wal,
  ) {
    this.deps = {
      fs,
      store: this.store,
      root: ROOT,
      prefix: PREFIX,
      parallel: 1,
      onEvent: (event: MirrorEvent) => this.events.push(event),
    };
  }

  static async open(): Promise<Lab> {
    const fs = new CrashableFileSystem();
    const clock = new FakeClock();
    const random = new SeededRandom(3);
    return new Lab(fs, clock, await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 }));
  }

  async append(...numbers: number[]): Promise<void> {
    await this.wal.append(LANE, numberedBatch(numbers), "wait_for");
  }

  copy(): Promise<void> {
    const deps = this.packs ? { ...this.deps, packer: inlinePacker(this.fs) } : this.deps;
    return mirrorActive(deps, { copies: this.copies, mirrored: this.mirrored }, GOING);
  }

  mirror(): Promise<void> {
    return mirrorSegments(this.deps, this.mirrored, GOING);
  }

  activeKeys(): Promise<string[]> {
    return Array.fromAsync(this.store.list(`${PREFIX}/_active/`), ({ key }) => key);
  }

  /** Rows that `wal-recover` brings to a new machine. */
  async recoveredRows(): Promise<number[]> {
    const fs = new CrashableFileSystem();
    const source = { store: this.store, prefix: PREFIX, root: ROOT };
    const steps = await planRecovery(source, { files: fs, catalog: undefined });
    for await (const _ of applyRecovery(source, steps, { fs }));
    const reader = openWalReader(fs, ROOT);
    const rows: number[] = [];
    for (const { name } of await reader.list(LANE, ["sealed"])) {
      await using segment = await reader.open(LANE, name);
      for await (const frame of segment.frames()) rows.push(...rowsOfMessage(frame.message));
    }
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.wal.close();
  }
}
