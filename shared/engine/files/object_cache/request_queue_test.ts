import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { RequestQueue } from "./request_queue.ts";

interface Request {
  readonly name: string;
  readonly finish: () => void;
  readonly done: Promise<void>;
}

/** Requests that end when told, and the names of those begun, in order. */
function lab(queue: RequestQueue) {
  const begun: string[] = [];
  const ask = (key: string, bytes: number, name: string): Request => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const done = queue.run(key, bytes, () => {
      begun.push(name);
      return promise;
    });
    return { name, finish: resolve, done };
  };
  return { begun, ask };
}

Deno.test({
  name: "RequestQueue keys take turns, however many requests one has",
  fn: async () => {
    const { begun, ask } = lab(new RequestQueue({ requestsMax: 1, bytesMax: 100 }));
    const requests = [
      ...["a1", "a2", "a3"].map((name) => ask("a", 1, name)),
      ask("b", 1, "b1"),
      ask("c", 1, "c1"),
    ];
    while (begun.length < requests.length) {
      const last = requests.find(({ name }) => name === begun.at(-1));
      last?.finish();
      await last?.done;
      await new Promise((resolve) => setTimeout(resolve));
    }
    deepStrictEqual(begun, ["a1", "a2", "b1", "c1", "a3"]);
  },
});

Deno.test({
  name: "RequestQueue bounds requests and bytes, and lets a large one run alone",
  fn: async () => {
    const { begun, ask } = lab(new RequestQueue({ requestsMax: 3, bytesMax: 10 }));
    const first = ask("a", 6, "6");
    const second = ask("a", 4, "4");
    const third = ask("a", 50, "50");
    await Promise.resolve();
    deepStrictEqual(begun, ["6", "4"]);
    first.finish();
    await first.done;
    deepStrictEqual(begun, ["6", "4"], "50 waits until nothing else runs");
    second.finish();
    await second.done;
    await new Promise((resolve) => setTimeout(resolve));
    deepStrictEqual(begun, ["6", "4", "50"]);
    third.finish();
    await third.done;
  },
});

Deno.test({
  name: "RequestQueue a request that fails gives its place back",
  fn: async () => {
    const queue = new RequestQueue({ requestsMax: 1, bytesMax: 1 });
    await rejects(queue.run("a", 1, () => Promise.reject(new Error("no"))), /no/);
    strictEqual(await queue.run("a", 1, () => Promise.resolve(7)), 7);
  },
});
