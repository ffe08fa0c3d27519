import assert from "node:assert/strict";
import { createMetrics } from "../metrics/metrics.ts";
import { gaugeMemory, memoryMetrics } from "./memory_metrics.ts";
import { type MemoryPart, planMemory } from "./memory_plan.ts";

const MIB = 1024 ** 2;
const PARTS = {
  own: { what: "the process", base: 100 * MIB },
  rows: { what: "rows", share: 1 },
} as const satisfies Readonly<Record<string, MemoryPart>>;

Deno.test("gaugeMemory tells each part's limit and use, and gives one part what others leave", async () => {
  const metrics = createMetrics(memoryMetrics(PARTS), { version: "1", role: "test" });
  const plan = planMemory<keyof typeof PARTS>(PARTS, { limitBytes: 140 * MIB });
  const held = { rows: () => 30 };
  gaugeMemory<keyof typeof PARTS>(metrics, { plan, residentBytes: () => 120, held });
  const { text } = await metrics.render(null);
  const shown = text.split("\n").filter((line) => line.startsWith("svc_memory_")).sort();
  assert.deepEqual(shown, [
    `svc_memory_limit_bytes ${140 * MIB}`,
    `svc_memory_part_bytes{part="own"} 90`,
    `svc_memory_part_bytes{part="rows"} 30`,
    `svc_memory_part_limit_bytes{part="own"} ${100 * MIB}`,
    `svc_memory_part_limit_bytes{part="rows"} ${40 * MIB}`,
    "svc_memory_resident_bytes 120",
  ]);
});
