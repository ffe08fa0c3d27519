import { strictEqual } from "node:assert/strict";
import { defaultObjectCacheBytes } from "./object_cache_size.ts";

const MIB = 1024 ** 2;

Deno.test({
  name: "defaultObjectCacheBytes is a quarter of the limit, 64 MiB to 16 GiB, 1 GiB without one",
  fn: () => {
    const cases: [limit: number, expected: number][] = [
      [Infinity, 1024 * MIB],
      [100 * MIB, 64 * MIB],
      [256 * MIB, 64 * MIB],
      [2048 * MIB + 3, 512 * MIB],
      [64 * 1024 * MIB, 16 * 1024 * MIB],
      [65 * 1024 * MIB, 16 * 1024 * MIB],
    ];
    for (const [limit, expected] of cases) strictEqual(defaultObjectCacheBytes(limit), expected);
  },
});
