/**
 * `deno task bench:peers`: this service beside others, on the same rows and questions. Results go
 * to stdout, one JSON object a line and tables at the end; progress goes to stderr. `README.md`
 * says how it measures.
 *
 * Exit status: 0; 1 when a part failed or an answer was wrong; 2 for wrong usage.
 */

import { join } from "node:path";
import { availableParallelism, totalmem } from "node:os";
import { isOperatingError, messageOf, UsageError } from "../../../shared/base/errors.ts";
import type { Settings } from "../../../shared/config/options.ts";
import { parseProgram } from "../../../shared/config/parse_options.ts";
import { readLogLines } from "./log_lines.ts";
import { MachineLock } from "./machine_lock.ts";
import { measureShape, type Obtained } from "./measure_shape.ts";
import { OPTIONS, type Plan, planOf } from "./options.ts";
import { replaceBlocks } from "./page_blocks.ts";
import { Progress } from "./progress.ts";
import { reportBlocks } from "./report.ts";
import type { MachineResult, Result } from "./result.ts";
import { endServers } from "./server_process.ts";
import { buildShape } from "./shapes.ts";
import { SYSTEMS } from "./systems/registry.ts";

const PROGRAM = {
  name: "deno task bench:peers",
  summary: "Measure this service beside others, on the same rows and questions.",
  options: OPTIONS,
};

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  try {
    const invocation = parseProgram(PROGRAM, args, (name) => Deno.env.get(name));
    if (invocation.kind === "print") {
      print(invocation.text.trimEnd());
      return 0;
    }
    const { settings } = invocation;
    const results = settings.from.length > 0
      ? await readResults(settings.from)
      : await measure(settings, planOf(settings));
    const blocks = reportBlocks(results);
    for (const [name, block] of blocks) print(`\n## ${name}\n\n${block}`);
    for (const page of settings.pages) {
      const text = await Deno.readTextFile(page);
      await Deno.writeTextFile(page, replaceBlocks(text, blocks, page));
    }
    return results.some(isBad) ? 1 : 0;
  } catch (error) {
    if (!isOperatingError(error)) throw error;
    printError(`bench:peers: ${error.message}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function measure(settings: Settings<typeof OPTIONS>, plan: Plan): Promise<Result[]> {
  const results: Result[] = [];
  const stopping = { asked: false };
  const report = (result: Result) => {
    // What fails because its server was just ended is no result.
    if (stopping.asked) return;
    results.push(result);
    print(JSON.stringify(result));
  };
  const lines = await readLogLines(settings.lines);
  report(machine(settings, plan));
  using progress = new Progress(Deno.stderr);
  const systems = await obtainAll(settings, plan, report);
  const work = await Deno.makeTempDir({
    prefix: "svc-bench-peers-",
    ...(settings.work === undefined ? {} : { dir: settings.work }),
  });
  const stop = endOnSignal(work, stopping);
  try {
    await using lock = new MachineLock(settings.lock);
    for (const [name, rows] of plan.rows) {
      await measureShape(systems, {
        ...{ shape: buildShape(name, lines), rows, work, questions: plan.questions },
        ...{ rounds: settings.repeat, loadSecs: settings.loadSecs },
        settleSecsMax: settings.settleSecs,
        ...(settings.lines === undefined ? {} : { lines: settings.lines }),
      }, { lock, report, progress: (text) => progress.show(text) });
    }
  } finally {
    stop();
    await Deno.remove(work, { recursive: true });
  }
  return results;
}

/** Asked to end, it ends its servers and removes their data first; the result undoes this. */
function endOnSignal(work: string, stopping: { asked: boolean }): () => void {
  const statuses = { SIGINT: 130, SIGTERM: 143 } as const;
  const ends = Object.entries(statuses).map(([signal, status]) => {
    const end = async () => {
      stopping.asked = true;
      await endServers();
      await Deno.remove(work, { recursive: true });
      Deno.exit(status);
    };
    Deno.addSignalListener(signal as Deno.Signal, end);
    return () => Deno.removeSignalListener(signal as Deno.Signal, end);
  });
  return () => ends.forEach((undo) => undo());
}

function machine({ lines }: Settings<typeof OPTIONS>, { rows }: Plan): MachineResult {
  return {
    measure: "machine",
    date: new Date().toISOString(),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    rows: Object.fromEntries(rows),
    lines: lines === undefined ? "made up" : "a folder of files",
  };
}

/** Each system into a folder of its own; what cannot be had is reported and left out. */
async function obtainAll(
  settings: Settings<typeof OPTIONS>,
  plan: Plan,
  report: (result: Result) => void,
): Promise<Obtained[]> {
  const cache = settings.cache ?? defaultCache();
  const obtained: Obtained[] = [];
  for (const system of SYSTEMS.filter(({ name }) => plan.systems.includes(name))) {
    const { name, title, durability, settings: text } = system;
    const folder = join(cache, name);
    await Deno.mkdir(folder, { recursive: true });
    try {
      const installed = await system.obtain({
        cache: folder,
        tell: printError,
        ...(name === "victoria-logs" && settings.victoriaLogs !== undefined
          ? { executable: settings.victoriaLogs }
          : {}),
      });
      const { version } = installed;
      report({ measure: "system", system: name, title, version, durability, settings: text });
      obtained.push({ system, installed });
    } catch (error) {
      if (!isOperatingError(error)) throw error;
      printError(`${title} is skipped: ${error.message}`);
      report({ measure: "skipped", system: name, title, reason: messageOf(error) });
    }
  }
  return obtained;
}

function defaultCache(): string {
  const base = Deno.env.get("XDG_CACHE_HOME") ?? join(Deno.env.get("HOME") ?? ".", ".cache");
  return join(base, "svc-bench-peers");
}

/** The lines of earlier outputs that are results. */
async function readResults(files: readonly string[]): Promise<Result[]> {
  const texts = await Promise.all(files.map((file) => Deno.readTextFile(file)));
  return texts.flatMap((text) =>
    text.split("\n").filter((line) => line.startsWith('{"measure":')).map((line) =>
      JSON.parse(line)
    )
  );
}

function isBad(result: Result): boolean {
  return result.measure === "failed" ||
    result.measure === "question" && result.wrong !== undefined;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

function printError(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}
