import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import { DATA_DIR_OPTION } from "../shared/config/process_options.ts";
import type { OptionTable } from "../shared/config/options.ts";
import { type CommandEntry, defineCommand } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { OutputClosed } from "./console.ts";
import { workspacePath } from "./permissions.ts";
import { runCommand } from "./run_command.ts";
import { RecordingConsole } from "./recording_console.ts";

const OPTIONS = { dataDir: DATA_DIR_OPTION } as const satisfies OptionTable;

const ENTRIES: readonly CommandEntry[] = [
  entry("echo", async (dataDir, operand, write) => await write(`${dataDir} ${operand}\n`)),
  entry("refuse", () => {
    throw new OperatingError("not_found", "Cannot find the thing: it is gone");
  }),
  entry("look", async (dataDir) => void await Deno.stat(`${dataDir}/below-a-file`)),
  entry("closed", () => {
    throw new OutputClosed();
  }),
  entry("status", () => Promise.resolve(7)),
];

function entry(
  name: string,
  act: (
    dataDir: string,
    operand: string | undefined,
    write: (text: string) => Promise<void>,
  ) => Promise<number | void>,
): CommandEntry {
  const command = defineCommand({
    options: OPTIONS,
    run: (settings, { operands, console }) =>
      act(settings.dataDir, operands[0], (text) => console.output.write(text)),
  });
  return { name, summary: `${name}s.`, operands: "[word]", load: () => Promise.resolve(command) };
}

const CASES: { argv: string[]; status: number; out?: RegExp; notes?: RegExp }[] = [
  { argv: ["echo", "hi"], status: 0, out: /^\.\/data hi\n$/ },
  { argv: ["echo", "--data-dir", "/d", "hi"], status: 0, out: /^\/d hi\n$/ },
  { argv: ["--data-dir", "/d", "echo", "hi"], status: 0, out: /^\/d hi\n$/ },
  { argv: ["--data-dir=/d", "echo", "hi"], status: 0, out: /^\/d hi\n$/ },
  { argv: ["status"], status: 7 },
  { argv: ["closed"], status: 0 },
  { argv: ["refuse"], status: 1, notes: /^svc: Cannot find the thing: it is gone\n$/ },
  {
    argv: ["look", "--data-dir", workspacePath("deno.json")],
    status: 1,
    notes: /^svc: Cannot run svc look: Not a directory .*deno\.json\/below-a-file'; look at .*\n$/,
  },
  { argv: [], status: 2, notes: /^Usage: svc/ },
  { argv: ["--help"], status: 0, out: /^Usage: svc[^]* {2}refuse {2}refuses\.\n/ },
  { argv: ["help", "echo"], status: 0, out: /^Usage: svc echo/ },
  { argv: ["echo", "--help"], status: 0, out: /^Usage: svc echo[^]*--data-dir <DATA_DIR>/ },
  { argv: ["--version"], status: 0, out: /^0\.2\.0\n$/ },
  { argv: ["ecoh"], status: 2, notes: /^svc: Cannot run the command "ecoh".*Did you mean echo\?/ },
  { argv: ["zzzzzz"], status: 2, notes: /^svc: Cannot run the command "zzzzzz"[^?]*$/ },
  {
    argv: ["--verbose", "echo"],
    status: 2,
    notes: /^svc: Cannot take --verbose before a command:/,
  },
  { argv: ["echo", "--data-di", "/d"], status: 2, notes: /^svc: .*Did you mean --data-dir\?/ },
  { argv: ["echo", "a", "b"], status: 2, notes: /^svc: .*too many arguments/ },
];

for (const { argv, status, out = /^$/, notes = /^$/ } of CASES) {
  Deno.test({
    name: `runCommand ${JSON.stringify(argv)} exits with ${status}`,
    fn: async () => {
      const console = new RecordingConsole();
      const got = await runCommand(argv, { commands: ENTRIES, console, env: () => undefined });
      assert.match(console.outputText, out);
      assert.match(console.notesText, notes);
      assert.equal(got, status);
    },
  });
}

Deno.test({
  name: "runCommand tells variables that no option reads, and runs the command",
  fn: async () => {
    const console = new RecordingConsole();
    const run = { commands: ENTRIES, console, env: () => undefined };
    const status = await runCommand(["echo", "hi"], { ...run, variables: ["SVC_CORS_ORIGIN"] });
    assert.match(console.notesText, /^svc: The variable SVC_CORS_ORIGIN is set.*SVC_CORS_ORIGINS/);
    assert.match(console.outputText, /hi/);
    assert.equal(status, 0);
  },
});

Deno.test({
  name: "runCommand throws on what is no operating error",
  fn: async () => {
    const bug = entry("bug", () => Promise.reject(new TypeError("a bug")));
    const console = new RecordingConsole();
    await assert.rejects(
      runCommand(["bug"], { commands: [bug], console, env: () => undefined }),
      TypeError,
    );
  },
});

for (const { name, load } of COMMANDS) {
  Deno.test({
    name: `svc ${name} --help lists each of its options`,
    fn: async () => {
      const console = new RecordingConsole();
      const argv = [name, "--help"];
      const run = { commands: COMMANDS, console, env: () => undefined };
      assert.equal(await runCommand(argv, run), 0);
      for (const spec of Object.values((await load()).options)) {
        assert.equal(console.outputText.includes(`--${spec.flag}`), spec.hidden !== true);
        assert.ok(spec.help.endsWith("."), `--${spec.flag}: help is a sentence`);
      }
    },
  });
}
