/**
 * Comments, pages and help texts keep the rules of `prose_rules.ts`. What a program cannot judge (a
 * subject in each sentence, one word for one thing) is for the reviewer of a change:
 * `docs/GLOSSARY.md` has the words.
 */

import assert from "node:assert/strict";
import { COMMANDS } from "../../cli/commands.ts";
import { METRICS as COMPACTOR_METRICS } from "../../compactor/metrics.ts";
import { OPTIONS as COMPACTOR } from "../../compactor/mod.ts";
import { METRICS as INGEST_METRICS, OPTIONS as INGEST } from "../../ingest/mod.ts";
import { METRICS as QUERY_METRICS, OPTIONS as QUERY } from "../../query/mod.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import type { MetricTable } from "../../shared/metrics/table.ts";
import {
  commentsOf,
  type Prose,
  proseFaults,
  proseOfPage,
  wideComments,
  wideLinesOfPage,
} from "./prose_rules.ts";

const ROOT = new URL("../../", import.meta.url);
const SKIPPED = new Set(["node_modules", ".git", "data", "dist"]);

async function* textFiles(folder = ""): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
    if (SKIPPED.has(entry.name)) continue;
    const path = `${folder}${entry.name}`;
    if (entry.isDirectory) yield* textFiles(`${path}/`);
    else if (/\.(ts|md)$/.test(path)) yield path;
  }
}

const FAULTS = new Map<string, string[]>();
for await (const file of textFiles()) {
  FAULTS.set(file, faultsOf(file, await Deno.readTextFile(new URL(file, ROOT))));
}

function faultsOf(file: string, text: string): string[] {
  const isPage = file.endsWith(".md");
  const prose = isPage ? proseOfPage(text) : commentsOf(text);
  const wide = isPage ? wideLinesOfPage(text) : wideComments(text);
  return [
    ...prose.flatMap((one) =>
      proseFaults(one.text).map((fault) => `${file}:${one.line}: ${fault}`)
    ),
    ...wide.map((line) => `${file}:${line}: the line is too wide`),
  ];
}

Deno.test({
  name: "prose of comments and pages keeps the rules",
  fn: () => {
    assert.deepEqual([...FAULTS.values()].flat(), []);
    assert.ok(FAULTS.size > 1_000, "the workspace was read");
  },
});

const HELP = await helpTexts();

async function helpTexts(): Promise<{ of: string; text: string }[]> {
  const commands = await Promise.all(COMMANDS.map(async (entry) => ({
    entry,
    options: (await entry.load()).options,
  })));
  const options: readonly OptionTable[] = [
    INGEST,
    COMPACTOR,
    QUERY,
    ...commands.map((one) => one.options),
  ];
  const metrics: readonly MetricTable[] = [INGEST_METRICS, COMPACTOR_METRICS, QUERY_METRICS];
  return [
    ...commands.map(({ entry }) => ({ of: `svc ${entry.name}`, text: entry.summary })),
    ...options.flatMap(Object.values).map(({ flag, help }) => ({ of: `--${flag}`, text: help })),
    ...metrics.flatMap(Object.values).map(({ name, help }) => ({ of: name, text: help })),
  ];
}

Deno.test({
  name: "help of options, commands and metrics keeps the rules",
  fn: () => {
    const wrong = HELP.flatMap(({ of, text }) =>
      proseFaults(text).map((fault) => `${of}: ${fault}`)
    );
    assert.deepEqual([...new Set(wrong)], []);
    assert.ok(HELP.length > 200, "the tables were read");
  },
});

const LONG = `It ${"really ".repeat(28)}runs`;

const JUDGED: readonly (readonly [text: string, fault: RegExp | undefined])[] = [
  ["Rows of the batch.", undefined],
  ["Of the batch.", /begins with "Of"/],
  ["Those of the batch.", /begins with "Those"/],
  ["The same for the batch.", /begins with "The same"/],
  ["As the batch has them.", /begins with "As"/],
  ["Reads a batch. Of its rows the first.", /a sentence begins with "Of"/],
  ["Ask the batch. Offsets follow. Thosewise.", undefined],
  ["Opens the SQL engine.", /DuckDB/],
  [`${LONG} on.`, /31 words/],
  [`${LONG}.`, /30 words/],
  [`${LONG.replace("really ", "")}.`, undefined],
  [`${LONG.replace("really ", "")}. And ${LONG.replace("It really ", "it ")}.`, /30 words/],
  ["It reads `a b c` and [a page](of/many words) [twice](x).", undefined],
];

for (const [text, fault] of JUDGED) {
  Deno.test({
    name: `proseFaults ${fault ? "finds" : "allows"} ${text.slice(0, 40)} (${text.length})`,
    fn: () => {
      const found = proseFaults(text);
      if (fault === undefined) assert.deepEqual(found, []);
      else assert.match(found.join("\n"), fault);
    },
  });
}

Deno.test({
  name: "commentsOf finds blocks, lines and comments behind code, paragraph by paragraph",
  fn: () => {
    const source = [
      "/**",
      " * A header of",
      " * two lines.",
      " *",
      " * Another paragraph:",
      " * - an item",
      " *   that goes on",
      " */",
      "/** One line. */",
      "const a = 1; // behind code",
      "  // two lines",
      "  // of one comment",
      "const b = 'https://example.org/no';",
      "// deno-lint-ignore no-console",
    ].join("\n");
    const lines = ({ line, text }: Prose) => `${line} ${text}`;
    assert.deepEqual(commentsOf(source).map(lines), [
      "2 A header of two lines.",
      "5 Another paragraph:",
      "6 an item that goes on",
      "9 One line.",
      "10 behind code",
      "11 two lines of one comment",
    ]);
  },
});

Deno.test({
  name: "proseOfPage skips tables, code and headings, and wideLinesOfPage tables and code",
  fn: () => {
    const wide = "word ".repeat(25);
    const page = [
      "# Heading",
      "A paragraph",
      "of two lines.",
      "",
      "- an item",
      "  goes on",
      "1. another",
      "",
      `| ${wide} |`,
      "```",
      wide,
      "```",
      wide,
      `- https://example.org/${"x".repeat(100)}`,
    ].join("\n");
    assert.deepEqual(proseOfPage(page).slice(0, 3).map(({ line, text }) => `${line} ${text}`), [
      "2 A paragraph of two lines.",
      "5 an item goes on",
      "7 another",
    ]);
    assert.deepEqual(wideLinesOfPage(page), [13]);
  },
});

Deno.test({
  name: "wideComments finds lines of comments past 100 columns, not of code",
  fn: () => {
    const wide = "word ".repeat(25);
    assert.deepEqual(wideComments(`// ${wide}\nconst a = "${wide}";\n/**\n * ${wide}\n */`), [
      1,
      4,
    ]);
  },
});
