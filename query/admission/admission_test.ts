import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { FakeClock } from "../../shared/testing/fake_clock.ts";
import { Admission } from "./admission.ts";
import { createQueryMetrics } from "../metrics/metrics.ts";

const MIB = 2 ** 20;
const NEVER = new AbortController().signal;

function admissionOf(budgetBytes: number, shareDivisor = 4) {
  const clock = new FakeClock();
  const metrics = createQueryMetrics({ version: "0", role: "query" });
  const admission = new Admission({
    budgetBytes,
    shareDivisor,
    waitMs: 2000,
    dearWaitMs: 2000,
    clock,
    metrics,
  });
  const reserve = (tenant: string, bytes: number, options: {
    readonly signal?: AbortSignal;
    readonly deadlineMs?: number;
  } = {}) => admission.reserve({ tenant, bytes, signal: NEVER, deadlineMs: 60_000, ...options });
  return { admission, clock, metrics, reserve };
}

Deno.test({
  name: "Admission.bytesFor is four times the estimate within 16 MiB and the share",
  fn: () => {
    const cases: [budget: number, divisor: number, estimated: number, bytes: number][] = [
      [256 * MIB, 4, 0, 16 * MIB],
      [256 * MIB, 4, 4 * MIB, 16 * MIB],
      [256 * MIB, 4, 5 * MIB, 20 * MIB],
      [256 * MIB, 4, 16 * MIB, 64 * MIB],
      [256 * MIB, 4, 2 ** 50, 64 * MIB],
      [256 * MIB, 1, 2 ** 50, 256 * MIB],
      [64 * MIB, 8, 0, 8 * MIB],
    ];
    for (const [budget, divisor, estimated, bytes] of cases) {
      strictEqual(admissionOf(budget, divisor).admission.bytesFor(estimated), bytes);
    }
  },
});

Deno.test({
  name: "Admission.reserve waits for what is given back, and giving back twice gives once",
  fn: async () => {
    const { admission, reserve } = admissionOf(100);
    const first = await reserve("a", 100);
    const second = reserve("b", 60);
    const third = reserve("c", 60);
    deepStrictEqual(admission.state(), { budget_bytes: 100, reserved_bytes: 100, waiting: 2 });
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    const held = await second;
    deepStrictEqual(admission.state(), { budget_bytes: 100, reserved_bytes: 60, waiting: 1 });
    held[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    deepStrictEqual(admission.state(), { budget_bytes: 100, reserved_bytes: 0, waiting: 0 });
  },
});

Deno.test({
  name: "Admission.reserve whose wait ends leaves nothing in line, whatever ended it",
  fn: async () => {
    const gone = new AbortController();
    const cases: [
      options: { readonly signal?: AbortSignal; readonly deadlineMs?: number },
      waitedMs: number,
      error: Record<string, unknown>,
    ][] = [
      [{}, 2000, { code: "rate_limited", reason: "admission_full", retryAfterSecs: 1 }],
      [{ deadlineMs: 500 }, 500, { code: "deadline_exceeded", reason: "timeout" }],
      [{ signal: gone.signal }, 0, { message: "gone" }],
      [{ signal: AbortSignal.abort(new Error("gone before")) }, 0, { message: "gone before" }],
    ];
    for (const [options, waitedMs, error] of cases) {
      const { admission, clock, reserve } = admissionOf(100);
      const first = await reserve("a", 60);
      const ended = rejects(reserve("b", 60, options), error);
      const behind = reserve("c", 40);
      if (waitedMs > 0) await clock.advance(waitedMs - 1);
      if (options.signal === undefined) strictEqual(admission.state().waiting, 2);
      if (waitedMs > 0) await clock.advance(1);
      if (options.signal === gone.signal) gone.abort(new Error("gone"));
      await ended;
      (await behind)[Symbol.dispose]();
      first[Symbol.dispose]();
      deepStrictEqual(admission.state(), { budget_bytes: 100, reserved_bytes: 0, waiting: 0 });
    }
  },
});

Deno.test({
  name: "Admission.reserve given back in the instant the caller leaves is not lost",
  fn: async () => {
    const { admission, reserve } = admissionOf(100);
    const gone = new AbortController();
    const first = await reserve("a", 100);
    const second = reserve("b", 100, { signal: gone.signal });
    const third = reserve("c", 100);
    gone.abort(new Error("gone"));
    first[Symbol.dispose](); // Grants the second before it could take note of its signal.
    const ends = await Promise.allSettled([second]);
    if (ends[0]?.status === "fulfilled") ends[0].value[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    strictEqual(admission.state().reserved_bytes, 0);
  },
});

Deno.test({
  name: "Admission counts who is refused and shows what is reserved",
  fn: async () => {
    const { clock, metrics, reserve } = admissionOf(100);
    await reserve("a", 100);
    const refused = rejects(reserve("b", 1), { reason: "admission_full" });
    const gauges = (await metrics.render(null)).text;
    for (const line of ["budget_bytes 100", "reserved_bytes 100", "waiting 1"]) {
      strictEqual(gauges.includes(`\nsvc_query_admission_${line}\n`), true, line);
    }
    await clock.advance(2000);
    await refused;
    const { text } = await metrics.render(null);
    for (
      const line of [
        'rejected_total{resource="memory"} 1',
        'rejected_total{resource="connections"} 0',
        "waiting 0",
        "wait_seconds_count 2",
        "wait_seconds_sum 2",
      ]
    ) strictEqual(text.includes(`\nsvc_query_admission_${line}\n`), true, line);
  },
});
