import assert from "node:assert/strict";
import { isOperatingError } from "../shared/base/errors.ts";
import type { Clock } from "../shared/os/clock.ts";
import { commitModeOf } from "./commit_mode.ts";
import { forceCommit } from "./force_commit.ts";
import { createIngestMetrics } from "./metrics.ts";

const LANE = { tenant: "default", index: "events" };

/** Time that passes only while somebody sleeps. */
class SteppingClock implements Clock {
  #ms = 0;
  nowMs = () => this.#ms;
  nowNs = () => BigInt(this.#ms) * 1_000_000n;
  monotonicMs = () => this.#ms;
  sleep(ms: number): Promise<void> {
    this.#ms += ms;
    return Promise.resolve();
  }
}

/** What was asked for, in order; the catalog shows `segment` as consumed from `visibleAtMs` on. */
function world(segment: string, visibleAtMs: number) {
  const clock = new SteppingClock();
  const calls: string[] = [];
  return {
    calls,
    clock,
    deps: {
      clock,
      metrics: createIngestMetrics({ version: "1", role: "ingest" }),
      timeoutMs: 30_000,
      wal: {
        seal: () => Promise.resolve(void calls.push("seal") as undefined),
        requestDrain: () => Promise.resolve(void calls.push("requestDrain")),
      },
      drain: { wake: () => void calls.push("wake") },
      catalog: {
        consumedOf: (segments: readonly string[]) =>
          Promise.resolve(
            new Set(
              clock.nowMs() >= visibleAtMs ? segments.filter((name) => name === segment) : [],
            ),
          ),
      },
    },
  };
}

Deno.test({
  name:
    "forceCommit rings for drains on other machines until the segment is consumed, whatever the bell says",
  fn: async () => {
    for (const bellWorks of [true, false]) {
      const { deps, clock } = world("s1", 1_234);
      const rings: [ms: number, lane: string][] = [];
      const bell = {
        ring: (lane: string) => {
          rings.push([clock.nowMs(), lane]);
          return bellWorks ? Promise.resolve() : Promise.reject(new Error("no connection"));
        },
      };
      await forceCommit(LANE, "s1", { ...deps, bell });
      assert.ok(rings.length >= 4 && rings.length <= 6, `${rings.length} rings in 1.2 s`);
      assert.ok(rings.every(([, lane]) => lane === "default/events"));
      assert.equal(rings[0]?.[0], 0);
    }
  },
});

Deno.test({
  name:
    "commit=force is refused where a remote drain's catalog cannot be seen, other modes are not",
  fn: () => {
    assert.equal(commitModeOf("commit=force", null, { canForce: true }), "force");
    assert.equal(commitModeOf("commit=wait_for", "force", { canForce: false }), "wait_for");
    for (const [query, header] of [["commit=force", null], ["", "force"]] as const) {
      assert.throws(
        () => commitModeOf(query, header, { canForce: false }),
        (error) =>
          isOperatingError(error, "invalid_argument") && error.reason === "remote_drain" &&
          /send commit=wait_for/.test(error.message),
      );
    }
  },
});

Deno.test({
  name: "forceCommit seals, asks for the drain, wakes it, and returns once the segment is consumed",
  fn: async () => {
    const { deps, calls, clock } = world("s1", 1_234);
    await forceCommit(LANE, "s1", deps);
    assert.deepEqual(calls, ["seal", "requestDrain", "wake"]);
    assert.ok(
      clock.nowMs() >= 1_234 && clock.nowMs() <= 1_234 + 100,
      `returned at ${clock.nowMs()}`,
    );
  },
});

Deno.test({
  name: "forceCommit is a 504 that names the segment and the remedy when nobody commits in time",
  fn: async () => {
    const { deps, clock } = world("s1", Infinity);
    await assert.rejects(
      forceCommit(LANE, "s1", deps),
      (error) =>
        isOperatingError(error, "deadline_exceeded") && error.httpStatus === 504 &&
        /segment s1 within 30 s/.test(error.message) && /--with-compactor/.test(error.message),
    );
    assert.equal(clock.nowMs(), 30_000);
  },
});

Deno.test({
  name:
    "forceCommit ends in time with a catalog that says nothing, and tells what a remote drain needs",
  fn: async () => {
    const { deps } = world("s1", Infinity);
    const never = () => new Promise<never>(() => {});
    const silent = {
      ...deps,
      timeoutMs: 50,
      catalog: { consumedOf: never },
      bell: { ring: never },
    };
    await assert.rejects(forceCommit(LANE, "s1", silent), {
      code: "deadline_exceeded",
      message: /the catalog cannot be read .*would double them/,
    });
    const bell = { ring: () => Promise.resolve() };
    await assert.rejects(forceCommit(LANE, "s1", { ...deps, bell }), {
      code: "deadline_exceeded",
      message: /once they are mirrored .*--catalog-claim.*would double them/,
    });
  },
});

Deno.test({
  name: "forceCommit does not blame a catalog that takes some milliseconds to answer, to the end",
  fn: async () => {
    const { deps } = world("s1", Infinity);
    const slowly = {
      ...deps,
      timeoutMs: 300,
      catalog: {
        consumedOf: () =>
          new Promise<Set<string>>((resolve) => setTimeout(() => resolve(new Set()), 20)),
      },
    };
    await assert.rejects(forceCommit(LANE, "s1", slowly), {
      message: /no compactor committed WAL segment s1 within 0.3 s/,
    });
  },
});

Deno.test({
  name: "forceCommit waits for the durable rows also when the WAL cannot be sealed or told",
  fn: async () => {
    const full = () => Promise.reject(new Error("no space left on device"));
    for (const broken of ["seal", "requestDrain"]) {
      const { deps, clock } = world("s1", 5_000);
      await forceCommit(LANE, "s1", { ...deps, wal: { ...deps.wal, [broken]: full } });
      assert.ok(clock.nowMs() >= 5_000, `${broken}: returned at ${clock.nowMs()}`);
    }
  },
});

Deno.test({
  name: "forceCommit is not satisfied by another segment",
  fn: async () => {
    const { deps } = world("s2", 0);
    await assert.rejects(forceCommit(LANE, "s1", deps), { code: "deadline_exceeded" });
  },
});
