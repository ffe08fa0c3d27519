/** `svc ingest`: NDJSON events from a file or stdin into the local table `events`, all or none. */

import { counted } from "../../shared/base/counted.ts";
import { messageOf, OperatingError } from "../../shared/base/errors.ts";
import { DATA_DIR_OPTION } from "../../shared/config/process_options.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../../shared/derived/summary/summary_options.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { defineCommand } from "../command.ts";
import type { Console, TextOutput } from "../console.ts";
import { importEvents } from "../event_import.ts";
import { textLines } from "../text_lines.ts";
import { localWarehouse } from "../warehouse_options.ts";

const OPTIONS = {
  input: {
    kind: "text",
    flag: "input",
    placeholder: "FILE",
    help: "NDJSON file; stdin when absent or `-`.",
  },
  dataDir: DATA_DIR_OPTION,
  ...SUMMARY_OPTIONS,
} as const satisfies OptionTable;

const PROGRESS_MS = 200;
const READ_BYTES = 256 * 1024;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    using end = listenForEnd();
    const over = new AbortController();
    end.requested.then(() => over.abort(interrupted()));
    const progress = new ProgressLine(console.notes);
    // Input goes through a pipe, which lets go of an input that says nothing.
    const input = openInput(settings.input, console)
      .pipeThrough(new TransformStream(), { signal: over.signal });
    const lines = textLines(input, { strict: true });
    const events = await importEvents(lines, localWarehouse(settings.dataDir), {
      summaries: summaryLimitsOf(settings),
      onProgress: (count) => progress.show(counted(count, "event")),
      signal: over.signal,
    });
    await progress.end(`ingested ${counted(events, "event")}`);
  },
});

function interrupted(): OperatingError {
  return new OperatingError("cancelled", "Cannot go on: interrupted; nothing was ingested");
}

function openInput(
  path: string | undefined,
  console: Console,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  if (path === undefined || path === "-") return console.input.readable;
  return ReadableStream.from(chunksOf(path));
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  try {
    await using file = await new DenoFileSystem().openRead(path);
    for (let offset = 0;;) {
      const chunk = new Uint8Array(READ_BYTES);
      const count = await file.readAt(chunk, offset);
      if (count === 0) return;
      offset += count;
      yield chunk.subarray(0, count);
    }
  } catch (cause) {
    throw new OperatingError("not_found", `Cannot read --input ${path}: ${messageOf(cause)}`, {
      cause,
    });
  }
}

/** One line of a terminal, written over and over; in a pipe the last one alone. */
class ProgressLine {
  readonly #output: TextOutput;
  #shownMs = performance.now();

  constructor(output: TextOutput) {
    this.#output = output;
  }

  show(text: string): void {
    if (!this.#output.isTerminal || performance.now() - this.#shownMs < PROGRESS_MS) return;
    this.#shownMs = performance.now();
    void this.#output.write(`\r${text}`);
  }

  async end(text: string): Promise<void> {
    await this.#output.write(this.#output.isTerminal ? `\r${text}\n` : `${text}\n`);
  }
}
