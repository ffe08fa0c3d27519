/**
 * Whatever pages and comments refer to is there: files, pages and their headings. And nothing
 * refers to the documents that this service was first built to, which are not part of it.
 */

import assert from "node:assert/strict";
import { brokenReference, headingsOf, referencesOfPage, referencesOfSource } from "./links.ts";

const ROOT = new URL("../../", import.meta.url);
/** What an installation, a build or a running stack leaves in the workspace. */
const SKIPPED = /^(.*\/)?(node_modules|\.git)$|^(data|dist)$/;
/** These tell of files as they were called then: only their links must lead somewhere. */
const HISTORIES = /^(CHANGELOG\.md|docs\/measurements\/)/;

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
    const path = `${folder === "./" ? "" : folder}${entry.name}`;
    if (SKIPPED.test(path)) continue;
    if (entry.isDirectory) yield* filesBelow(`${path}/`);
    else yield path;
  }
}

const TREE = new Map<string, string>();
for await (const path of filesBelow("./")) {
  const isText = /\.(md|ts|json|proto|yml)$/.test(path);
  TREE.set(path, isText ? await Deno.readTextFile(new URL(path, ROOT)) : "");
}

function brokenIn(ending: ".md" | ".ts"): string[] {
  const references = ending === ".md" ? referencesOfPage : referencesOfSource;
  return [...TREE].filter(([path]) => path.endsWith(ending)).flatMap(([path, text]) =>
    references(text).flatMap((reference) => {
      if (reference.kind === "name" && HISTORIES.test(path)) return [];
      const why = brokenReference(path, reference, TREE);
      return why === undefined ? [] : [`${path}:${reference.line}: ${reference.target}: ${why}`];
    })
  );
}

Deno.test({
  name: "links every page's links and names of files lead somewhere",
  fn: () => {
    assert.ok(TREE.size > 1_000, "the workspace was read");
    assert.deepEqual(brokenIn(".md"), []);
  },
});

Deno.test({
  name: "links every file and page that a comment names is there",
  fn: () => assert.deepEqual(brokenIn(".ts"), []),
});

/** In parts, so that this file is none of those that it looks for. */
const ABSENT = new RegExp(
  ["SPEC", "DESIGN", "SHAPES", "CLIENTS"].map((name) => String.raw`\b${name}\.md\b`).join("|") +
    String.raw`|\bSPEC(?:'s|\s+\d)`,
);

Deno.test({
  name: "links no file cites a document that is not here",
  fn: () => {
    const citing = [...TREE].filter(([, text]) => ABSENT.test(text)).map(([path]) => path);
    assert.deepEqual(citing, []);
  },
});

const SMALL = new Map([
  ["docs/a.md", "# One & two\n\n## `x_y`: it's\n\n```\n# no heading\n```\n## One & two\n"],
  ["shared/engine/turns/turns.ts", ""],
  ["shared/engine/README.md", ""],
  ["ingest/sql_a.ts", ""],
]);

Deno.test({
  name: "headingsOf makes the anchors of a page",
  fn: () =>
    assert.deepEqual([...headingsOf(SMALL.get("docs/a.md") ?? "")], [
      "one--two",
      "x_y-its",
      "one--two-1",
    ]),
});

const CASES: readonly [string, from: string, text: string, broken: readonly string[]][] = [
  ["a link to a page", "shared/engine/README.md", "[a](../../docs/a.md#x_y-its)", []],
  ["a link into the web", "docs/a.md", "[a](https://a.example/b.md)", []],
  ["a link to a heading of its own page", "docs/a.md", "[a](#one--two)", []],
  ["a link from the root", "shared/engine/README.md", "[a](docs/a.md)", ["docs/a.md"]],
  ["a heading that is not there", "docs/a.md", "[a](a.md#no-heading)", ["a.md#no-heading"]],
  ["a name from a folder above", "shared/engine/README.md", "`turns/turns.ts`", []],
  ["a name without its folder", "shared/engine/README.md", "`turns.ts`", ["turns.ts"]],
  ["a name from the root", "docs/a.md", "see shared/engine/turns/turns.ts.", []],
  ["a folder", "docs/a.md", "`shared/engine/` and `shared/motor`", ["shared/motor"]],
  ["a pattern", "ingest/x.md", "`sql_….ts`, `csv_*.ts`", ["csv_*.ts"]],
  ["a pattern of the folder above", "shared/engine/x.md", "`../../ingest/sql_*.ts`", []],
  ["code in a fence", "docs/a.md", "```\n`gone.ts` [a](gone.md)\n```", []],
];

for (const [name, from, text, broken] of CASES) {
  Deno.test({
    name: `brokenReference ${name}`,
    fn: () => {
      const found = referencesOfPage(text)
        .filter((reference) => brokenReference(from, reference, SMALL) !== undefined);
      assert.deepEqual(found.map(({ target }) => target), broken);
    },
  });
}

Deno.test({
  name: "referencesOfSource reads comments alone",
  fn: () => {
    const lines = ['import "./gone.ts";', "see `a.ts`\n/** docs/b.md#c. */", 'const x = "`d.ts`";'];
    const source = `${lines[0]} ${"//"} ${lines[1]}\n${lines[2]}\n`;
    assert.deepEqual(referencesOfSource(source).map(({ target }) => target), [
      "a.ts",
      "docs/b.md#c",
    ]);
  },
});
