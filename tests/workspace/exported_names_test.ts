import assert from "node:assert/strict";
import { resolveImport } from "./import_rules.ts";
import { readSources } from "./sources.ts";

/** Names that say the same of two variants, which stand in no file together. */
const VARIANTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["ensureSchema", ["shared/catalog/postgres_schema.ts", "shared/catalog/sqlite_schema.ts"]],
]);

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
  name:
    "exportedNames each value is imported by another file: what a file has for itself stays there",
  async fn() {
    const sources = await readSources();
    const imported = new Set([...sources].flatMap(([file, source]) => importedNames(file, source)));
    const exported = [...sources].flatMap(([file, source]) =>
      /_test\.tsx?$|^tests\//.test(file)
        ? []
        : exportedValues(source).map((name) => `${file} ${name}`)
    );
    const unused = exported.filter((one) => {
      const [file] = one.split(" ");
      return !imported.has(one) && !imported.has(`${file} *`);
    });
    assert.deepEqual(unused, []);
    assert.ok(exported.length > 2_000, "exports were read");
  },
});

Deno.test({
  name: "importedNames finds names, aliases, names that are passed on, and whole files",
  fn() {
    const source = [
      'import { a, type B, c as d } from "./x.ts";',
      'import type { E } from "../y.ts";',
      'export { f } from "./x.ts";',
      'import * as all from "./z.ts";',
      'const late = await import("./w.ts");',
      'import { g } from "package";',
    ].join("\n");
    assert.deepEqual(importedNames("p/q/r.ts", source), [
      ...["p/q/x.ts a", "p/q/x.ts B", "p/q/x.ts c", "p/y.ts E", "p/q/x.ts f"],
      ...["p/q/z.ts *", "p/q/w.ts *"],
    ]);
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

function exportedValues(source: string): string[] {
  const declarations = source.matchAll(
    /^export (?:async |abstract )*(?:const|let|function|class)\*? (\w+)/gm,
  );
  return [...new Set([...declarations].map(([, name = ""]) => name))];
}

/** What `file` imports of other files: each as the path and the name there, `*` for all names. */
function importedNames(file: string, source: string): string[] {
  const named = [...source.matchAll(/\{([^{}]*)\}\s*from\s*"(\.[^"]+)"/g)];
  const whole = [...source.matchAll(/(?:\* as \w+ from|\* from|import\()\s*"(\.[^"]+)"/g)];
  return [
    ...named.flatMap(([, names = "", from = ""]) =>
      [...names.matchAll(/(?:type )?(\w+)(?: as \w+)?(?:,|\s*$)/g)].map(([, name]) =>
        `${resolveImport(file, from)} ${name}`
      )
    ),
    ...whole.map(([, from = ""]) => `${resolveImport(file, from)} *`),
  ];
}
