/** Which attributes are hot, of what statements read on each day. */

import assert from "node:assert/strict";
import type { AttributeReads } from "../engine/plan/promoted_attributes.ts";
import { type AttributeDemand, demandOf, hotAttributes } from "./hot_attributes.ts";

const demand = (
  statements: number,
  attribute = "status",
  tenant = "default",
): AttributeDemand => ({ tenant, table: "events", attribute, statements });

const CASES: readonly [name: string, days: AttributeDemand[][], expected: string[]][] = [
  ["nothing was asked", [[], [], []], []],
  ["a hundred statements on three days", [[demand(40)], [], [demand(30)], [demand(30)]], [
    "status 100 3",
  ]],
  ["one statement fewer", [[demand(40)], [demand(30)], [demand(29)]], []],
  ["many on two days", [[demand(9_000)], [demand(9_000)]], []],
  [
    "two tenants do not add up",
    [0, 1, 2].map(() => [demand(20, "status", "a"), demand(20, "status", "b")]),
    [],
  ],
  [
    "the most wanted first, then by name",
    [0, 1, 2].map(() => [demand(40, "b"), demand(50, "c"), demand(40, "a")]),
    ["c 150 3", "a 120 3", "b 120 3"],
  ],
];

for (const [name, days, expected] of CASES) {
  Deno.test(`hotAttributes: ${name}`, () => {
    const hot = hotAttributes(days).map(({ attribute, statements, days }) =>
      `${attribute} ${statements} ${days}`
    );
    assert.deepEqual(hot, expected);
  });
}

Deno.test("demandOf counts each statement as often as it was sent, and names that can be columns alone", () => {
  const reads = (...attributes: string[]): AttributeReads => ({
    table: "events",
    attributes: new Set(attributes),
  });
  const statements = new Map([["one", 3], ["two", 4], ["three", 5], ["four", 6]]);
  const found = demandOf("default", statements, [
    reads("status", 'quoted "name"', "", "x".repeat(129), "1st", "né"),
    undefined,
    reads("http.status", "status"),
    { table: "logs", attributes: new Set(["status"]) },
  ]);
  assert.deepEqual(found, [
    demand(8),
    demand(5, "http.status"),
    { ...demand(6), table: "logs" },
  ]);
});

Deno.test("demandOf counts so many attributes of a day and no more", () => {
  const names = Array.from({ length: 10_050 }, (_, at) => `a${at}`);
  const reads = [
    { table: "events", attributes: new Set(names) },
    { table: "events", attributes: new Set(["a0", "a10001"]) },
  ];
  const found = demandOf("default", new Map([["one", 1], ["two", 1]]), reads);
  assert.equal(found.length, 10_000);
  assert.deepEqual(found[0], demand(2, "a0"));
});
