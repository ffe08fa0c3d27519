/** Commands run in this process with what they print kept, for tests. */

import { COMMANDS } from "./commands.ts";
import { RecordingConsole } from "./recording_console.ts";
import { runCommand } from "./run_command.ts";
import { syntheticEvents, toNdjson } from "./synthetic_events.ts";

export interface RecordedRun {
  readonly status: number;
  readonly output: string;
  readonly notes: string;
}

/** `svc <name> --data-dir <dataDir> <args>` with `input` on stdin. */
export async function runRecorded(
  dataDir: string,
  name: string,
  args: readonly string[],
  input = "",
): Promise<RecordedRun> {
  const console = new RecordingConsole(input);
  const argv = [name, "--data-dir", dataDir, ...args];
  const status = await runCommand(argv, { commands: COMMANDS, console, env: () => undefined });
  return { status, output: console.outputText, notes: console.notesText };
}

/** So many events, as `svc ingest` takes them. */
export function eventLines(
  count: number,
  options: { readonly seed: number; readonly firstNs: bigint },
): string {
  return syntheticEvents(options).take(count).map(toNdjson).toArray().join("\n");
}
