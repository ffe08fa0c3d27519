/**
 * `deno task faults [--minutes 10 | --hours n] [--only power-cut,kill,…] [--seed n]`: rounds of
 * faults until the time is over, progress on a terminal's standard error, one table on standard
 * output. README.md says what it shows.
 */

import { join } from "node:path";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { hasPackages } from "../engines/python.ts";
import { run } from "./commands.ts";
import type { Arena, Fault, Outcome } from "./fault.ts";
import { FAULTS } from "./kinds/kinds.ts";
import { INSIDE, runInside, settleInside } from "./namespace.ts";
import { parseRunOptions, type RunOptions } from "./options.ts";
import { isGood, reportText, type RoundResult } from "./report.ts";
import { missingHere } from "./requirements.ts";

const CANNOT_RUN = 2;

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const [first, folder = "", ...rest] = args;
  const isInside = first === INSIDE;
  const options = parseRunOptions(isInside ? rest : args, FAULTS);
  if (!isInside) {
    const missing = await missingHere();
    if (missing.length === 0) return await runInside(import.meta.filename ?? "", args);
    for (const line of missing) say(`faults: ${line}`);
    return CANNOT_RUN;
  }
  await settleInside(folder);
  const over = new AbortController();
  Deno.addSignalListener("SIGINT", () => {
    // The second one does not wait for the round.
    if (over.signal.aborted) Deno.exit(130);
    say("\nfaults: the round that runs is the last; Ctrl-C again ends it at once");
    over.abort();
  });
  const results = await runRounds(folder, options, over.signal);
  Deno.stdout.writeSync(new TextEncoder().encode(`${reportText(results)}\n`));
  return results.length > 0 && results.every(isGood) ? 0 : 1;
}

async function runRounds(
  folder: string,
  options: RunOptions,
  over: AbortSignal,
): Promise<readonly RoundResult[]> {
  const runnable: Fault[] = [];
  for (const fault of FAULTS.filter(({ name }) => options.only.includes(name))) {
    const reason = await fault.missing?.();
    if (reason === undefined) runnable.push(fault);
    else say(`faults: ${fault.name} is left out: ${reason}`);
  }
  const here = { hasPyIceberg: await hasPackages(["pyiceberg", "pyarrow"]) };
  if (!here.hasPyIceberg) say("faults: no PyIceberg here, icebird reads alone");
  const end = performance.now() + options.msMax;
  const results: RoundResult[] = [];
  const once = runnable.filter(({ weight }) => weight === 0);
  for (let round = 0; round < options.roundsMax && !over.aborted; round += 1) {
    const seed = options.seed + round;
    const fault = once.shift() ?? pick(runnable, new SeededRandom(~seed));
    if (fault === undefined || (round > 0 && performance.now() > end)) break;
    const place = join(folder, `round-${round}`);
    await Deno.mkdir(place);
    const progress = (text: string) => watch(`${fault.name}, seed ${seed}: ${text}`);
    const isOver = () => over.aborted || performance.now() > end;
    const arena = { ...here, folder: place, random: new SeededRandom(seed), isOver, progress };
    const result = { fault, seed, outcome: await playRound(fault, arena) };
    results.push(result);
    if (!isGood(result)) {
      say(`${fault.name}, seed ${seed}: ${result.outcome.findings.join("; ") || "nothing found"}`);
      if (options.keep !== undefined) {
        await run("cp", "--archive", "--sparse=always", place, options.keep);
      }
    }
    await Deno.remove(place, { recursive: true });
  }
  return results;
}

/** A round that breaks off is a finding, also of a control. */
async function playRound(fault: Fault, arena: Arena): Promise<Outcome> {
  try {
    return await fault.round(arena);
  } catch (error) {
    const text = `the round broke off: ${error instanceof Error ? error.stack : error}`;
    // It says nothing about a control, so it must not count as found.
    if (fault.mustFail) say(text);
    return {
      ...{ faults: 0, requests: 0, acknowledgedRows: 0, deleteTasks: 0, checks: 0, compared: 0 },
      findings: fault.mustFail ? [] : [text],
    };
  }
}

/** A kind by its weight; undefined when all that run have none. */
function pick(faults: readonly Fault[], random: SeededRandom): Fault | undefined {
  let at = random.below(faults.reduce((sum, { weight }) => sum + weight, 0));
  return faults.find(({ weight }) => weight > 0 && (at -= weight) < 0);
}

/** For whoever looks on; a pipe or a log gets none of it. */
function watch(line: string): void {
  if (Deno.stderr.isTerminal()) say(line);
}

function say(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
