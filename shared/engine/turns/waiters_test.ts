import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { WAITERS_PER_KEY_MAX } from "../limits.ts";
import { Waiters } from "./waiters.ts";

const NEVER = new AbortController().signal;

Deno.test({
  name: "Waiters serves the line in order and keeps what nobody waits for",
  fn: async () => {
    const waiters = new Waiters<string>();
    waiters.give("a");
    strictEqual(await waiters.take(NEVER), "a");
    const line = [waiters.take(NEVER), waiters.take(NEVER)];
    waiters.give("first");
    waiters.give("second");
    deepStrictEqual(await Promise.all(line), ["first", "second"]);
  },
});

Deno.test({
  name: "Waiters a burst of one key holds up another key by one turn",
  fn: async () => {
    const waiters = new Waiters<number>();
    const served: string[] = [];
    const take = async (key: string) => {
      await waiters.take(NEVER, { key: key.charAt(0) });
      served.push(key);
    };
    const line = ["a1", "a2", "a3", "b1", "b2"].map(take);
    line.forEach((_, n) => waiters.give(n));
    await Promise.all(line);
    deepStrictEqual(served, ["a1", "b1", "a2", "b2", "a3"]);
  },
});

Deno.test({
  name: "Waiters a full line is rate_limited, and full for one key is not for another",
  fn: async () => {
    const waiters = new Waiters<number>();
    const caller = new AbortController();
    const waiting = Array.from(
      { length: WAITERS_PER_KEY_MAX },
      () => waiters.take(caller.signal, { key: "a" }),
    );
    await rejects(waiters.take(NEVER, { key: "a" }), {
      code: "rate_limited",
      reason: "admission_full",
    });
    const other = waiters.take(NEVER, { key: "b" });
    waiters.give(1); // To the first of "a".
    waiters.give(2);
    strictEqual(await other, 2);
    caller.abort(new Error("gone"));
    const ends = await Promise.allSettled(waiting);
    deepStrictEqual(ends.map(({ status }) => status).indexOf("rejected"), 1);
    const again = waiters.take(NEVER, { key: "a" });
    waiters.give(3);
    strictEqual(await again, 3);
  },
});

Deno.test({
  name: "Waiters one who leaves the line takes nothing with him",
  fn: async () => {
    const waiters = new Waiters<string>();
    const caller = new AbortController();
    const left = waiters.take(caller.signal);
    const stays = waiters.take(NEVER);
    caller.abort(new Error("gone"));
    await rejects(left, /gone/);
    waiters.give("a");
    strictEqual(await stays, "a");
    await rejects(waiters.take(caller.signal), /gone/);
  },
});

Deno.test({
  name: "Waiters.close turns everybody away, now and later",
  fn: async () => {
    const waiters = new Waiters<string>();
    const waiting = waiters.take(NEVER);
    waiters.close(new Error("closed"));
    await rejects(waiting, /closed/);
    await rejects(waiters.take(NEVER), /closed/);
  },
});

Deno.test({
  name: "Waiters a wait ends after its time with a refusal, and takes nothing with it",
  fn: async () => {
    const waiters = new Waiters<string>();
    const stays = waiters.take(NEVER, { waitMs: 60_000 });
    await rejects(waiters.take(NEVER, { waitMs: 5 }), {
      code: "rate_limited",
      reason: "admission_full",
      retryAfterSecs: 1,
      // Others may have ended, and others had their turn then.
      message: "Cannot take the statement: its turn did not come within 0.005 s, " +
        "other statements keep DuckDB busy; retry",
    });
    strictEqual(waiters.size, 1);
    waiters.give("a");
    strictEqual(await stays, "a");
  },
});
