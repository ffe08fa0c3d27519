/**
 * Old copies of a mirror come back, in any state of the world. There are two ingesters, and power
 * fails in the middle of a sweep. Segments are set aside and requeued much later, tables dropped,
 * disks lost and recovered, mirrors drained. Whatever happens, a row that a table had once is never
 * stored again, and one that none had is not lost.
 */

import assert from "node:assert/strict";
import { tableOf } from "../tenant/tenant.ts";
import { encodeBatch } from "../columns/ipc.ts";
import { batchOf, DrainLab, EVENTS_LANE } from "../testing/drain_lab.ts";
import { openWalConsumerAdmin } from "../wal/admin.ts";
import { segmentPath } from "../wal/layout.ts";
import { activeKey, parseMirrorKey, segmentKey } from "../wal/mirror/mirror_layout.ts";
import { MirrorConsumerAdmin, openMirrorWalReader } from "../wal/mirror/mirror_wal_reader.ts";
import { RECLAIM_AGE_MS_MIN } from "../wal/mirror/reclaim_mirror.ts";
import { applyRecovery, planRecovery } from "../wal/mirror/recover_mirror.ts";
import { openWalReader } from "../wal/reader.ts";
import { applyRequeue, planRequeue } from "../wal/requeue.ts";
import { openWal } from "../wal/wal.ts";
import type { DrainDeps } from "./drain.ts";
import { drainAll } from "./drain_all.ts";
import { sweepLane, sweepMirror } from "./sweep_lane.ts";

const PREFIX = "wal-mirror";
const FLOOR_MS = 61_000;
const STEPS = 90;

class World {
  readonly #lab: DrainLab;
  /** WAL roots that are there. */
  readonly #roots = ["/data/wal-a", "/data/wal-b"];
  /** Objects of the mirror as they were at some time. */
  #copy = new Map<string, Uint8Array>();
  /** Rows that a table had and no longer has. */
  readonly #gone = new Set<number>();
  #sent = 0;
  #recovered = 0;
  crashes = 0;
  restored = 0;

  constructor(lab: DrainLab) {
    this.#lab = lab;
  }

