import { rejects, strictEqual } from "node:assert/strict";
import type { Bounded } from "../bounds/bound_statement.ts";
import { Deadline } from "../turns/deadline.ts";
import type { QueryRequest } from "../types.ts";
import { type PlanDeps, planStatement } from "./plan_statement.ts";

const BOUNDED = {
  statement: { sql: "SELECT 1", root: {} },
  references: [],
  catalog: [],
  bounds: { ranges: new Map() },
} as unknown as Bounded;

function request(changes: Partial<QueryRequest>): QueryRequest {
  return {
    sql: "SELECT 1",
    ...{ namespace: "svc", tenant: "svc", defaultOrder: true, rowsMax: 1, deadlineMs: 60_000 },
    ...changes,
  };
}

/** Data files that count the leases which are held of them. */
function countingDeps(): PlanDeps & { held: number } {
  const deps = {
    held: 0,
    dataFiles: {
      lease: () => {
        deps.held += 1;
        return { [Symbol.dispose]: () => void (deps.held -= 1) };
      },
    },
    tables: { through: () => ({}) },
    nowMs: () => 0,
  };
  return deps as unknown as PlanDeps & { held: number };
}

Deno.test({
  name: "planStatement holds data files until its leases are disposed of",
  fn: async () => {
    using deadline = new Deadline(60_000);
    const deps = countingDeps();
    const planned = await planStatement(BOUNDED, { request: request({}), deps, deadline });
    strictEqual(deps.held, 1);
    planned.leases.dispose();
    strictEqual(deps.held, 0);
  },
});

Deno.test({
  name: "planStatement that fails holds nothing",
  fn: async (t) => {
    for (const snapshot of ["no pin", "p1.e30"]) {
      await t.step(`pin ${snapshot}`, async () => {
        using deadline = new Deadline(60_000);
        const deps = countingDeps();
        await rejects(
          planStatement(BOUNDED, { request: request({ snapshot }), deps, deadline }),
          { reason: "pin_malformed" },
        );
        strictEqual(deps.held, 0);
      });
    }
  },
});
