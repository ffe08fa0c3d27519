import fc from "fast-check";
import assert from "node:assert/strict";
import { FakeClock } from "../testing/fake_clock.ts";
import { RateLimiter, rateOf, type Sender, senderKey } from "./rate_limit.ts";
import { MemoryBuckets } from "./rate_limit_memory.ts";

/** A bucket as books have it: so many tokens, refilled as time passes. */
class BookBucket {
  #tokens: number;
  #atMs = 0;

  constructor(readonly perSec: number, readonly burst: number) {
    this.#tokens = burst;
  }

  take(nowMs: number): boolean {
    const refill = (nowMs - this.#atMs) / 1_000 * this.perSec;
    this.#tokens = Math.min(this.burst, this.#tokens + refill);
    this.#atMs = nowMs;
    if (this.#tokens < 1 - 1e-6) return false;
    this.#tokens--;
    return true;
  }
}

Deno.test({
  name: "MemoryBuckets lets through what a bucket of tokens does, and says how long to wait",
  fn: async () => {
    const steps = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 1, maxLength: 60 });
    const rate = fc.integer({ min: 1, max: 50 });
    await fc.assert(
      fc.asyncProperty(rate, rate, steps, async (perSec, burst, pauses) => {
        const clock = new FakeClock();
        const buckets = new MemoryBuckets({ perSec, burst }, { clock, bucketsMax: 10 });
        const book = new BookBucket(perSec, burst);
        let nowMs = 0;
        for (const pauseMs of pauses) {
          await clock.advance(pauseMs);
          nowMs += pauseMs;
          const waitMs = buckets.take("k");
          assert.equal(waitMs === 0, book.take(nowMs), `at ${nowMs} ms`);
          if (waitMs === 0) continue;
          assert.ok(waitMs <= 1_000 / perSec + 0.001);
        }
      }),
      { numRuns: 60 },
    );
  },
});

Deno.test({
  name: "MemoryBuckets gives each key its own burst, and grants again after the wait it named",
  fn: async () => {
    const clock = new FakeClock();
    const buckets = new MemoryBuckets({ perSec: 2, burst: 3 }, { clock, bucketsMax: 10 });
    const waits = ["a", "a", "a", "b", "a"].map((key) => buckets.take(key));
    assert.deepEqual(waits, [0, 0, 0, 0, 500]);
    await clock.advance(499);
    assert.equal(buckets.take("a"), 1);
    await clock.advance(1);
    assert.equal(buckets.take("a"), 0);
    assert.equal(buckets.take("a"), 500);
  },
});

Deno.test({
  name: "MemoryBuckets never keeps more than its bound, and drops idle ones first",
  fn: async () => {
    const clock = new FakeClock();
    const buckets = new MemoryBuckets({ perSec: 1, burst: 2 }, { clock, bucketsMax: 100 });
    for (let at = 0; at < 99; at++) buckets.take(`idle-${at}`);
    await clock.advance(5_000);
    buckets.take("busy");
    buckets.take("busy");
    for (let at = 0; at < 50; at++) buckets.take(`new-${at}`);
    assert.equal(buckets.size, 51);
    assert.ok(buckets.take("busy") > 0, "the busy one was kept");
    for (let at = 0; at < 1_000; at++) {
      buckets.take(`flood-${at}`);
      assert.ok(buckets.size <= 100);
    }
    assert.equal(buckets.size, 100);
    assert.equal(buckets.take("flood-900"), 0, "its second");
    assert.ok(buckets.take("flood-900") > 0, "it was kept");
    await clock.advance(10_000);
    for (let at = 0; at < 60; at++) buckets.take(`calm-${at}`);
    assert.equal(buckets.size, 60, "idle ones are gone without the bound being reached");
  },
});

const PEER = { forwardedFor: null, peer: "10.0.0.1" };

const SAME: [name: string, Sender, Sender, same: boolean][] = [
  ["one token from two addresses", { ...PEER, tokenDigest: "t" }, {
    forwardedFor: "1.2.3.4",
    peer: "10.0.0.2",
    tokenDigest: "t",
  }, true],
  ["two tokens", { ...PEER, tokenDigest: "t" }, { ...PEER, tokenDigest: "u" }, false],
  ["two addresses", PEER, { ...PEER, peer: "10.0.0.2" }, false],
  ["one forwarded address over two proxies", { forwardedFor: "1.2.3.4", peer: "10.0.0.1" }, {
    forwardedFor: "1.2.3.4",
    peer: "10.0.0.2",
  }, true],
  ["two forwarded addresses", { ...PEER, forwardedFor: "1.2.3.4" }, {
    ...PEER,
    forwardedFor: "1.2.3.5",
  }, false],
  ["what a client puts before its proxy's word", { ...PEER, forwardedFor: "9.9.9.9, 1.2.3.4" }, {
    ...PEER,
    forwardedFor: "8.8.8.8,1.2.3.4",
  }, true],
  [
    "a forwarded address and none that can be used",
    PEER,
    { ...PEER, forwardedFor: "unknown" },
    true,
  ],
  ["a forwarded address and itself with a port", { ...PEER, forwardedFor: "1.2.3.4" }, {
    ...PEER,
    forwardedFor: "9.9.9.9, 1.2.3.4:56789",
  }, true],
  ["IPv6 in brackets with ports", { ...PEER, forwardedFor: "[::1]:1" }, {
    ...PEER,
    forwardedFor: "[::1]:2",
  }, true],
  ["two forwarded addresses with a port", { ...PEER, forwardedFor: "1.2.3.4:5" }, {
    ...PEER,
    forwardedFor: "1.2.3.5:5",
  }, false],
  ["an empty forwarded address and none", PEER, { ...PEER, forwardedFor: "" }, true],
];

for (const [name, one, other, same] of SAME) {
  Deno.test({
    name: `senderKey takes ${name} for ${same ? "one sender" : "two"}`,
    fn: () => assert.equal(senderKey(one) === senderKey(other), same),
  });
}

Deno.test({
  name: "senderKey holds no address",
  fn: () => assert.match(senderKey({ ...PEER, forwardedFor: "1.2.3.4" }), /^[0-9a-f]{64}$/),
});

const RATES: [perSec: number, burst: number, rate: ReturnType<typeof rateOf>][] = [
  [0, 0, undefined],
  [0, 5, undefined],
  [3, 0, { perSec: 3, burst: 3 }],
  [3, 1, { perSec: 3, burst: 1 }],
];

for (const [perSec, burst, rate] of RATES) {
  Deno.test({
    name: `rateOf ${perSec} a second and ${burst} at once is ${JSON.stringify(rate)}`,
    fn: () => assert.deepEqual(rateOf(perSec, burst), rate),
  });
}

const WAITS: [waitMs: number, retryAfterSecs: number][] = [[0.2, 1], [1_001, 2], [90_000, 5]];

for (const [waitMs, retryAfterSecs] of WAITS) {
  Deno.test({
    name: `RateLimiter tells who must wait ${waitMs} ms to come back in ${retryAfterSecs} s`,
    fn: async () => {
      let rejected = 0;
      const onRejected = () => rejected++;
      const buckets = { take: () => waitMs };
      const limiter = new RateLimiter({ buckets, onRejected, advice: "ask once" });
      await assert.rejects(limiter.admit(PEER), {
        code: "rate_limited",
        reason: "rate_limited",
        retryAfterSecs,
        message: /: ask once, and/,
      });
      assert.equal(rejected, 1);
    },
  });
}
