import assert from "node:assert/strict";
import { RecordingConsole } from "../recording_console.ts";
import { runCommand } from "../run_command.ts";
import { COMMANDS } from "../commands.ts";
import { parseRfc3339Ns } from "../../shared/base/time.ts";

async function gen(...argv: string[]): Promise<{ status: number; console: RecordingConsole }> {
  const console = new RecordingConsole();
  const run = { commands: COMMANDS, console, env: () => undefined };
  return { status: await runCommand(["gen", ...argv], run), console };
}

Deno.test({
  name: "gen prints as many JSON objects as asked, ascending in time, from --start",
  fn: async () => {
    const { console } = await gen("--n", "1000", "--start", "2026-01-31T12:00:00Z");
    const lines = console.outputText.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.equal(events.length, 1000);
    const times = events.map((event) => parseRfc3339Ns(String(event["timestamp"])) ?? 0n);
    assert.equal(times[0], 1_769_860_800_000_000_000n);
    assert.ok(times.every((time, at) => at === 0 || time > (times[at - 1] ?? time)));
    for (const name of ["host", "source", "sourcetype", "message", "severity_text"]) {
      assert.ok(events.every((event) => typeof event[name] === "string"), name);
    }
    assert.ok(new Set(events.map((event) => event["source"])).size >= 5);
  },
});

Deno.test({
  name: "gen repeats itself for the same seed and start, and only then",
  fn: async () => {
    const start = ["--start", "2026-01-31T12:00:00Z", "--n", "20"];
    const [one, same, other] = await Promise.all([
      gen("--seed", "7", ...start),
      gen("--seed", "7", ...start),
      gen("--seed", "8", ...start),
    ]);
    assert.equal(one.console.outputText, same.console.outputText);
    assert.notEqual(one.console.outputText, other.console.outputText);
  },
});

Deno.test({
  name: "gen refuses what is no count and no instant",
  fn: async () => {
    for (const argv of [["--n", "-1"], ["--start", "yesterday"], ["--seed", "4294967296"]]) {
      const { status, console } = await gen(...argv);
      assert.equal(status, 2);
      assert.match(console.notesText, /^svc: Cannot take --/);
      assert.equal(console.outputText, "");
    }
  },
});
