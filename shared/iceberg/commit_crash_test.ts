/**
 * Every operation of a commit fails once, before or after it took effect, alone or with all that
 * follow. The table is as before or as after, and trying again ends with each row once.
 */

import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import { type Fault, FaultPlan, faultsOf } from "../testing/fault_plan.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };
/** So many earlier commits that the one under test merges manifests and removes old metadata. */
const EARLIER = 15;

interface Run {
  readonly operations: readonly string[];
  readonly outcome: "committed" | "consumed" | "failed";
  /** Whether the table had the change when the commit under test returned or threw. */
  readonly isAfter: boolean;
}

async function run(origin: TableLab, fault: Fault | undefined): Promise<Run> {
  await using lab = await origin.copy([]);
  const before = await lab.liveKeys() ?? [];
  const table = await ensureTable(lab.deps, TABLE);
  const file = lab.newFile(table, { day: 6 });
  const after = [...before, file.key].sort();
  const change = { ...TABLE, files: [file], consumed: ["last"] };
  const plan = new FaultPlan(fault);
  const deps = plan.deps(lab.deps);
  const label = JSON.stringify(fault);
  const keysBefore = await lab.keys();
  const outcome = await commitAppend(deps, change).then(
    (result) => result.outcome,
    () => "failed" as const,
  );
  const live = await lab.liveKeys();
  const consumed = await lab.catalog.consumedOf(["last"]);
  const isAfter = consumed.has("last");
  assert.deepEqual(live, isAfter ? after : before, label);
  if (outcome !== "failed") assert.ok(isAfter && outcome === "committed", label);
  if (outcome === "failed" && fault?.then === "continue") {
    assert.deepEqual(await lab.keys(), keysBefore, `${label} leaves staged files`);
  }
  // The process starts again and drains the same segment into the same file or finds it consumed.
  const again = await commitAppend(lab.deps, change);
  assert.equal(again.outcome, isAfter ? "consumed" : "committed", label);
  assert.deepEqual(await lab.liveKeys(), after, label);
  return { operations: plan.operations, outcome, isAfter };
}

async function fill(lab: TableLab): Promise<void> {
  const table = await ensureTable(lab.deps, TABLE);
  for (let i = 0; i < EARLIER; i += 1) {
    const file = lab.newFile(table, { day: 5, startNs: BigInt(i) });
    await commitAppend(lab.deps, { ...TABLE, files: [file], consumed: [`s${i}`] });
  }
}

Deno.test({
  name: "commitAppend is all or nothing at every failing operation",
  async fn() {
    await using origin = await TableLab.open(7);
    await fill(origin);
    const { operations } = await run(origin, undefined);
    const kinds = new Set(operations);
    for (const kind of ["store.get", "store.putNew", "store.delete", "catalog.commit"]) {
      assert.ok(kinds.has(kind), `the commit under test uses ${kind}`);
    }
    const seen = new Set<string>();
    for (const fault of faultsOf(operations.length)) {
      const { outcome, isAfter } = await run(origin, fault);
      seen.add(`${outcome} ${isAfter ? "after" : "before"}`);
    }
    // Failed and yet after: the process died between the commit point and the answer.
    assert.deepEqual([...seen].sort(), ["committed after", "failed after", "failed before"]);
  },
});
