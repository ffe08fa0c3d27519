/** Pages that are made from tables of metrics: for tests only. */

import assert from "node:assert/strict";
import type { MetricSpec, MetricTable } from "../metrics/table.ts";

/**
 * Throws unless METRICS.md of the role's folder is the page of its table; `what` is the role in
 * that page. With `--write` among the arguments it is written anew.
 */
export async function checkMetricsPage(
  folder: string,
  what: string,
  metrics: MetricTable,
): Promise<void> {
  const path = new URL(`../../${folder}/METRICS.md`, import.meta.url);
  const page = metricsPage(what, metrics);
  if (Deno.args.includes("--write")) await Deno.writeTextFile(path, page);
  const found = await Deno.readTextFile(path).catch(() => "");
  assert.ok(
    found === page,
    `${folder}/METRICS.md is old: run the metrics test of ${folder} with "-- --write"`,
  );
}

/** `role` as in "Metrics of the ingest server". */
function metricsPage(role: string, table: MetricTable): string {
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
