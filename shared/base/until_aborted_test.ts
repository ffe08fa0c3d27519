import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { untilAborted } from "./until_aborted.ts";

Deno.test({
  name:
    "untilAborted gives what the work gives, or the signal's reason first and the rest to `late`",
  fn: async () => {
    const left = new AbortController();
    const late: number[] = [];
    strictEqual(
      await untilAborted(Promise.resolve(1), left.signal, (value) => late.push(value)),
      1,
    );
    await rejects(untilAborted(Promise.reject(new Error("work")), left.signal), /work/);
    const { promise, resolve } = Promise.withResolvers<number>();
    const waiting = untilAborted(promise, left.signal, (value) => late.push(value));
    left.abort(new Error("left"));
    await rejects(waiting, /left/);
    resolve(2);
    await promise;
    await Promise.resolve();
    deepStrictEqual(late, [2]);
    await rejects(
      untilAborted(Promise.resolve(3), left.signal, (value) => late.push(value)),
      /left/,
    );
    await Promise.resolve();
    deepStrictEqual(late, [2, 3]);
    // A failure that nobody waits for is nobody's.
    await rejects(untilAborted(Promise.reject(new Error("late")), left.signal), /left/);
  },
});
