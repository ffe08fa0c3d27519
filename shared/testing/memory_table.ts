/** Tables of memory plans in pages: for tests only. */

import type { MemoryPart, MemoryPlan } from "../memory/memory_plan.ts";

const MIB = 1024 * 1024;

/** The parts at some limits, as Markdown: a test holds a README's table equal to it. */
export function memoryTable<N extends string>(
  parts: Readonly<Record<N, MemoryPart>>,
  plans: readonly MemoryPlan<N>[],
): string {
  const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const names = Object.keys(parts) as N[];
  return [
    row(["Part", "What it is", ...plans.map(({ limitBytes }) => `of ${mib(limitBytes)}`)]),
    `|---|---|${"---:|".repeat(plans.length)}`,
    ...names.map((name) =>
      row([`\`${name}\``, parts[name].what, ...plans.map(({ bytes }) => mib(bytes[name]))])
    ),
  ].join("\n");
}

function mib(bytes: number): string {
  const value = bytes / MIB;
  return value >= 1024 && value % 1024 === 0
    ? `${value / 1024} GiB`
    : `${value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.floor(value)} MiB`;
}
