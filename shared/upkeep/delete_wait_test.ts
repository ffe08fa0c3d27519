/** Which segments a delete task waits for, and until when. */

import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import type { DeleteTask } from "../catalog/delete_ledger.ts";
import { encodeBatch } from "../columns/ipc.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { batchOf, DrainLab, EVENTS_LANE } from "../testing/drain_lab.ts";
import type { SegmentInfo, SegmentState, WalReader } from "../wal/types.ts";
import { areRowsCommitted, type DeleteMirror } from "./delete_wait.ts";
import { applyDrain, lookAtLane } from "../drain/drain.ts";
import { DRAIN_GATE_OPEN } from "../drain/plan_drain.ts";
import { sweepLane } from "../drain/sweep_lane.ts";

Deno.test({
  name: "a delete task waits for what was in the WAL when it was accepted, and for nothing later",
  async fn() {
    await using lab = await DrainLab.open();
    const wal = await lab.openWal();
    await wal.append(EVENTS_LANE, encodeBatch(batchOf([1])), "wait_for");
    await wal.seal(EVENTS_LANE);
    await wal.append(EVENTS_LANE, encodeBatch(batchOf([2])), "wait_for");
    const ledger = new Awaited();
    const ask = () => areRowsCommitted({ ...lab.deps, ledger }, ledger.task());
    assert.equal(await ask(), false);
    assert.equal(ledger.names?.length, 2, "sealed and active");
    await wal.seal(EVENTS_LANE);
    await wal.append(EVENTS_LANE, encodeBatch(batchOf([3])), "wait_for");
    assert.equal(await ask(), false);
    const plan = await lookAtLane(lab.deps, EVENTS_LANE, {
      gate: DRAIN_GATE_OPEN,
      requested: true,
    });
    assert.equal(await applyDrain(lab.deps, EVENTS_LANE, plan), "committed");
    assert.equal(await ask(), true, "the third came later");
    await wal.close();
    lab.clock.shift(120_000);
    await sweepLane(lab.deps, EVENTS_LANE);
    assert.equal(await ask(), true, "also when they are forgotten");
  },
});

Deno.test({
  name: "a delete task does not wait for lanes of others, nor for an active segment without rows",
  async fn() {
    const ledger = new Awaited();
    const wal = fakeWal([["a", "active"]], { rows: 0 });
    assert.equal(await areRowsCommitted({ ...NOTHING, wal, ledger }, ledger.task()), true);
    assert.deepEqual(ledger.names, []);
    assert.deepEqual(wal.asked, [{ tenant: "default", index: "events" }]);
    const damaged = fakeWal([["a", "active"]], { rows: undefined });
    const other = new Awaited();
    assert.equal(
      await areRowsCommitted({ ...NOTHING, wal: damaged, ledger: other }, other.task()),
      false,
      "what cannot be read may hold some",
    );
  },
});

Deno.test({
  name: "a delete task of a mirror asks late, and passes over what is quarantined",
  async fn() {
    const ledger = new Awaited();
    const wal = fakeWal([["a", "sealed"], ["c", "active"]], { rows: 1 });
    const elsewhere = fakeWal([["a", "sealed"], ["b", "sealed"]], { rows: 1 });
    let quarantined: readonly string[] = [];
    const claims: DeleteMirror["claims"] = {
      states: (names) =>
        Promise.resolve(
          new Map(names.map((name) => [name, {
            attempts: 1,
            isHeld: false,
            isQuarantined: quarantined.includes(name),
          }])),
        ),
    };
    const graceMs = 30_000;
    const deps = { ...NOTHING, wal, ledger, mirror: { wal: elsewhere, claims, graceMs } };
    assert.equal(await areRowsCommitted(deps, ledger.task({ ageMs: graceMs - 1 })), false);
    assert.equal(ledger.names, undefined);
    assert.equal(await areRowsCommitted(deps, ledger.task({ ageMs: graceMs })), false);
    assert.deepEqual(ledger.names, ["a", "c", "b"], "here and in the mirror, each once");
    quarantined = ["a", "c"];
    assert.equal(await areRowsCommitted(deps, ledger.task()), false);
    quarantined = ["a", "b", "c"];
    assert.equal(await areRowsCommitted(deps, ledger.task()), true);
  },
});

Deno.test({
  name: "who only looks records nothing",
  async fn() {
    const wal = fakeWal([["a", "sealed"]], { rows: 1 });
    assert.equal(await areRowsCommitted({ ...NOTHING, wal }, new Awaited().task()), false);
  },
});

const NOTHING = { catalog: { consumedOf: () => Promise.resolve(new Set<string>()) } };

/** A ledger of one task. */
class Awaited {
  names: readonly string[] | undefined;

  awaitSegments(_: string, names: readonly string[]): Promise<readonly string[]> {
    this.names ??= names;
    return Promise.resolve(this.names);
  }

  task(fields: Partial<DeleteTask> = {}): DeleteTask {
    return {
      taskId: "t",
      ident: { namespace: "svc", name: "events" },
      tableUuid: undefined,
      epoch: 0,
      predicate: "true",
      startNs: undefined,
      endNs: undefined,
      status: "pending",
      createdMs: 0,
      ageMs: 0,
      startedMs: undefined,
      endedMs: undefined,
      attempts: 0,
      progress: { filesTotal: 0, filesDone: 0, rowsMatched: 0 },
      rowsDeleted: 0,
      filesRewritten: 0,
      error: undefined,
      claim: undefined,
      awaited: this.names,
      ...fields,
    };
  }
}

/** Each segment has `rows` frames; undefined: it is damaged. */
function fakeWal(
  segments: readonly (readonly [name: string, state: SegmentState])[],
  { rows }: { readonly rows: number | undefined },
): WalReader & { readonly asked: LaneId[] } {
  const asked: LaneId[] = [];
  return {
    asked,
    lanes: () => Promise.resolve([]),
    messageBytes: () => Promise.resolve(1),
    names(lane, states) {
      return this.list(lane, states);
    },
    list(lane, states) {
      asked.push(lane);
      const listed = segments.filter(([, state]) => states.includes(state));
      return Promise.resolve(
        listed.map(([name, state]): SegmentInfo => ({
          lane,
          name,
          state,
          byteLength: 1,
          modifiedMs: 0,
        })),
      );
    },
    open(lane, name) {
      if (rows === undefined) {
        return Promise.reject(new OperatingError("corrupt", "damaged"));
      }
      const frame = {
        offset: 0,
        endOffset: 1,
        rows: 1,
        timestampNsMin: 0n,
        timestampNsMax: 0n,
        message: new Uint8Array(),
      };
      return Promise.resolve({
        lane,
        name,
        schemaMessage: new Uint8Array(),
        framesOffset: 0,
        async *frames() {
          for (let at = 0; at < rows; at += 1) yield await Promise.resolve(frame);
        },
        close: () => Promise.resolve(),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    },
  };
}
