import { ok, rejects, strictEqual } from "node:assert/strict";
import { StoreReads } from "./store_reads.ts";

const VAIN_MS = 50;

Deno.test("StoreReads.unanswered adds what was waited for in vain, until something comes", async () => {
  const reads = new StoreReads();
  const unanswered = () => reads.unanswered;
  const startMs = performance.now();
  const late = Promise.withResolvers<void>();
  const vain = reads.awaiting("one", late.promise);
  setTimeout(() => late.reject(new Error("given up")), VAIN_MS);
  await rejects(vain, /given up/);
  strictEqual(unanswered(), undefined);
  const second = Promise.withResolvers<void>();
  const waiting = reads.awaiting("two", second.promise);
  const { key, forMs } = unanswered() ?? { key: "", forMs: 0 };
  strictEqual(key, "two");
  ok(forMs >= VAIN_MS - 1, `${forMs}`);
  ok(forMs <= performance.now() - startMs, `${forMs}`);
  second.resolve();
  await waiting;
  const third = Promise.withResolvers<void>();
  const last = reads.awaiting("three", third.promise);
  const afresh = unanswered()?.forMs ?? Infinity;
  ok(afresh <= performance.now() - startMs - VAIN_MS + 1, `${afresh}`);
  third.resolve();
  await last;
});
