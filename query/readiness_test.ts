import { strict as assert } from "node:assert";
import type { Clock } from "../shared/os/clock.ts";
import { Readiness } from "./readiness.ts";

/** A clock whose sleepers wake when the test says. */
class HandClock implements Clock {
  ms = 0;
  #wake: (() => void)[] = [];
  nowMs = () => this.ms;
  nowNs = () => BigInt(this.ms) * 1_000_000n;
  monotonicMs = () => this.ms;

  sleep(_ms: number, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#wake.push(resolve);
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
  }

  async advance(ms: number): Promise<void> {
    this.ms += ms;
    for (const wake of this.#wake.splice(0)) wake();
    for (let turns = 0; turns < 10; turns++) await Promise.resolve();
  }
}

Deno.test({
  name: "Readiness tells the last check's result, and an old one is a problem",
  async fn() {
    const clock = new HandClock();
    const pings: PromiseWithResolvers<void>[] = [];
    const readiness = new Readiness({
      clock,
      ping() {
        const ping = Promise.withResolvers<void>();
        pings.push(ping);
        return ping.promise;
      },
    });
    assert.match(readiness.problem ?? "", /first check/);
    pings[0]?.resolve();
    await clock.advance(0);
    assert.equal(readiness.problem, undefined);
    await clock.advance(2_000);
    pings[1]?.reject(new Error("catalog gone"));
    await clock.advance(0);
    assert.equal(readiness.problem, "catalog gone");
    await clock.advance(2_000);
    pings[2]?.resolve();
    await clock.advance(0);
    assert.equal(readiness.problem, undefined);
    // The next check hangs.
    await clock.advance(2_000);
    assert.equal(pings.length, 4);
    assert.equal(readiness.problem, undefined);
    await clock.advance(8_001);
    assert.match(readiness.problem ?? "", /10 s/);
    const stopped = readiness[Symbol.asyncDispose]();
    await clock.advance(1_000);
    await stopped;
    assert.equal(pings.length, 4);
  },
});

Deno.test({
  name: "Readiness what is known without asking is a problem at once, and no longer than it is so",
  async fn() {
    const clock = new HandClock();
    const known: { problem?: string } = {};
    const readiness = new Readiness({
      clock,
      ping: () => Promise.resolve(),
      problem: () => known.problem,
    });
    await clock.advance(0);
    assert.equal(readiness.problem, undefined);
    known.problem = "DuckDB is being replaced";
    assert.equal(readiness.problem, "DuckDB is being replaced");
    delete known.problem;
    assert.equal(readiness.problem, undefined);
    await readiness[Symbol.asyncDispose]();
  },
});
