/** `deno test -A compactor/memory_parts_test.ts -- --write` writes the table of docs/operate.md. */

import assert from "node:assert/strict";
import { memoryTable } from "../shared/testing/memory_table.ts";
import { INPUT_BYTES } from "../shared/tables/data_file_writer.ts";
import { MERGED_INPUT_BYTES } from "../shared/upkeep/merge.ts";
import {
  type CompactorPart,
  MEMORY_BYTES_DEFAULT,
  MEMORY_BYTES_MIN,
  MEMORY_PARTS,
  planCompactorMemory,
} from "./memory_parts.ts";

const MIB = 1024 ** 2;
const PAGE = new URL("../docs/operate.md", import.meta.url);
const TABLE = /\| Part \|[\s\S]*?(?=\n\n)/;

Deno.test("planCompactorMemory stays within limits from the least on", () => {
  for (const limitBytes of [MEMORY_BYTES_MIN, MEMORY_BYTES_DEFAULT, 4_096 * MIB]) {
    const plan = planCompactorMemory(limitBytes);
    assert.equal(plan.excessBytes, 0);
    assert.ok(plan.drainFileBytes >= 2 * MIB, `${plan.drainFileBytes}`);
    assert.ok(plan.mergeFileBytes >= plan.drainFileBytes);
  }
});

Deno.test("planCompactorMemory makes files no larger than pays, and hardly smaller by default", () => {
  const large = planCompactorMemory(4_096 * MIB);
  assert.deepEqual([large.drainFileBytes, large.mergeFileBytes], [INPUT_BYTES, MERGED_INPUT_BYTES]);
  assert.ok(planCompactorMemory().mergeFileBytes > 0.8 * MERGED_INPUT_BYTES);
});

Deno.test("the table of docs/operate.md is the plan at some limits", async () => {
  const plans = [MEMORY_BYTES_MIN, MEMORY_BYTES_DEFAULT].map(planCompactorMemory);
  const expected = memoryTable<CompactorPart>(MEMORY_PARTS, plans);
  const page = await Deno.readTextFile(PAGE);
  if (Deno.args.includes("--write")) {
    await Deno.writeTextFile(PAGE, page.replace(TABLE, expected));
    return;
  }
  assert.equal(TABLE.exec(page)?.[0], expected);
});
