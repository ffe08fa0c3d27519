import assert from "node:assert/strict";
import { pageBlocks } from "./page_blocks.ts";
import { shownPattern } from "./shown_output.ts";

const PAGE = `
\`\`\`console
$ echo 'one
  two' \\
    three   # a remark
one
two three
$ true
\`\`\`

<!-- not run: it needs another machine -->
\`\`\`sh
ssh elsewhere
\`\`\`

<!-- run by tests/docs/page_blocks_test.ts -->

\`\`\`console
$ false
\`\`\`

\`\`\`yaml
- item
\`\`\`
`;

Deno.test({
  name: "pageBlocks() reads commands, their outputs and why a block is not run",
  fn: () => {
    assert.deepEqual(pageBlocks(PAGE), [
      {
        mark: { kind: "run" },
        commands: [
          {
            text: "echo 'one\n  two' \\\n    three   # a remark",
            output: "one\ntwo three",
            line: 3,
          },
          { text: "true", output: "", line: 8 },
        ],
        line: 2,
      },
      {
        mark: { kind: "not_run", reason: "it needs another machine" },
        commands: [{ text: "ssh elsewhere", output: "…", line: 13 }],
        line: 12,
      },
      {
        mark: { kind: "elsewhere", file: "tests/docs/page_blocks_test.ts" },
        commands: [{ text: "false", output: "", line: 19 }],
        line: 18,
      },
    ]);
  },
});

const BROKEN: readonly (readonly [name: string, page: string, fault: RegExp])[] = [
  ["a fence that is never closed", "```sh\ntrue", /never closed/],
  ["a reason of no words", "<!-- not run: no -->\n```sh\ntrue\n```", /a mark that is none/],
  ["another comment", "<!-- later -->\n```sh\ntrue\n```", /a mark that is none/],
  ["output before a command", "```console\nthere\n$ true\n```", /output without a command/],
  ["a command in a fence of text", "```text\n$ true\n```", /none of commands/],
  ["a command in a fence of nothing", "```\n$ true\n```", /none of commands/],
];

for (const [name, page, fault] of BROKEN) {
  Deno.test({
    name: `pageBlocks() refuses ${name}`,
    fn: () => assert.throws(() => pageBlocks(page), fault),
  });
}

const SHOWN: readonly (readonly [shown: string, printed: string, isSame: boolean])[] = [
  ["{}", "{}\n", true],
  ["{}", '{"partialSuccess":{}}', false],
  ["hello   |  12", "hello | 3\n", true],
  ["hello   |  12", "hallo | 12\n", false],
  ["hello   |  12", "hello | 12\nand more\n", false],
  ["hello\n…\nend", "hello\nand more\nend", true],
  ["hello\n…\nend", "hello\nand more", false],
  ["n\n---+----\n1 | 2", "n\n-------+-\n1000 | 2\n", true],
  ["1 row · scan · 96.0 ms server · 6.3 KiB", "12 rows · scan · 1.2 s server · 700 B", true],
  ["1 row · scan · 96.0 ms server", "1 row · tier1_inline · 96.0 ms server", false],
  ["2026-11-21T00:14:11.000000Z", "2027-01-02T03:04:05.678901Z", true],
  ["2026-11-21T00:14:11.000000Z", "yesterday", false],
  [
    "job 6e1fcd38-4b0c-4a0b-9d0e-6a3b6f6f2b11",
    "job 0193a8b4-7c1d-7f3e-8a5b-1c2d3e4f5a6b",
    true,
  ],
  ['{"a":1,\n"b":[2]}', '{"a":10,"b":[20]}', true],
  ['{"a":1}', '{"b":1}', false],
  ["", "", true],
];

for (const [shown, printed, isSame] of SHOWN) {
  Deno.test({
    name: `${JSON.stringify(shown)} shows ${isSame ? "" : "not "}what ${
      JSON.stringify(printed)
    } is`,
    fn: () => assert.equal(shownPattern(shown).test(printed), isSame),
  });
}
