/**
 * `deno task simulate [--seeds count] [--seed first]`: lives of a table, one seed after the other.
 * Ends with status 1 at the first seed that fails, whose last steps it prints. Progress goes to a
 * terminal alone.
 */

import { UsageError } from "../../shared/base/errors.ts";
import type { OptionTable, Settings } from "../../shared/config/options.ts";
import { parseProgram, type Program } from "../../shared/config/parse_options.ts";
import { MUTATIONS } from "./mutations.ts";
import { runSeed, type SeedOutcome, STEPS_DEFAULT, tellFailure } from "./run_seed.ts";

const OPTIONS = {
  seeds: {
    kind: "integer",
    flag: "seeds",
    placeholder: "count",
    default: 200,
    min: 1,
    max: 100_000_000,
    help: "Lives to simulate, one after the other.",
  },
  seed: {
    kind: "integer",
    flag: "seed",
    placeholder: "first",
    default: 1,
    min: 0,
    max: 2 ** 31,
    help: "The first seed; the others follow it.",
  },
  steps: {
    kind: "integer",
    flag: "steps",
    placeholder: "count",
    default: STEPS_DEFAULT,
    min: 1,
    max: 10_000_000,
    help: "Steps of a life before it ends in order; a seed repeats with the same number alone.",
  },
  mutation: {
    kind: "text",
    flag: "mutation",
    placeholder: "name",
    choices: [...MUTATIONS],
    help: "Simulate with this defect, which some seed has to find.",
  },
  trace: { kind: "switch", flag: "trace", help: "Print every step of every life." },
} as const satisfies OptionTable;

/** The program, for `--help`. */
export const PROGRAM: Program<typeof OPTIONS> = {
  name: "deno task simulate",
  summary: "Simulate lives of a table with seeded faults, and hold them to a model.",
  options: OPTIONS,
};

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  try {
    const invocation = parseProgram(PROGRAM, args, () => undefined);
    if (invocation.kind === "run") return await simulate(invocation.settings);
    print(Deno.stdout, invocation.text.trimEnd());
    return 0;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    print(Deno.stderr, error.message);
    return 2;
  }
}

async function simulate(settings: Settings<typeof OPTIONS>): Promise<number> {
  const { seeds, seed: first, steps, trace } = settings;
  const mutation = MUTATIONS.find((name) => name === settings.mutation);
  const totals = new Map<string, number>();
  let virtualMs = 0;
  for (let seed = first; seed < first + seeds; seed += 1) {
    const outcome = await runSeed(seed, {
      steps,
      ...(mutation === undefined ? {} : { mutation }),
    });
    if (trace) print(Deno.stdout, outcome.trace.join("\n"));
    if (outcome.failure !== undefined) {
      print(Deno.stdout, `${isTold() ? "\n" : ""}${tellFailure(outcome)}`);
      return 1;
    }
    virtualMs += outcome.virtualMs;
    addTo(totals, outcome);
    if (isTold()) write(Deno.stderr, `\rseed ${seed}: ${seed - first + 1} of ${seeds}`);
  }
  if (isTold()) print(Deno.stderr, "");
  const hours = (virtualMs / 3_600_000).toFixed(1);
  print(Deno.stdout, `${seeds} seeds from ${first} hold: ${hours} simulated hours`);
  for (const [what, count] of [...totals].sort()) print(Deno.stdout, `  ${what}: ${count}`);
  return 0;
}

function addTo(totals: Map<string, number>, { counts }: SeedOutcome): void {
  for (const [what, count] of counts) totals.set(what, (totals.get(what) ?? 0) + count);
}

function isTold(): boolean {
  return Deno.stderr.isTerminal();
}

interface Stream {
  writeSync(bytes: Uint8Array): number;
}

function print(stream: Stream, text: string): void {
  write(stream, `${text}\n`);
}

function write(stream: Stream, text: string): void {
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.byteLength;) at += stream.writeSync(bytes.subarray(at));
}
