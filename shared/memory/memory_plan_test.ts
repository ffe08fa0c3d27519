import assert from "node:assert/strict";
import { memoryTable } from "../testing/memory_table.ts";
import { type MemoryPart, planMemory, UNKNOWN_LIMIT_BYTES } from "./memory_plan.ts";

const MIB = 1024 ** 2;
const PARTS = {
  own: { what: "the process", base: 100 * MIB },
  pool: { what: "a pool", share: 3, min: 30 * MIB },
  cache: { what: "a cache", share: 1, max: 64 * MIB },
} as const satisfies Readonly<Record<string, MemoryPart>>;
type Part = keyof typeof PARTS;

const CASES: readonly {
  readonly what: string;
  readonly limit: number;
  readonly given?: { readonly [K in Part]?: number };
  /** MiB of own, pool, cache, and of the excess. */
  readonly expected: readonly [number, number, number, number];
}[] = [
  { what: "shares divide what bases leave", limit: 200, expected: [100, 75, 25, 0] },
  { what: "a maximum holds", limit: 1_100, expected: [100, 750, 64, 0] },
  { what: "a minimum wins over the limit", limit: 110, expected: [100, 30, 0, 20] },
  { what: "bases alone may exceed it", limit: 50, expected: [100, 30, 0, 80] },
  {
    what: "what is given to a part is not divided",
    limit: 200,
    given: { pool: 80 * MIB },
    expected: [100, 80, 20, 0],
  },
  {
    what: "what is given may exceed the limit",
    limit: 200,
    given: { pool: 300 * MIB },
    expected: [100, 300, 0, 200],
  },
  { what: "a given base replaces it", limit: 200, given: { own: 0 }, expected: [0, 150, 50, 0] },
];

for (const { what, limit, given = {}, expected } of CASES) {
  Deno.test(`planMemory: ${what}`, () => {
    const plan = planMemory<Part>(PARTS, { limitBytes: limit * MIB, given });
    const { own, pool, cache } = plan.bytes;
    assert.deepEqual([own, pool, cache, plan.excessBytes].map((bytes) => bytes / MIB), expected);
  });
}

Deno.test("planMemory takes a limit of its own where none is known", () => {
  const { limitBytes } = planMemory<Part>(PARTS, { limitBytes: Infinity });
  assert.equal(limitBytes, UNKNOWN_LIMIT_BYTES);
});

Deno.test("memoryTable has a row a part and a column a plan", () => {
  const plans = [200, 1_024].map((mib) => planMemory<Part>(PARTS, { limitBytes: mib * MIB }));
  assert.deepEqual(memoryTable<Part>(PARTS, plans).split("\n"), [
    "| Part | What it is | of 200 MiB | of 1 GiB |",
    "|---|---|---:|---:|",
    "| `own` | the process | 100 MiB | 100 MiB |",
    "| `pool` | a pool | 75 MiB | 693 MiB |",
    "| `cache` | a cache | 25 MiB | 64 MiB |",
  ]);
});
