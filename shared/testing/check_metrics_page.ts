/** Pages that are made from tables of metrics: for tests only. */

import assert from "node:assert/strict";
import { metricsPage } from "../metrics/metrics_page.ts";

/**
 * Throws unless METRICS.md of the role's folder is the page of its table; `what` is the role in
 * that page. With `--write` among the arguments it is written anew.
 */
export async function checkMetricsPage(
  folder: string,
  what: string,
  metrics: Parameters<typeof metricsPage>[1],
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
