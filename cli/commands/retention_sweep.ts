/** `svc retention-sweep`: drops whole data files older than the retention horizon. SPEC.md section 1. */

import { formatNanos } from "../../shared/base/time.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import type { TableIdent } from "../../shared/event/tenant.ts";
import {
  applyRetention,
  lookForRetention,
  type RetentionPlan,
  retentionSecsOf,
} from "../../shared/maintenance/retention.ts";
import { OperatingError } from "../../shared/base/errors.ts";
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
    help:
      "Keep rows for so long, whatever the index says; with --table. Without it each index has its " +
      "own retention, and one that has none keeps all.",
  },
  ...TABLES_OPTIONS,
} as const satisfies OptionTable;

interface Planned {
  readonly ident: TableIdent;
  readonly periodSecs: number | undefined;
  readonly plan: RetentionPlan | undefined;
}

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    if (settings.periodSecs !== undefined && settings.table === undefined) {
      throw new OperatingError(
        "invalid_argument",
        `Cannot drop rows older than --period-secs ${settings.periodSecs} of every table: name one with --table`,
      );
    }
    await using tables = await openTables(settings);
    const { deps } = tables;
    const all: Planned[] = [];
    for (const ident of tables.idents) {
      const periodSecs = settings.periodSecs ?? await retentionSecsOf(deps, ident);
      const plan = periodSecs === undefined
        ? undefined
        : await lookForRetention(deps, ident, periodSecs);
      all.push({ ident, periodSecs, plan });
    }
    const { apply } = settings;
    await printPlan(console, COLUMNS, all.map((one) => rowOf(one, apply)));
    if (!apply) {
      await console.notes.write("nothing is dropped without --apply\n");
      return;
    }
    let superseded = 0;
    for (const { ident, plan } of all) {
      if (plan === undefined) continue;
      const { outcome, files, rows } = await applyRetention(deps, plan);
      if (outcome === "superseded") superseded += 1;
      if (outcome === "nothing") continue;
      const what = outcome === "dropped"
        ? `dropped ${rows} rows with ${files} data files; their bytes are free when their snapshots have expired`
        : "changed meanwhile, nothing is dropped: run it again";
      await console.notes.write(`${nameOf(ident)}: ${what}\n`);
    }
    return superseded === 0 ? 0 : 1;
  },
});

const COLUMNS = ["table", "retention secs", "horizon", "files", "rows", "bytes freed", "action"];

function rowOf({ ident, periodSecs, plan }: Planned, apply: boolean) {
  const files = plan?.files ?? [];
  const action = files.length === 0 ? "nothing" : apply ? "drop" : "would drop";
  return [
    nameOf(ident),
    periodSecs ?? null,
    plan === undefined ? null : formatNanos(plan.horizonNs),
    files.length,
    files.reduce((sum, file) => sum + file.rows, 0),
    files.reduce((sum, file) => sum + file.byteLength, 0),
    action,
  ];
}
