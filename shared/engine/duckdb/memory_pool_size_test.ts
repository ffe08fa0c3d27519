import { strict as assert } from "node:assert";
import { defaultPoolBytes } from "./memory_pool_size.ts";

const MIB = 1024 * 1024;

Deno.test({
  name: "defaultPoolBytes is half of the limit, at least 256 MiB",
  fn() {
    const cases: [limit: number, expected: number][] = [
      [8192 * MIB, 4096 * MIB],
      [2 * 1024 * MIB + 1, 1024 * MIB],
      [600 * MIB, 300 * MIB],
      [512 * MIB, 256 * MIB],
      [100 * MIB, 256 * MIB],
      [Infinity, 256 * MIB],
    ];
    for (const [limit, expected] of cases) {
      assert.equal(defaultPoolBytes(limit), expected, `limit ${limit}`);
    }
  },
});
