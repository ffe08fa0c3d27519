/**
 * A role's metrics for people: its table as Markdown. A test holds the role's METRICS.md equal to
 * it.
 */

import type { MetricSpec, MetricTable } from "./table.ts";

/** `role` as in "Metrics of the ingest server". */
export function metricsPage(role: string, table: MetricTable): string {
  const rows = Object.values(table)
    .toSorted((a, b) => a.name < b.name ? -1 : 1)
    .map((spec) => `| \`${spec.name}\` | ${kindOf(spec)} | ${labelsOf(spec)} | ${spec.help} |`);
  return [
    `# Metrics of ${role}`,
    "",
    "Made from the table that registers them; do not edit. Counters and histograms begin at zero for",
    "all the values that are named here.",
    "",
    "| Name | Kind | Labels | Meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
    ...(namesTenants(table) ? [TENANTS_NOTE, ""] : []),
  ].join("\n");
}

const TENANTS_NOTE = [
  "The labels `lane`, `table`, `tenant` and `index` name tenants and their indexes. Nobody needs a",
  "token for `/metrics`, so all tenants but `default` share one series of each metric, whose labels",
  "are `(tenants)`. Counters and sizes are added up, of ages and depths the greatest is shown.",
  "`--metrics-tenant-labels` shows each.",
].join("\n");

function namesTenants(table: MetricTable): boolean {
  return Object.values(table).some(({ labels = {} }) => "lane" in labels || "table" in labels);
}

function kindOf(spec: MetricSpec): string {
  if (spec.kind !== "histogram") return spec.kind;
  return `histogram, ${spec.buckets[0]} to ${spec.buckets.at(-1)}`;
}

function labelsOf({ labels = {} }: MetricSpec): string {
  return Object.entries(labels)
    .map(([name, values]) => values.length === 0 ? name : `${name}: ${values.join(", ")}`)
    .join("; ");
}
