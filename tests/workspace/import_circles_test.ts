import assert from "node:assert/strict";
import { circlesOf, importGraph } from "./import_circles.ts";
import { readSources } from "./sources.ts";

Deno.test({
  name: "importCircles the workspace has none, imports for types included",
  async fn() {
    const graph = importGraph(await readSources());
    const circles = circlesOf(graph).map((files) => files.join(" → "));
    assert.deepEqual(circles, []);
    assert.ok([...graph.values()].flat().length > 5_000, "imports were read");
  },
});

const GRAPHS: readonly { what: string; files: Record<string, string>; circles: string[] }[] = [
  { what: "a way down", files: { a: "b c", b: "c", c: "" }, circles: [] },
  { what: "two files", files: { a: "b", b: "a" }, circles: ["a b a"] },
  { what: "a file that imports itself", files: { a: "a" }, circles: ["a a"] },
  { what: "a file above a circle", files: { a: "b", b: "c", c: "b" }, circles: ["b c b"] },
  {
    what: "one group of circles once, by a shortest",
    files: { a: "b", b: "c", c: "a d", d: "b a" },
    circles: ["a b c a"],
  },
  {
    what: "circles side by side, one leading to the other",
    files: { a: "b", b: "a c", c: "d", d: "c" },
    circles: ["a b a", "c d c"],
  },
];

for (const { what, files, circles } of GRAPHS) {
  Deno.test({
    name: `circlesOf ${what}`,
    fn() {
      const graph = new Map(
        Object.entries(files).map(([file, targets]) => [file, targets.split(" ").filter(Boolean)]),
      );
      assert.deepEqual(circlesOf(graph).map((found) => found.join(" ")), circles);
    },
  });
}

Deno.test({
  name: "importGraph follows imports of values, of types, re-exports and those at run time",
  fn() {
    const sources = new Map([
      [
        "query/a.ts",
        'import { b } from "./b.ts";\nimport type { C } from "../shared/c.ts";\n' +
        'export { d } from "./d.ts";\nconst e = await import("./e.ts");\nimport pg from "pg";\n' +
        'type F = import("./f.ts").F;\n',
      ],
      ...["query/b.ts", "shared/c.ts", "query/d.ts", "query/e.ts", "query/f.ts"].map((
        file,
      ) => [file, ""] as const),
    ]);
    assert.deepEqual(importGraph(sources).get("query/a.ts"), [
      "query/b.ts",
      "shared/c.ts",
      "query/d.ts",
      "query/e.ts",
      "query/f.ts",
    ]);
  },
});
