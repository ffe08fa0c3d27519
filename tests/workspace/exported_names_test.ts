import assert from "node:assert/strict";
import { readSources } from "./sources.ts";

/** Names that say the same of two variants, which stand in no file together. */
const VARIANTS: ReadonlyMap<string, readonly string[]> = new Map(
  ["CATALOG_VERSION", "ensureSchema"].map((name) => [
    name,
    ["shared/catalog/postgres_schema.ts", "shared/catalog/sqlite_schema.ts"],
  ]),
);

Deno.test({
  name:
    "exportedNames in shared each name is declared by one file: give the second a name of its own",
  async fn() {
    const files = new Map<string, string[]>();
    for (const [file, source] of await readSources()) {
      if (!/^shared\/(?!testing\/).*(?<!_test)\.ts$/.test(file)) continue;
      for (const name of exportedNames(source)) {
        files.set(name, [...files.get(name) ?? [], file]);
      }
    }
    const twice = [...files].filter(([, of]) => of.length > 1).map(([name, of]) =>
      [name, of.toSorted()] as const
    );
    assert.deepEqual(new Map(twice), VARIANTS);
    assert.ok(files.size > 1_000, "exports were read");
  },
});

Deno.test({
  name: "exportedNames finds each kind of declaration once, overloads too",
  fn() {
    const source = [
      "export const A = 1;",
      "export function b(x: string): void;",
      "export function b(x: unknown): void {}",
      "export async function* c() {}",
      "export abstract class D {}",
      "export interface E {}",
      "export type F = string;",
      'export { g } from "./g.ts";',
      "const h = 1;",
    ].join("\n");
    assert.deepEqual(exportedNames(source), ["A", "b", "c", "D", "E", "F"]);
  },
});

function exportedNames(source: string): string[] {
  const declarations = source.matchAll(
    /^export (?:async |abstract )*(?:const|let|function|class|interface|type)\*? (\w+)/gm,
  );
  return [...new Set([...declarations].map(([, name = ""]) => name))];
}
