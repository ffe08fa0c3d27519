import assert from "node:assert/strict";
import { memoize, memoizeIn } from "./memoize.ts";

Deno.test("the last answers are kept, the least recently asked for goes first", () => {
  const made: string[] = [];
  const ask = memoize(2, (key) => {
    made.push(key);
    return key === "" ? undefined : `${key}!`;
  });
  assert.deepEqual(["a", "b", "a", "c", "a", "b"].map(ask), ["a!", "b!", "a!", "c!", "a!", "b!"]);
  assert.deepEqual(made, ["a", "b", "c", "b"]);
  ask("");
  ask("");
  assert.deepEqual(made.slice(4), [""]);
});

Deno.test("answers kept in a map are made once for each key", () => {
  const made: object[] = [];
  const ask = memoizeIn(new WeakMap<object, number>(), (key) => made.push(key));
  const [a, b] = [{}, {}];
  assert.deepEqual([a, b, a, b].map(ask), [1, 2, 1, 2]);
  assert.deepEqual(made, [a, b]);
});
