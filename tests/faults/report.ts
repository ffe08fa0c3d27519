/** Results of a run as a table, kind by kind. */

import type { Fault, Outcome } from "./fault.ts";

export interface RoundResult {
  readonly fault: Fault;
  readonly seed: number;
  readonly outcome: Outcome;
}

/** Whether a round shows what its kind is to show: a control must lose rows. */
export function isGood({ fault, outcome: { findings } }: RoundResult): boolean {
  return fault.mustFail
    ? findings.some((text) => text.includes("rows lost"))
    : findings.length === 0;
}

/** The table, and below it what went wrong with the command that repeats it. */
export function reportText(results: readonly RoundResult[]): string {
  const lines = [
    "| Fault | Rounds | Injected | Requests | Rows acknowledged | Delete tasks | Checks | Rows compared | |",
    "|---|---|---|---|---|---|---|---|---|",
  ];
  const kinds = Map.groupBy(results, ({ fault }) => fault);
  for (const [fault, of] of kinds) {
    const sum = (pick: (outcome: Outcome) => number) =>
      of.reduce((total, { outcome }) => total + pick(outcome), 0).toLocaleString("en-US");
    const cells = [
      fault.name,
      String(of.length),
      `${sum(({ faults }) => faults)} ${fault.unit}`,
      sum(({ requests }) => requests),
      sum(({ acknowledgedRows }) => acknowledgedRows),
      sum(({ deleteTasks }) => deleteTasks),
      sum(({ checks }) => checks),
      sum(({ compared }) => compared),
      verdictOf(fault, of),
    ];
    lines.push(`| ${cells.join(" | ")} |`);
  }
  const bad = results.filter((result) => !isGood(result));
  for (const { fault, seed, outcome } of bad) {
    lines.push("", `${fault.name}, seed ${seed}:`);
    const { findings } = outcome;
    lines.push(
      ...(findings.length === 0 ? ["nothing was found"] : findings).map((text) => `- ${text}`),
    );
    lines.push(`  deno task faults --only ${fault.name} --seed ${seed} --rounds 1`);
  }
  return lines.join("\n");
}

function verdictOf(fault: Fault, results: readonly RoundResult[]): string {
  const bad = results.filter((result) => !isGood(result)).length;
  if (bad > 0) return `**${bad} rounds failed**`;
  return fault.mustFail ? "found, as it must" : "nothing lost, nothing doubled";
}
