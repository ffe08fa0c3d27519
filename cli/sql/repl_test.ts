import { strict as assert } from "node:assert";
import { PassThrough } from "node:stream";
import { onlyAborted } from "../../tests/doubles/fake_engine.ts";
import { startTestServer } from "../../tests/doubles/query_server.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { until } from "../../shared/testing/until.ts";
import { RecordingConsole } from "../recording_console.ts";
import { SqlClient } from "./client.ts";
import { History } from "./history.ts";
import { runRepl } from "./repl.ts";

const CTRL_C = "\x03";
const CTRL_D = "\x04";
const UP = "\x1b[A";

interface Typist {
  readonly console: RecordingConsole;
  readonly statements: readonly string[];
  readonly hasEnded: boolean;
  type(keys: string): Promise<void>;
  /** Waits until `holds`; where it does not, the test fails with what the REPL said. */
  until(what: string, holds: () => boolean): Promise<void>;
}

/**
 * Runs a REPL over an engine that answers one row, and hangs on `slow`; ends it with Ctrl-D after
 * `test`.
 */
async function withRepl(test: (typist: Typist) => Promise<void>): Promise<void> {
  await using server = await startTestServer({
    rows: [7],
    onChunk: (_at, request) => request.sql.includes("slow") ? onlyAborted(request) : undefined,
  });
  const input = new PassThrough();
  const screen = new PassThrough().resume();
  const console = new RecordingConsole();
  const statements = () => server.engine.requests.map((request) => request.sql);
  let hasEnded = false;
  const ended = runRepl({
    client: new SqlClient({ endpoint: server.url }),
    console,
    input,
    screen,
    history: new History(new DenoFileSystem(), undefined),
    edit: (text) => Promise.resolve(text === "" ? undefined : `${text.replace(";", "")} edited;`),
    clock: new SystemClock(),
    format: "ndjson",
    dryRun: false,
    quiet: false,
    endpoint: server.url,
  }).then(() => hasEnded = true);
  await test({
    console,
    get statements() {
      return statements();
    },
    get hasEnded() {
      return hasEnded;
    },
    async type(keys) {
      input.write(keys);
      await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async until(what, holds) {
      await until(holds).catch(() => assert.fail(`not so: ${what}; notes: ${console.notesText}`));
    },
  });
  input.write(CTRL_D);
  await ended;
}

Deno.test({
  name: "runRepl joins lines up to the semicolon, and times each statement",
  fn: () =>
    withRepl(async ({ type, until, console }) => {
      await type("SELECT ';',\r");
      await type("  n FROM t; SELECT 2;\r");
      await until("two answers", () => console.outputText === '{"n":7}\n{"n":7}\n');
      await until("two times", () => console.notesText.match(/^time [\d.]+ ms$/gm)?.length === 2);
    }),
});

Deno.test({
  name: "runRepl sends statements as typed, and Up brings the last line back",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("SELECT ';',\r");
      await typist.type("  n;\r");
      await typist.until("one answer", () => typist.statements.length === 1);
      await typist.type("SELECT 2;\r");
      await typist.until("two answers", () => typist.statements.length === 2);
      await typist.type(`${UP}\r`);
      await typist.until("three answers", () => typist.statements.length === 3);
      assert.deepEqual(typist.statements, ["SELECT ';',\n  n", "SELECT 2", "SELECT 2"]);
    }),
});

Deno.test({
  name: "runRepl: Ctrl-C stops a running statement, and clears what was typed",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("SELECT slow;\r");
      await typist.until("the statement runs", () => typist.statements.length === 1);
      await typist.type(CTRL_C);
      await typist.until("told", () => typist.console.notesText.includes("error: Query cancelled"));
      await typist.type("SELECT open,\r");
      await typist.type(`half a line${CTRL_C}`);
      await typist.type("SELECT 3;\r");
      await typist.until("an answer", () => typist.statements.length === 2);
      assert.equal(typist.statements[1], "SELECT 3");
    }),
});

Deno.test({
  name: "runRepl obeys its backslash commands, also between the lines of a statement",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("SELECT\r");
      await typist.type("\\format table\r");
      await typist.type("1;\r");
      await typist.until("a table", () => typist.console.outputText === "n\n-\n7\n");
      const cases: [string, RegExp][] = [
        ["\\format xml", /error: cannot use \\format "xml": give table, json, ndjson/],
        ["\\nope", /error: there is no command \\nope/],
        ["\\timing", /timing is off/],
        ["\\timing on", /timing is on/],
        ["\\x maybe", /error: cannot use \\x "maybe": give auto, on, off/],
        ["\\?", /\\format table\|json\|ndjson/],
      ];
      for (const [line, notes] of cases) {
        await typist.type(`${line}\r`);
        await typist.until(line, () => notes.test(typist.console.notesText));
      }
    }),
});

Deno.test({
  name: "runRepl edits what was typed or run last, and takes it as typed",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("SELECT 1;\r");
      await typist.until("one answer", () => typist.statements.length === 1);
      await typist.type("\\e\r");
      await typist.until("two answers", () => typist.statements.length === 2);
      await typist.type("SELECT open\r\\e\r");
      await typist.until("three answers", () => typist.statements.length === 3);
      assert.deepEqual(typist.statements, ["SELECT 1", "SELECT 1 edited", "SELECT open edited"]);
    }),
});

Deno.test({
  name: "runRepl watches a statement until Ctrl-C",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("\\watch\r");
      await typist.until("told", () => /no statement to watch/.test(typist.console.notesText));
      await typist.type("SELECT 5;\r\\watch 0.01\r");
      await typist.until("four answers", () => typist.statements.length >= 4);
      await typist.type(CTRL_C);
      await typist.type("SELECT 6;\r");
      await typist.until("it goes on", () => typist.statements.at(-1) === "SELECT 6");
      assert.match(typist.console.notesText, /Z \(every 0\.01 s\)\n/);
      await typist.type("\\watch soon\r");
      await typist.until(
        "refused",
        () => /cannot use \\watch "soon"/.test(typist.console.notesText),
      );
    }),
});

Deno.test({
  name: "runRepl shows tables and columns by statements of the catalog",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("\\dt\r\\d svc.Events\r");
      await typist.until("two answers", () => typist.statements.length === 2);
      assert.match(typist.statements[0] ?? "", /FROM information_schema\.tables/);
      assert.match(typist.statements[1] ?? "", /WHERE c\.relname = 'events'/);
    }),
});

Deno.test({
  name: "runRepl ends at \\q",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("\\q\r");
      await typist.until("it ended", () => typist.hasEnded);
    }),
});

Deno.test({
  name: "runRepl takes help and exit as words, but not within a statement",
  fn: () =>
    withRepl(async (typist) => {
      await typist.type("help\r");
      await typist.until("the help", () => typist.console.notesText.includes("Ctrl-C stops"));
      await typist.type("SELECT\rexit\r;\r");
      await typist.until("an answer", () => typist.console.outputText === '{"n":7}\n');
      assert.match(typist.statements[0] ?? "", /SELECT\s+exit/);
    }),
});

for (const word of ["exit", "QUIT;"]) {
  Deno.test({
    name: `runRepl ends with ${word}`,
    fn: () =>
      withRepl(async (typist) => {
        await typist.type(`${word}\r`);
        await typist.until("the end", () => typist.hasEnded);
      }),
  });
}
