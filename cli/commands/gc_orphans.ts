/**
 * `svc gc-orphans`: deletes files that no retained snapshot references. See
 * docs/api/command_line.md#what-changes-something.
 */

import { formatBytes } from "../../shared/base/bytes.ts";
import { counted } from "../../shared/base/counted.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import {
  applyOrphans,
  bytesOf,
  lookForOrphans,
  ORPHAN_AGE_MS_MIN,
  type OrphanPlan,
} from "../../shared/upkeep/orphans.ts";
import type { ObjectInfo } from "../../shared/storage/object_store.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { nameOf, openTables, TABLES_OPTIONS } from "../maintenance_tables.ts";
import { APPLY_OPTION, printPlan } from "../plan_table.ts";

const OPTIONS = {
  apply: APPLY_OPTION,
  minAgeSecs: {
    kind: "integer",
    flag: "min-age-secs",
    placeholder: "secs",
    default: ORPHAN_AGE_MS_MIN / 1_000,
    min: 0,
    max: 10 * 365 * 86_400,
    help: "Keep files that are younger than this, because an unfinished commit may need them. " +
      "Less than the default is safe only while nothing writes to the tables.",
  },
  list: {
    kind: "switch",
    flag: "list",
    help: "Print every file, not only how many there are of each table.",
  },
  ...TABLES_OPTIONS,
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await using tables = await openTables(settings);
    const ageMsMin = settings.minAgeSecs * 1_000;
    const plans: OrphanPlan[] = [];
    for (const ident of tables.idents) {
      const plan = await lookForOrphans(tables.deps, ident, { ageMsMin });
      if (plan !== undefined) plans.push(plan);
    }
    const { apply } = settings;
    if (settings.list) await printPlan(console, FILE_COLUMNS, plans.flatMap(filesOf));
    else await printPlan(console, COLUMNS, plans.map((plan) => rowOf(plan, apply)));
    const what = filesText(plans.flatMap((plan) => plan.orphans));
    await noteWaiting(console, plans);
    if (!apply) {
      await console.notes.write(`${what} could go; nothing is removed without --apply\n`);
      return;
    }
    for (const plan of plans) await applyOrphans(tables.deps, plan);
    await console.notes.write(`removed ${what}\n`);
  },
});

/** What no snapshot references and yet stays. */
async function noteWaiting(console: Console, plans: readonly OrphanPlan[]): Promise<void> {
  const waiting = plans.flatMap((plan) => plan.waiting);
  if (waiting.length === 0) return;
  await console.notes.write(
    `${filesText(waiting)}, of expired snapshots or replaced stay for now: a statement that ` +
      "began before may read them for six hours\n",
  );
}

function filesText(files: readonly ObjectInfo[]): string {
  return `${counted(files.length, "file")}, ${formatBytes(bytesOf(files))}`;
}

const COLUMNS = ["table", "orphans", "bytes freed", "files kept", "bytes kept", "action"];
const FILE_COLUMNS = ["table", "file", "bytes", "modified"];

function rowOf({ ident, orphans, kept }: OrphanPlan, apply: boolean) {
  const action = orphans.length === 0 ? "nothing" : apply ? "remove" : "would remove";
  return [nameOf(ident), orphans.length, bytesOf(orphans), kept.files, kept.bytes, action];
}

function filesOf({ ident, orphans }: OrphanPlan) {
  return orphans.map(({ key, size, modifiedMs }) => [
    nameOf(ident),
    key,
    size,
    new Date(modifiedMs).toISOString(),
  ]);
}