  /** One step by chance. */
  async step(): Promise<void> {
    const random = this.#lab.random;
    const steps = [
      ...[this.#ingest, this.#ingest, this.#mirror, this.#drain, this.#drain, this.#sweep],
      ...[
        this.#setAside,
        this.#setAside,
        this.#setAside,
        this.#requeueSome,
        this.#copyMirror,
        this.#restoreMirror,
        this.#dropTable,
      ],
      ...[this.#loseDisk, this.#drainMirror, this.#reclaim, this.#crash],
    ];
    await steps[random.below(steps.length)]?.call(this);
    await this.#check();
  }

  /** Puts everything back and drains it: each row is stored, or was. */
  async end(): Promise<void> {
    await this.#requeue();
    await this.#drainMirror();
    for (const root of this.#roots) await this.#drainAt(root);
    await this.#restoreMirror();
    await this.#recover();
    for (const root of this.#roots) await this.#drainAt(root);
    await this.#drainMirror();
    await this.#check();
    const stored = new Set([...await this.#lab.tableNumbers(), ...this.#gone]);
    for (let number = 0; number < this.#sent; number += 1) {
      assert.ok(stored.has(number), `row ${number} was never stored`);
    }
  }

  async #check(): Promise<void> {
    const numbers = await this.#lab.tableNumbers();
    assert.equal(new Set(numbers).size, numbers.length, `doubled: ${numbers}`);
    const back = numbers.filter((number) => this.#gone.has(number));
    assert.deepEqual(back, [], "rows that were removed are back");
  }

  async #ingest(): Promise<void> {
    const { fs, clock, random } = this.#lab;
    await using wal = await openWal({ fs, clock, random, root: this.#anyRoot(), freeBytesMin: 0 });
    for (let segments = 1 + random.below(6); segments > 0; segments -= 1) {
      const numbers = Array.from({ length: 2 }, () => this.#sent++);
      await wal.append(EVENTS_LANE, encodeBatch(batchOf(numbers)), "wait_for");
      await wal.seal(EVENTS_LANE);
    }
  }

  /** Copies what is sealed and not in the mirror, as the uploader does. */
  async #mirror(root = this.#anyRoot()): Promise<void> {
    const { fs, deps: { store } } = this.#lab;
    for (const { name } of await openWalReader(fs, root).list(EVENTS_LANE, ["sealed"])) {
      const bytes = await fs.readFile(segmentPath(root, EVENTS_LANE, { state: "sealed", name }));
      const keys = [
        segmentKey(PREFIX, EVENTS_LANE, name),
        activeKey(PREFIX, EVENTS_LANE, name, bytes.byteLength),
      ];
      for (const key of keys) await store.putNew(key, bytes).catch(() => {});
    }
  }

  async #drain(): Promise<void> {
    await this.#drainAt(this.#anyRoot());
  }

  async #drainAt(root: string): Promise<void> {
    const { failures } = await drainAll(this.#localTo(root));
    if (failures.length > 0) throw failures[0]?.error;
  }

  async #sweep(): Promise<void> {
    this.#lab.clock.shift(FLOOR_MS);
    await sweepLane(this.#localTo(this.#anyRoot()), EVENTS_LANE);
  }

  /** Power fails in the middle of a drain and its sweep. */
  async #crash(): Promise<void> {
    const lab = this.#lab;
    lab.clock.shift(FLOOR_MS);
    lab.restart({ crashAt: lab.random.below(40) });
    const root = this.#anyRoot();
    try {
      await drainAll(this.#localTo(root));
      await sweepLane(this.#localTo(root), EVENTS_LANE);
    } catch (error) {
      if (lab.fs.powered) throw error;
    }
    if (lab.fs.powered) return lab.restart();
    this.crashes += 1;
    lab.fs = lab.fs.reboot("torn", lab.random, { nowMs: () => lab.clock.nowMs() });
    for (const each of this.#roots) await this.#reopen(each);
  }

  async #reopen(root: string): Promise<void> {
    const { fs, clock, random } = this.#lab;
    const wal = await openWal({ fs, clock, random, root, freeBytesMin: 0 });
    await wal.close();
  }

  async #setAside(): Promise<void> {
    const root = this.#anyRoot();
    const { wal, admin } = this.#localTo(root);
    const sealed = await wal.list(EVENTS_LANE, ["sealed"]);
    const consumed = await this.#lab.catalog.consumedOf(sealed.map(({ name }) => name));
    const waiting = sealed.filter(({ name }) => !consumed.has(name));
    const one = waiting[this.#lab.random.below(Math.max(1, waiting.length))];
    if (one !== undefined) await admin.markPoison(EVENTS_LANE, one.name);
  }

  async #requeueSome(): Promise<void> {
    if (this.#lab.random.below(3) === 0) await this.#requeue();
  }

  async #requeue(): Promise<void> {
    for (const root of this.#roots) {
      await applyRequeue(this.#lab.fs, root, await planRequeue(this.#lab.fs, root));
    }
  }

  async #copyMirror(): Promise<void> {
    const { store } = this.#lab.deps;
    for await (const { key } of store.list(`${PREFIX}/`)) this.#copy.set(key, await store.get(key));
  }

  async #restoreMirror(): Promise<void> {
    const { store } = this.#lab.deps;
    for (const [key, bytes] of this.#copy) await store.putNew(key, bytes).catch(() => {});
    if (this.#copy.size > 0) this.restored += 1;
  }

  async #dropTable(): Promise<void> {
    if (this.#lab.random.below(3) > 0) return;
    for (const number of await this.#lab.tableNumbers()) this.#gone.add(number);
    await this.#lab.catalog.dropTable(tableOf(EVENTS_LANE));
  }

  /** A disk that was mirrored in time; what it had comes back on another. */
  async #loseDisk(): Promise<void> {
    const [lost] = this.#roots.splice(this.#lab.random.below(this.#roots.length), 1);
    if (lost === undefined) return;
    await applyRequeue(this.#lab.fs, lost, await planRequeue(this.#lab.fs, lost));
    await this.#mirror(lost);
    await this.#recover();
  }

  async #recover(): Promise<void> {
    const { fs, catalog, deps: { store } } = this.#lab;
    const root = `/data/wal-${this.#recovered++}`;
    this.#roots.push(root);
    const source = { store, prefix: PREFIX, root };
    const known = this.#lab.random.below(2) === 0 ? catalog : undefined;
    const plan = await planRecovery(source, { files: fs, catalog: known });
    for await (const { salvaged } of applyRecovery(source, plan, { fs })) {
      assert.equal(salvaged.outcome, "sealed");
    }
    await this.#reopen(root);
  }

  async #drainMirror(): Promise<void> {
    const { deps } = this.#lab;
    const wal = openMirrorWalReader(deps.store, PREFIX);
    const { failures } = await drainAll({ ...deps, wal, admin: new MirrorConsumerAdmin() });
    if (failures.length > 0) throw failures[0]?.error;
  }

  async #reclaim(): Promise<void> {
    const { clock, deps } = this.#lab;
    // The store has a clock of its own.
    for await (const { modifiedMs } of deps.store.list(`${PREFIX}/`)) {
      clock.shift(Math.max(0, modifiedMs - clock.nowMs()));
    }
    clock.shift(2 * RECLAIM_AGE_MS_MIN);
    await sweepMirror({ ...deps, mirrorPrefix: PREFIX });
    for await (const { key } of deps.store.list(`${PREFIX}/`)) {
      const name = parseMirrorKey(PREFIX, key)?.name ?? "";
      assert.equal((await this.#lab.catalog.consumedOf([name])).size, 0, `${key} is left`);
    }
  }

  #anyRoot(): string {
    return this.#roots[this.#lab.random.below(this.#roots.length)] ?? "";
  }

  #localTo(root: string): DrainDeps {
    const { fs, clock, deps } = this.#lab;
    return {
      ...deps,
      wal: openWalReader(fs, root),
      admin: openWalConsumerAdmin(fs, clock, root),
      mirrorPrefix: PREFIX,
    };
  }
}

Deno.test({
  name: "a row that a table had once is never stored again, whatever a mirror still holds",
  async fn() {
    let [crashes, restored] = [0, 0];
    for (let seed = 1; seed <= 12; seed += 1) {
      await using lab = await DrainLab.open(seed);
      const world = new World(lab);
      try {
        for (let at = 0; at < STEPS; at += 1) await world.step();
        await world.end();
      } catch (error) {
        throw new Error(`seed ${seed}`, { cause: error });
      }
      crashes += world.crashes;
      restored += world.restored;
    }
    assert.ok(crashes > 20 && restored > 30, `only ${crashes} crashes, ${restored} restored`);
  },
});
