import assert from "node:assert/strict";
import webJson from "../../web/deno.json" with { type: "json" };
import testsJson from "../deno.json" with { type: "json" };
import { importsOf, refusedDenoCalls, refusedImport, SHARED_LAYERS } from "./import_rules.ts";
import { readSources } from "./sources.ts";

const SOURCES = await readSources();
// What the page loads is no package of a test: it runs in a browser.
const PACKAGES = new Set([testsJson, webJson].flatMap(({ imports }) => Object.keys(imports)));

Deno.test({
  name: "importGraph every arrow of the workspace points down",
  fn: () => {
    const wrong = [...SOURCES].flatMap(([file, source]) =>
      importsOf(source).flatMap((statement) => {
        const reason = refusedImport(file, statement, PACKAGES);
        return reason === undefined ? [] : [`${file}:${statement.line}: ${reason}`];
      })
    );
    assert.deepEqual(wrong, []);
    assert.ok(SOURCES.size > 30, "the workspace was read");
  },
});

Deno.test({
  name: "importGraph only shared/os and the named exceptions call Deno",
  fn: () => {
    const wrong = [...SOURCES].flatMap(([file, source]) =>
      refusedDenoCalls(file, source).map(({ line, member }) => `${file}:${line}: Deno.${member}`)
    );
    assert.deepEqual(wrong, []);
  },
});

Deno.test("importGraph CONTRIBUTING.md lists the layers of shared/ in their order", async () => {
  const page = await Deno.readTextFile(new URL("../../CONTRIBUTING.md", import.meta.url));
  const listed = /^\| `shared\/` \| .*lowest first: (.*) \|$/m.exec(page)?.[1]?.split(", ");
  assert.deepEqual(listed, SHARED_LAYERS);
});

const TYPES = { typeOnly: true };
const ARROWS: { from: string; to: string; typeOnly?: boolean; refused?: RegExp }[] = [
  { from: "shared/wal/lane.ts", to: "../os/clock.ts" },
  { from: "shared/wal/lane.ts", to: "./segment.ts" },
  {
    from: "shared/os/clock.ts",
    to: "../wal/lane.ts",
    refused: /shared\/os lies below shared\/wal/,
  },
  { from: "shared/iceberg/commit.ts", to: "../catalog/catalog.ts", ...TYPES },
  { from: "shared/iceberg/commit.ts", to: "../catalog/catalog.ts", refused: /lies below/ },
  { from: "shared/wal/lane.ts", to: "../catalog/catalog.ts", ...TYPES, refused: /lies below/ },
  { from: "ingest/main.ts", to: "../shared/wal/lane.ts" },
  { from: "ingest/mod.ts", to: "../query/mod.ts", refused: /ingest may not import query/ },
  { from: "ingest/mod.ts", to: "../proto/otlp.ts" },
  { from: "shared/schema/otlp.ts", to: "../../proto/otlp.ts" },
  { from: "shared/schema/otlp.ts", to: "../../ingest/mod.ts", refused: /may not import ingest/ },
  { from: "web/main.tsx", to: "../shared/search/parse_search.ts" },
  { from: "web/main.tsx", to: "../query/mod.ts", refused: /web may not import query/ },
  { from: "query/mod.ts", to: "../web/main.tsx", refused: /query may not import web/ },
  { from: "proto/otlp.ts", to: "../shared/base/bytes.ts", refused: /proto imports nothing/ },
  { from: "cli/commands/dev.ts", to: "../../query/mod.ts" },
  { from: "cli/commands/dev.ts", to: "../../query/routes.ts", refused: /only door/ },
  { from: "query/mod.ts", to: "../cli/console.ts", refused: /query may not import cli/ },
  { from: "query/mod.ts", to: "../shared/testing/fake_clock.ts", refused: /is for tests/ },
  { from: "query/mod_test.ts", to: "../shared/testing/fake_clock.ts" },
  { from: "query/mod.ts", to: "./mod_test.ts", refused: /is for tests/ },
  { from: "query/mod.ts", to: "hono/cors" },
  { from: "query/mod.ts", to: "@duckdb/node-api" },
  { from: "query/mod.ts", to: "node:sqlite" },
  { from: "query/mod.ts", to: "jsr:@std/fs", refused: /neither in the imports/ },
  { from: "query/mod.ts", to: "left-pad", refused: /neither in the imports/ },
];

for (const { from, to, typeOnly = false, refused } of ARROWS) {
  Deno.test({
    name: `refusedImport ${refused ? "refuses" : "allows"} ${from} → ${to}${
      typeOnly ? " (type)" : ""
    }`,
    fn: () => {
      const reason = refusedImport(from, { specifier: to, line: 1, typeOnly }, PACKAGES);
      if (refused === undefined) assert.equal(reason, undefined);
      else assert.match(reason ?? "allowed", refused);
    },
  });
}

Deno.test({
  name: "importsOf finds each form with its line and whether it is for types",
  fn: () => {
    const source = [
      `import { a } from "./a.ts";`,
      `import type { B } from "./b.ts";`,
      `import { type C, type D } from "./c.ts";`,
      `import {`,
      `  type E,`,
      `  f,`,
      `} from "./e.ts";`,
      `import * as g from "g";`,
      `import h, { i } from "h";`,
      `import "./side.ts";`,
      `export * from "./j.ts";`,
      `export { k } from "./k.ts";`,
      `const l = await import("./l.ts");`,
      `// import { no } from "./no.ts";`,
      `const text = 'not from "./no.ts"';`,
    ].join("\n");
    const found = importsOf(source).map(({ specifier, line, typeOnly }) =>
      `${line} ${specifier}${typeOnly ? " type" : ""}`
    );
    assert.deepEqual(found, [
      "1 ./a.ts",
      "2 ./b.ts type",
      "3 ./c.ts type",
      "4 ./e.ts",
      "8 g",
      "9 h",
      "10 ./side.ts",
      "11 ./j.ts",
      "12 ./k.ts",
      "13 ./l.ts",
    ]);
  },
});

Deno.test({
  name: "refusedDenoCalls names the line of a call outside shared/os",
  fn: () => {
    const source =
      "// Deno.open\nconst x = 1;\nawait Deno.open(path);\nthrow new Deno.errors.NotFound();";
    assert.deepEqual(refusedDenoCalls("shared/wal/lane.ts", source), [{ line: 3, member: "open" }]);
    assert.deepEqual(refusedDenoCalls("shared/os/deno_file_system.ts", source), []);
    assert.deepEqual(refusedDenoCalls("shared/wal/lane_test.ts", source), []);
    assert.deepEqual(refusedDenoCalls("cli/main.ts", "Deno.args; Deno.serve(f);"), [
      { line: 1, member: "serve" },
    ]);
  },
});
