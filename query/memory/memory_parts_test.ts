/** `deno test -A query/memory/memory_parts_test.ts -- --write` writes the README's table anew. */

import assert from "node:assert/strict";
import { DIVIDED_POOL_BYTES_MIN } from "../../shared/engine/limits.ts";
import { memoryTable } from "../../shared/testing/memory_table.ts";
import { GIVING_ORDER, MEMORY_PARTS, planQueryMemory, type QueryPart } from "./memory_parts.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const LIMITS = [256 * MIB, 512 * MIB, 2 * GIB, 16 * GIB];
const README = new URL("../README.md", import.meta.url);
const TABLE = /\| Part \|[\s\S]*?(?=\n\n)/;

Deno.test("planQueryMemory stays within limits from 256 MiB on", () => {
  for (const limitBytes of [...LIMITS, 300 * MIB, GIB, 64 * GIB]) {
    for (const dearNiceness of [0, 10]) {
      const { excessBytes } = planQueryMemory(limitBytes, { dearNiceness });
      assert.equal(excessBytes, 0, `${limitBytes}`);
    }
  }
});

Deno.test("planQueryMemory counts a second process once its pool is divided", () => {
  const small = planQueryMemory(512 * MIB, { dearNiceness: 10 });
  const large = planQueryMemory(4 * GIB, { dearNiceness: 10 });
  assert.ok(large.bytes.pool >= DIVIDED_POOL_BYTES_MIN);
  assert.equal(large.bytes.processes, 2 * small.bytes.processes);
  const alone = planQueryMemory(4 * GIB, { dearNiceness: 0 });
  assert.equal(alone.bytes.processes, small.bytes.processes);
});

Deno.test("planQueryMemory gives each process twice its headroom, and fewer threads to small pools", () => {
  for (const limitBytes of LIMITS) {
    const { bytes, headroomBytes, threadsMax } = planQueryMemory(limitBytes, { dearNiceness: 10 });
    const processes = bytes.processes /
      planQueryMemory(256 * MIB, { dearNiceness: 0 }).bytes.processes;
    assert.equal(bytes.values, 2 * processes * headroomBytes);
    assert.ok(threadsMax >= 1 && threadsMax * 20 * MIB <= Math.max(bytes.pool, 20 * MIB));
  }
});

Deno.test("what a flag gives a part is that part's, and tells by how much the limit is exceeded", () => {
  const pool = 700 * MIB;
  const plan = planQueryMemory(512 * MIB, { pool, dearNiceness: 10 });
  assert.equal(plan.bytes.pool, pool);
  assert.ok(plan.excessBytes > 188 * MIB);
});

Deno.test("every part of which the keeper takes is a part, once", () => {
  assert.equal(new Set(GIVING_ORDER).size, GIVING_ORDER.length);
  for (const part of GIVING_ORDER) assert.ok(part in MEMORY_PARTS);
});

Deno.test("the table of query/README.md is the plan at some limits", async () => {
  const plans = LIMITS.map((limit) => planQueryMemory(limit, { dearNiceness: 10 }));
  const expected = memoryTable<QueryPart>(MEMORY_PARTS, plans);
  const page = await Deno.readTextFile(README);
  if (Deno.args.includes("--write")) {
    await Deno.writeTextFile(README, page.replace(TABLE, expected));
    return;
  }
  assert.equal(TABLE.exec(page)?.[0], expected);
});
