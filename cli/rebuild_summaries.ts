/**
 * What the two `rebuild-…` commands share: a table's files, one after the other, with a line for
 * each that is made anew.
 */

import { counted } from "../shared/base/counted.ts";
import { messageOf, OperatingError } from "../shared/base/errors.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";
import { inlineDeriver } from "../shared/derived/deriver.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../shared/derived/summary/summary_options.ts";
import {
  planRebuild,
  type RebuildOptions,
  rebuildSidecar,
} from "../shared/upkeep/rebuild_sidecars.ts";
import { sweepRollups } from "../shared/upkeep/rollup_sweep.ts";
import { INLINE_PARQUET_DECODER } from "../shared/parquet/parquet_decoder.ts";
import type { Console } from "./console.ts";
import { DRY_RUN_OPTION, printPlan } from "./plan_table.ts";
import { openExistingWarehouse } from "./open_warehouse.ts";
import { LOCAL_OPTIONS, warehousePaths } from "./warehouse_options.ts";

export const REBUILD_OPTIONS = {
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace of the table.",
  },
  table: {
    kind: "text",
    flag: "table",
    placeholder: "NAME",
    required: true,
    help: "The table; only what its current snapshot holds.",
  },
  dryRun: DRY_RUN_OPTION,
  ...SUMMARY_OPTIONS,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

const COLUMNS = ["file", "rows", "why", "outcome"];

/** Safe to repeat. Status 1 when a file could not be counted. */
export async function rebuildSummaries(
  settings: Settings<typeof REBUILD_OPTIONS>,
  { console, options }: { readonly console: Console; readonly options: RebuildOptions },
): Promise<number> {
  await using warehouse = await openExistingWarehouse(warehousePaths(settings));
  using deriver = inlineDeriver(summaryLimitsOf(settings));
  const deps = { ...warehouse, decoder: INLINE_PARQUET_DECODER, deriver };
  const ident = { namespace: settings.namespace, name: settings.table };
  const location = await deps.catalog.metadataLocation(ident);
  if (location === undefined) {
    throw new OperatingError(
      "not_found",
      `Cannot rebuild summaries of table ${ident.namespace}.${ident.name}: there is none; ` +
        "name it with --namespace and --table",
      { reason: "unknown_table" },
    );
  }
  const plan = await planRebuild(deps, await deps.reader.loadTable(ident, location), options);
  const rows: (string | number)[][] = [];
  let failures = 0;
  for (const { file, why } of plan.items) {
    let outcome = "would be rebuilt";
    if (!settings.dryRun) {
      try {
        await rebuildSidecar(deps, plan, { file, wide: options.wide });
        outcome = "rebuilt";
      } catch (error) {
        failures += 1;
        outcome = `failed: ${messageOf(error)}`;
      }
    }
    rows.push([file.key, file.rows, why, outcome]);
  }
  const { made } = settings.dryRun
    ? { made: 0 }
    : await sweepRollups(deps, { table: plan.table, files: plan.live }, { checks: true });
  if (rows.length > 0) await printPlan(console, COLUMNS, rows);
  const done = plan.items.length - failures;
  await console.notes.write(
    `${counted(plan.live.length, "file")}, ${
      plan.live.length - plan.items.length
    } as they should be, ` +
      `${settings.dryRun ? `${plan.items.length} to rebuild` : `${done} rebuilt`}` +
      `${failures > 0 ? `, ${failures} failed` : ""}` +
      `${made > 0 ? `, ${made} ${made === 1 ? "sum of a day" : "sums of days"} made` : ""}\n`,
  );
  return failures > 0 ? 1 : 0;
}
