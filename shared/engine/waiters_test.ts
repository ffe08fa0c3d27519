import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
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
