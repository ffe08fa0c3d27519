import assert from "node:assert/strict";
import { ByteBudget } from "./byte_budget.ts";

Deno.test("ByteHold.reserve is used up by grow before more is taken, and settle gives back the rest", () => {
  const budget = new ByteBudget(1_000);
  using hold = budget.hold();
  hold.reserve(300);
  assert.equal(budget.used, 300);
  hold.grow(200);
  assert.equal(budget.used, 300);
  hold.grow(150);
  assert.equal(budget.used, 350);
  hold.reserve(100);
  hold.settle();
  hold.settle();
  assert.equal(budget.used, 350);
  hold[Symbol.dispose]();
  assert.equal(budget.used, 0);
});

Deno.test("ByteHold.reserve takes half of the budget at most, and refuses what does not fit beside others", () => {
  const budget = new ByteBudget(1_000);
  using first = budget.hold();
  first.reserve(5_000);
  assert.equal(budget.used, 500);
  using second = budget.hold();
  second.grow(100);
  second.reserve(5_000);
  assert.equal(
    budget.used,
    1_000,
    "a request has something before it reserves: two fit all the same",
  );
  using third = budget.hold();
  assert.throws(() => third.reserve(5_000), { code: "unavailable", retryAfterSecs: 1 });
  second[Symbol.dispose]();
  third.grow(100);
  assert.throws(() => first.grow(950), { code: "unavailable" });
  first.grow(900);
  first.reserve(5_000);
  assert.equal(budget.used, 1_000);
});

Deno.test("a shared ByteBudget gives several holds of an owner half of what others leave", () => {
  const budget = new ByteBudget(1_000, { isShared: true });
  const holds = (owner: string, bytes: number) => {
    const hold = budget.hold(owner);
    hold.grow(bytes);
    return hold;
  };
  const [first, second] = [holds("a", 300), holds("a", 200)];
  assert.throws(() => holds("a", 1), { code: "unavailable", reason: "bodies_in_flight" });
  assert.throws(() => second.grow(1), { code: "unavailable" });
  const third = holds("b", 250);
  assert.throws(() => holds("b", 1), { code: "unavailable" });
  third[Symbol.dispose]();
  // All that is free is for a tenant's only hold.
  const fourth = holds("b", 500);
  assert.throws(() => holds("c", 1), { code: "unavailable" });
  for (const hold of [first, second, fourth]) hold[Symbol.dispose]();
  assert.equal(budget.used, 0);
  holds("a", 400);
  holds("a", 100);
  assert.throws(
    () => holds("a", 1),
    { code: "unavailable" },
    "it has nothing of what it gave back",
  );
});

Deno.test("a ByteBudget that is not shared has no part for an owner", () => {
  const budget = new ByteBudget(1_000);
  using first = budget.hold();
  first.belongTo("a");
  first.grow(500);
  using second = budget.hold("a");
  second.grow(500);
  assert.equal(budget.used, 1_000);
});
