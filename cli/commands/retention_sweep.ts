/**
 * `svc retention-sweep`: drops whole data files older than the retention horizon
 * (docs/api/command_line.md#what-changes-something), and cuts those that reach past it of indexes
 * with exact retention.
 */

import { counted } from "../../shared/base/counted.ts";
import { formatNanos } from "../../shared/base/time.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { openDeriver } from "../../shared/derived/deriver.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../../shared/derived/summary/summary_options.ts";
import type { Retention } from "../../shared/schema/doc_mapping.ts";
import type { TableIdent } from "../../shared/tenant/tenant.ts";
import {
  applyRetention,
  lookForRetention,
  retentionOf,
  type RetentionPlan,
} from "../../shared/upkeep/retention.ts";
import { UsageError } from "../../shared/base/errors.ts";
import { totalRows } from "../../shared/base/total_rows.ts";
import { openParquetEncoder } from "../../shared/parquet/parquet_encoder.ts";
import { defineCommand } from "../command.ts";
import { nameOf, openTables, TABLES_OPTIONS } from "../maintenance_tables.ts";
import { APPLY_OPTION, printPlan } from "../plan_table.ts";

const OPTIONS = {
  apply: APPLY_OPTION,
  periodSecs: {
    kind: "integer",
    flag: "period-secs",
    placeholder: "secs",
    min: 1,
    max: 1_000 * 365 * 86_400,
    help: "Keep rows for this long, whatever the index says; needs --table. Without it each " +
      "index has its own retention, and an index without one keeps all rows.",
  },
  exact: {
    kind: "switch",
    flag: "exact",
    help: "Also rewrite files that have rows on both sides of the horizon, without the old " +
      "rows; needs --period-secs. Without it each index says so itself (retention.exact).",
  },
  ...TABLES_OPTIONS,
  ...SUMMARY_OPTIONS,
} as const satisfies OptionTable;

interface Planned {
  readonly ident: TableIdent;
  readonly retention: Retention | undefined;
  readonly plan: RetentionPlan | undefined;
}

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    if (settings.periodSecs !== undefined && settings.table === undefined) {
      throw new UsageError(
        `Cannot drop rows older than --period-secs ${settings.periodSecs} of every table: name one with --table`,
      );
    }
    if (settings.exact && settings.periodSecs === undefined) {
      throw new UsageError(
        "Cannot use --exact without --period-secs: each index says itself whether its retention is exact",
      );
    }
    await using tables = await openTables(settings);
    const { deps } = tables;
    const all: Planned[] = [];
    for (const ident of tables.idents) {
      const retention = settings.periodSecs === undefined
        ? await retentionOf(deps, ident)
        : { period_secs: settings.periodSecs, exact: settings.exact };
      const plan = retention === undefined
        ? undefined
        : await lookForRetention(deps, ident, retention);
      all.push({ ident, retention, plan });
    }
    const { apply } = settings;
    await printPlan(console, COLUMNS, all.map((one) => rowOf(one, apply)));
    if (!apply) {
      await console.notes.write("nothing is dropped without --apply\n");
      return;
    }
    using encoder = openParquetEncoder();
    using deriver = openDeriver(summaryLimitsOf(settings));
    const writing = { ...deps, encoder, deriver };
    let superseded = 0;
    let left = false;
    for (const { ident, plan } of all) {
      if (plan === undefined) continue;
      const { outcome, files, cut, rows } = await applyRetention(writing, plan);
      left ||= plan.more;
      if (outcome === "superseded") superseded += 1;
      if (outcome === "nothing") continue;
      const what = outcome === "dropped"
        ? `dropped ${counted(rows, "row")} with ${counted(files, "data file")}, and ${cut} ${
          cut === 1 ? "was" : "were"
        } cut; their bytes are free when their snapshots have expired`
        : "changed meanwhile, nothing is dropped: run it again";
      await console.notes.write(`${nameOf(ident)}: ${what}\n`);
    }
    if (left) await console.notes.write("more files are to be cut: run it again\n");
    return superseded === 0 ? 0 : 1;
  },
});

const COLUMNS = [
  "table",
  "retention secs",
  "horizon",
  "files",
  "rows",
  "bytes freed",
  "files to cut",
  "rows in them",
  "bytes to cut",
  "action",
];

function rowOf({ ident, retention, plan }: Planned, apply: boolean) {
  const files = plan?.files ?? [];
  const cut = plan?.cut ?? [];
  const action = files.length + cut.length === 0 ? "nothing" : apply ? "drop" : "would drop";
  return [
    nameOf(ident),
    retention?.period_secs ?? "none",
    plan === undefined ? "none" : formatNanos(plan.horizonNs),
    files.length,
    totalRows(files),
    files.reduce((sum, file) => sum + file.byteLength, 0),
    cut.length,
    totalRows(cut),
    cut.reduce((sum, file) => sum + file.byteLength, 0),
    action,
  ];
}
