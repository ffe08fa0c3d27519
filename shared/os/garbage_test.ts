import assert from "node:assert/strict";
import { collectGarbage } from "./garbage.ts";

const MIB = 1024 * 1024;

Deno.test("collectGarbage frees the bytes of arrays that nobody uses", () => {
  const before = Deno.memoryUsage().external;
  for (let at = 0; at < 24; at += 1) new Uint8Array(MIB).fill(1);
  collectGarbage();
  assert.ok(Deno.memoryUsage().external - before < 4 * MIB);
});
