import assert from "node:assert/strict";
import { TokenBucket } from "./token_bucket.ts";

Deno.test({
  name: "TokenBucket fills at its rate up to its bound, and what was overdrawn is paid first",
  fn: () => {
    const bucket = new TokenBucket({ max: 10, perMs: 2, nowMs: 100 });
    assert.equal(bucket.take(10), true);
    assert.equal(bucket.take(4), false);
    bucket.fill(101);
    assert.equal(bucket.take(0), false, "2 of 4 are paid");
    bucket.fill(102);
    assert.equal(bucket.take(0), true);
    bucket.fill(1_000);
    bucket.give(5);
    assert.equal(bucket.take(11), false, "no more than its bound");
  },
});
