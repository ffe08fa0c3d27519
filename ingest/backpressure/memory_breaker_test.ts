import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { openBackpressure } from "./backpressure.ts";
import { BACKPRESSURE_OPTIONS } from "./backpressure_flags.ts";
import { createIngestMetrics } from "../metrics.ts";

const MIB = 1024 * 1024;

function newDoor(args: readonly string[], residentBytes: () => number) {
  const clock = new FakeClock();
  const metrics = createIngestMetrics({ version: "1", role: "ingest" });
  const settings = parseOptions(BACKPRESSURE_OPTIONS, args);
  const backpressure = openBackpressure(settings, { metrics, clock, residentBytes });
  const admission = backpressure.guarded({ admit: () => Promise.resolve("default") });
  const enter = () => admission.admit({ get: () => null }, () => "127.0.0.1");
  const gauge = async () => {
    const { text } = await metrics.render(null);
    return /^svc_ingest_mem_breaker_open (\d)$/m.exec(text)?.[1];
  };
  return { clock, backpressure, enter, gauge };
}

const isOpen = (retryAfterSecs: number) => (error: unknown) =>
  isOperatingError(error, "unavailable") && error.reason === "memory_breaker" &&
  error.retryAfterSecs === retryAfterSecs;

Deno.test({
  name: "MemoryBreaker opens at the limit, closes below it, at the next look each time",
  fn: async () => {
    let used = 100 * MIB - 1;
    const args = ["--ingest-mem-limit-mib=100", "--ingest-mem-sample-secs=2"];
    const { clock, backpressure, enter, gauge } = newDoor(args, () => used);
    await using _open = backpressure;
    assert.equal(await enter(), "default");
    used = 100 * MIB;
    await clock.advance(1_999);
    assert.equal(await enter(), "default");
    await clock.advance(1);
    await assert.rejects(enter(), isOpen(2));
    assert.equal(await gauge(), "1");
    used -= 1;
    await clock.advance(2_000);
    assert.equal(await enter(), "default");
    assert.equal(await gauge(), "0");
  },
});

Deno.test({
  name: "MemoryBreaker looks at once, then every 60 s, and hints at 5 s at most",
  fn: async () => {
    let looks = 0;
    const { clock, backpressure, enter } = newDoor(["--ingest-mem-limit-mib=1"], () => {
      looks += 1;
      return MIB;
    });
    await using _open = backpressure;
    await assert.rejects(enter(), isOpen(5));
    // At the limit each look is followed by another, behind a collection of garbage.
    await clock.advance(59_999);
    assert.equal(looks, 2);
    await clock.advance(1);
    assert.equal(looks, 4);
  },
});

Deno.test({
  name: "MemoryBreaker is off without a limit and does not look",
  fn: async () => {
    const { backpressure, enter } = newDoor([], () => assert.fail("it looked"));
    await using _open = backpressure;
    assert.equal(await enter(), "default");
  },
});
