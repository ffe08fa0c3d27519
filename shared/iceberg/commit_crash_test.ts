/**
 * Every operation of a commit fails once, before or after it took effect, alone or with all that follow:
 * the table is as before or as after, and trying again ends with each row once.
 */

import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../event/events.ts";
import { EVENTS, TableLab } from "../testing/table_lab.ts";
import { commitAppend, ensureTable } from "./commit_append.ts";
import type { CommitDeps } from "./commit_table.ts";

const TABLE = { ident: EVENTS, schema: EVENTS_SCHEMA };
/** So many earlier commits that the one under test merges manifests and removes old metadata. */
const EARLIER = 15;

interface Fault {
  /** The operation that fails, counted from 0. */
  readonly at: number;
  /** Whether it takes effect first. */
  readonly when: "before" | "after";
  /** `crash`: nothing works from then on. */
  readonly then: "continue" | "crash";
}

/** Counts every call to store and catalog, and makes those of `fault` fail. */
class FaultPlan {
  operations: string[] = [];

  constructor(readonly fault: Fault | undefined) {}

  wrap<T extends object>(target: T, label: string): T {
    return new Proxy(target, {
      get: (_, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function" || name === "list") return member;
        return (...args: unknown[]) =>
          this.#run(`${label}.${String(name)}`, () => member.apply(target, args));
      },
    });
  }

  async #run(operation: string, act: () => unknown): Promise<unknown> {
    const index = this.operations.push(operation) - 1;
    const { fault } = this;
    const dead = fault?.then === "crash" && index > fault.at;
    if (dead || (fault?.at === index && fault.when === "before")) throw failure(operation);
    const value = await act();
    if (fault?.at === index) throw failure(operation);
    return value;
  }
}

function failure(operation: string): OperatingError {
  return new OperatingError("unavailable", `injected failure of ${operation}`);
}

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
  const deps: CommitDeps = {
    ...lab.deps,
    store: plan.wrap(lab.store, "store"),
    catalog: plan.wrap(lab.catalog, "catalog"),
  };
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
    for (let at = 0; at < operations.length; at += 1) {
      for (const when of ["before", "after"] as const) {
        for (const then of ["continue", "crash"] as const) {
          const { outcome, isAfter } = await run(origin, { at, when, then });
          seen.add(`${outcome} ${isAfter ? "after" : "before"}`);
        }
      }
    }
    // Failed and yet after: the process died between the commit point and the answer.
    assert.deepEqual([...seen].sort(), ["committed after", "failed after", "failed before"]);
  },
});
