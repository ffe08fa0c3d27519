import { deepStrictEqual } from "node:assert/strict";
import { memoryUse } from "./memory_use.ts";

Deno.test({
  name: "memoryUse sums pool and spill, and names who holds the pool, the largest first",
  fn: () => {
    const rows = [["ORDER_BY", "10", "7"], ["HASH_TABLE", "30", "0"], ["WINDOW", "0", "5"]];
    deepStrictEqual(memoryUse(rows), {
      poolBytes: 40,
      spillBytes: 12,
      consumers: [{ tag: "hash_table", bytes: 30 }, { tag: "order_by", bytes: 10 }],
    });
  },
});
