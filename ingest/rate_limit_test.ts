import fc from "fast-check";
import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { ACCESS_OPTIONS } from "./access_flags.ts";
import { createIngestMetrics } from "./metrics.ts";
import { createRateLimiter, type Sender, senderKey } from "./rate_limit.ts";
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

function limiterOf(args: string) {
  const clock = new FakeClock();
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const options = parseOptions(ACCESS_OPTIONS, args.split(" "));
  return { clock, metrics, limiter: createRateLimiter(options, { clock, metrics }) };
}

Deno.test({
  name: "createRateLimiter is off at rate 0 whatever the burst",
  fn: () => assert.equal(limiterOf("--ingest-rate-burst=5").limiter, undefined),
});

const BURSTS: [args: string, granted: number, retryAfterSecs: number][] = [
  ["--ingest-rate-per-sec=3", 3, 1],
  ["--ingest-rate-per-sec=3 --ingest-rate-burst=1", 1, 1],
  ["--ingest-rate-per-sec=1 --ingest-rate-burst=7", 7, 1],
];

for (const [args, granted, retryAfterSecs] of BURSTS) {
  Deno.test({
    name: `RateLimiter ${args} lets ${granted} through at once`,
    fn: async () => {
      const { limiter, metrics } = limiterOf(args);
      let passed = 0;
      for (let at = 0; at < 10; at++) {
        await limiter?.admit(PEER).then(() => passed++, (error) => {
          assert.deepEqual([error.code, error.retryAfterSecs], ["rate_limited", retryAfterSecs]);
        });
      }
      assert.equal(passed, granted);
      assert.equal(metrics.rateLimitRejected.at({}).value, 10 - granted);
    },
  });
}
