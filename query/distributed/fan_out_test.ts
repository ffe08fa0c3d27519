import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { CutShard } from "./cut_shards.ts";
import { fanOut, FanOutEnds, type FanOutOptions, type ShardDone } from "./fan_out.ts";

const NODES = ["a", "b", "c"];

function shardOf(node: string, at: number): CutShard {
  return { node, files: [{ key: `f${at}` }], bytes: 1 };
}

function optionsOf(
  run: FanOutOptions<string>["run"],
  { shards = NODES.map(shardOf), ...more }: Partial<FanOutOptions<string>> = {},
): FanOutOptions<string> {
  return {
    ...{ shards, run, nodes: NODES, self: "a" },
    nowMs: () => performance.now(),
    signal: new AbortController().signal,
    ...more,
  };
}

async function all(options: FanOutOptions<string>): Promise<ShardDone<string>[]> {
  return (await Array.fromAsync(fanOut(options))).sort((x, y) => x.index - y.index);
}

/** Waits until it is aborted. */
function hang(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

Deno.test({
  name: "fanOut runs each shard on its server",
  async fn() {
    const done = await all(optionsOf((shard, node) => Promise.resolve(`${shard} ${node}`)));
    deepStrictEqual(done.map(({ value }) => value), ["0 a", "1 b", "2 c"]);
  },
});

Deno.test({
  name: "fanOut a shard that fails is done once, elsewhere, by the coordinator last",
  async fn() {
    const asked: string[] = [];
    const done = await all(optionsOf((shard, node) => {
      if (shard === 1) asked.push(node);
      if (shard === 1 && node !== "a") return Promise.reject(new Error("lost"));
      return Promise.resolve(node);
    }));
    deepStrictEqual(asked, ["b", "c", "a"]);
    deepStrictEqual(done.map(({ index, attempts }) => [index, attempts]), [[0, 1], [1, 3], [2, 1]]);
  },
});

Deno.test({
  name: "fanOut fails with what the last server threw when all have failed",
  async fn() {
    await rejects(
      all(optionsOf((_, node) => Promise.reject(new Error(`lost ${node}`)), {
        shards: [shardOf("b", 0)],
      })),
      { message: "lost a" },
    );
  },
});

Deno.test({
  name: "fanOut fails with what the coordinator found, also where it was not the last to try",
  async fn() {
    await rejects(
      all(optionsOf((_, node) => Promise.reject(new Error(`lost ${node}`)), {
        shards: [shardOf("a", 0)],
      })),
      { message: "lost a" },
    );
  },
});

Deno.test({
  name: "fanOut FanOutEnds ends all at once, with its cause",
  async fn() {
    let aborted = 0;
    const options = optionsOf((shard, _, signal) => {
      if (shard === 0) return Promise.reject(new FanOutEnds(new Error("no such column")));
      return hang(signal).catch((error) => {
        aborted += 1;
        throw error;
      });
    });
    await rejects(all(options), { message: "no such column" });
    await new Promise((resolve) => setTimeout(resolve, 10));
    strictEqual(aborted, 2);
  },
});

Deno.test({
  name: "fanOut a shard that takes far longer than its sisters is tried again, and counts once",
  async fn() {
    let nowMs = 0;
    const late: string[] = [];
    const options = optionsOf(async (shard, node, signal) => {
      if (shard === 2 && node === "c") return await hang(signal);
      nowMs += 100;
      return node;
    }, { nowMs: () => nowMs, told: (outcome) => void (outcome === "late" && late.push(outcome)) });
    const pass = setInterval(() => nowMs += 400, 20);
    try {
      const done = await all(options);
      deepStrictEqual(done.map(({ index }) => index), [0, 1, 2]);
      ok(done[2]?.value !== "c" && done[2]?.attempts === 2, JSON.stringify(done[2]));
    } finally {
      clearInterval(pass);
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
    deepStrictEqual(late, ["late"]);
  },
});

Deno.test({
  name: "fanOut a server that is down is not asked",
  async fn() {
    const asked = new Set<string>();
    const done = await all(optionsOf((_, node) => {
      asked.add(node);
      return Promise.resolve(node);
    }, { isUp: (node) => node !== "b" }));
    strictEqual(done.length, 3);
    deepStrictEqual([...asked].sort(), ["a", "c"]);
  },
});

Deno.test({
  name: "fanOut rows that only the coordinator has are read by nobody else",
  async fn() {
    const shards = [{ ...shardOf("a", 0), isOwn: true }, shardOf("b", 1)];
    const failing = optionsOf(
      (_, node) => node === "a" ? Promise.reject(new Error("own")) : Promise.resolve(node),
      { shards },
    );
    await rejects(all(failing), { message: "own" });
  },
});

Deno.test({
  name: "fanOut no server has more than two shards at a time",
  async fn() {
    const busy = new Map<string, number>();
    let most = 0;
    const shards = Array.from({ length: 40 }, (_, at) => shardOf(NODES[at % 3] ?? "a", at));
    const done = await all(optionsOf(async (_, node) => {
      busy.set(node, (busy.get(node) ?? 0) + 1);
      most = Math.max(most, ...busy.values());
      await new Promise((resolve) => setTimeout(resolve, 1));
      busy.set(node, (busy.get(node) ?? 0) - 1);
      return node;
    }, { shards }));
    deepStrictEqual([done.length, most], [40, 2]);
  },
});

Deno.test({
  name: "fanOut a caller that leaves ends it, and what runs",
  async fn() {
    const caller = new AbortController();
    let aborted = 0;
    const work = all(optionsOf((_, __, signal) => {
      return hang(signal).catch((error) => {
        aborted += 1;
        throw error;
      });
    }, { signal: caller.signal }));
    setTimeout(() => caller.abort(new Error("gone")), 20);
    await rejects(work, { message: "gone" });
    await new Promise((resolve) => setTimeout(resolve, 10));
    strictEqual(aborted, 3);
  },
});
