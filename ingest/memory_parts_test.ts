import assert from "node:assert/strict";
import { MEMORY_BYTES_DEFAULT, planIngestMemory } from "./memory_parts.ts";

const MIB = 1024 ** 2;

Deno.test("planIngestMemory stays within limits from 192 MiB on, and within its own without one", () => {
  for (const ingestMemLimitMib of [0, 192, 256, 512, 2_048]) {
    const plan = planIngestMemory({ ingestMemLimitMib });
    assert.equal(plan.excessBytes, 0, `${ingestMemLimitMib}`);
    assert.equal(plan.limitBytes, ingestMemLimitMib * MIB || MEMORY_BYTES_DEFAULT);
  }
});

Deno.test("planIngestMemory has 256 MiB for bodies where no option says otherwise, fewer for a small limit", () => {
  assert.equal(planIngestMemory({ ingestMemLimitMib: 0 }).bytes.bodies, 256 * MIB);
  assert.ok(planIngestMemory({ ingestMemLimitMib: 256 }).bytes.bodies < 80 * MIB);
});
