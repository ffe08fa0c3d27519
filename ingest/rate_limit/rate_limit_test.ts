import assert from "node:assert/strict";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { ACCESS_OPTIONS } from "../access_flags.ts";
import { createIngestMetrics } from "../metrics.ts";
import { createRateLimiter } from "./rate_limit.ts";

const PEER = { forwardedFor: null, peer: "10.0.0.1" };

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
