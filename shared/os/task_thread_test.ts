import assert from "node:assert/strict";
import { lostThreads, TaskThread, type TaskThreadOptions } from "./task_thread.ts";

/** Answers a number after as many milliseconds; one below 0 fails. */
const WAITER = `
  import { serveTasks } from "${new URL("./serve_tasks.ts", import.meta.url)}";
  serveTasks(async (ms) => {
    if (ms < 0) throw new Error("no such time");
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { value: ms };
  });
`;

/** Answers how many requests its thread had before. */
const COUNTER = `
  import { serveTasks } from "${new URL("./serve_tasks.ts", import.meta.url)}";
  let count = 0;
  serveTasks(async (ms) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return { value: count++ };
  });
`;

/** Is busy until the shared memory that it is sent has another number than 0. */
const BUSY = `
  import { serveTasks } from "${new URL("./serve_tasks.ts", import.meta.url)}";
  serveTasks((shared) => {
    if (typeof shared === "number") return { value: shared };
    for (const flag = new Int32Array(shared); Atomics.load(flag, 0) === 0;);
    return { value: 1 };
  });
`;

async function withWaiter<Q = number>(
  isConcurrent: boolean,
  run: (thread: TaskThread<Q, number>) => Promise<void>,
  { source = WAITER, ...given }: Partial<TaskThreadOptions> & { readonly source?: string } = {},
): Promise<void> {
  const module = await Deno.makeTempFile({ prefix: "svc-thread-", suffix: ".js" });
  await Deno.writeTextFile(module, source);
  const options = { what: "waits", category: ["svc", "test"], isConcurrent, ...given };
  using thread = new TaskThread<Q, number>(new URL(`file://${module}`), options);
  try {
    await run(thread);
  } finally {
    await Deno.remove(module);
  }
}

/** The order in which requests of so many ms are answered. */
async function orderOf(thread: TaskThread<number, number>, times: number[]): Promise<number[]> {
  const order: number[] = [];
  const answers = times.map(async (ms) => order.push(await thread.run(ms)));
  await Promise.all(answers);
  return order;
}

Deno.test({
  name: "TaskThread answers in the order it was asked, or as each request ends",
  async fn() {
    await withWaiter(false, async (thread) => {
      assert.deepEqual(await orderOf(thread, [100, 0, 50]), [100, 0, 50]);
    });
    await withWaiter(true, async (thread) => {
      // Far apart: on a busy machine a request may begin late.
      assert.deepEqual(await orderOf(thread, [1_000, 0, 100]), [0, 100, 1_000]);
    });
  },
});

Deno.test({
  name:
    "TaskThread fails what was under way with the request that failed, and goes on with a new thread",
  async fn() {
    await withWaiter(true, async (thread) => {
      assert.equal(await thread.run(0), 0);
      const [slow, bad] = await Promise.allSettled([thread.run(60_000), thread.run(-1)]);
      for (const end of [slow, bad]) {
        assert.match(String(end?.status === "rejected" && end.reason), /no such time/);
      }
      assert.equal(await thread.run(1), 1);
    });
  },
});

Deno.test({
  name: "TaskThread leaves a thread behind that is busy for too long, and goes on with another",
  async fn() {
    await withWaiter<number | SharedArrayBuffer>(false, async (thread) => {
      const flag = new Int32Array(new SharedArrayBuffer(4));
      try {
        const [busy, next] = await Promise.allSettled([thread.run(flag.buffer), thread.run(7)]);
        assert.match(
          String(busy.status === "rejected" && busy.reason),
          /it took longer than 5.001 s/,
        );
        assert.deepEqual(next, { status: "fulfilled", value: 7 });
        assert.deepEqual(lostThreads().map(({ what }) => what), ["waits"]);
      } finally {
        Atomics.store(flag, 0, 1);
      }
    }, { source: BUSY, requestMsMax: 1 });
  },
});

Deno.test({
  name: "TaskThread of a module that is not there says so at once, and is not available",
  async fn() {
    const options = { what: "waits", category: ["svc", "test"] };
    using thread = new TaskThread<number, number>(new URL("file:///nowhere/worker.ts"), options);
    assert.equal(thread.isAvailable, false);
    await assert.rejects(thread.run(1), { name: "ThreadUnavailable" });
  },
});

Deno.test({
  name: "TaskThread ends its thread after a pause, not under a request, and starts another",
  async fn() {
    await withWaiter(false, async (thread) => {
      assert.deepEqual(await Promise.all([thread.run(300), thread.run(0)]), [0, 1]);
      await new Promise((resolve) => setTimeout(resolve, 500));
      assert.deepEqual(await Promise.all([thread.run(0), thread.run(0)]), [0, 1]);
    }, { source: COUNTER, idleMsMax: 100 });
  },
});
