/**
 * `deno task bench [--size small|full] [--rows count] [name …]`: runs the named benchmarks one
 * after the other (all of them without a name), prints one Markdown table on stdout and progress on
 * stderr. Exits 1 when a bar is missed, so that it can stand in a script.
 */

import { availableParallelism, totalmem } from "node:os";
import { Command, InvalidArgumentError, Option } from "commander";
import { formatBytes } from "../../shared/base/bytes.ts";
import { type Benchmark, type BenchRow, formatCount } from "./benchmark.ts";
import { BENCHMARKS } from "./registry.ts";

type SizeName = keyof Benchmark["sizes"];

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const command = new Command("bench")
    .description("Run benchmarks and print one table.")
    .addOption(
      new Option("--size <size>", "small for a quick look, full for the figures of README.md")
        .choices(["small", "full"]).default("small"),
    )
    .addOption(
      new Option("--rows <count>", "in place of those of the size").argParser(rowsOf),
    )
    .argument("[names...]", `benchmarks: ${BENCHMARKS.map((bench) => bench.name).join(", ")}`)
    .parse([...args], { from: "user" });
  const { size, rows } = command.opts<{ size: SizeName; rows?: number }>();
  const chosen = chooseBenchmarks(command.args);
  if (typeof chosen === "string") {
    printError(chosen);
    return 2;
  }
  print(
    `Machine: ${availableParallelism()} cores, ${formatBytes(totalmem())}. Size: ${size}${
      rows === undefined ? "" : `, ${formatCount(rows)} rows`
    }.\n`,
  );
  print("| Benchmark | What | Ours | Against | Ratio | To reach | |");
  print("|---|---|---|---|---|---|---|");
  let missed = 0;
  for (const bench of chosen) {
    printError(`${bench.name}: ${bench.summary} …`);
    const benchSize = bench.sizes[size];
    for (const row of await bench.run({ ...benchSize, rows: rows ?? benchSize.rows })) {
      print(tableLine(bench.name, row));
      if (!row.reached) missed += 1;
    }
  }
  return missed === 0 ? 0 : 1;
}

function rowsOf(text: string): number {
  const rows = Number(text);
  if (Number.isSafeInteger(rows) && rows > 0) return rows;
  throw new InvalidArgumentError("it takes a whole number above 0.");
}

function chooseBenchmarks(names: readonly string[]): readonly Benchmark[] | string {
  if (names.length === 0) return BENCHMARKS;
  const chosen: Benchmark[] = [];
  for (const name of names) {
    const bench = BENCHMARKS.find((candidate) => candidate.name === name);
    if (bench === undefined) {
      const known = BENCHMARKS.map((candidate) => candidate.name).join(", ");
      return `bench: there is no benchmark ${JSON.stringify(name)}; choose from ${known}`;
    }
    chosen.push(bench);
  }
  return chosen;
}

function tableLine(name: string, row: BenchRow): string {
  const cells = [name, row.what, row.ours, row.reference, row.ratio, row.target];
  return `| ${cells.join(" | ")} | ${row.reached ? "reached" : "**missed**"} |`;
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

function printError(line: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${line}\n`));
}
