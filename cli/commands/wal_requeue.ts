/**
 * `svc wal-requeue`: brings segments set aside under `poison/` back to `sealed/`, where a drain
 * takes the intact frames of damaged ones. See docs/api/command_line.md#what-changes-something.
 */

import { counted } from "../../shared/base/counted.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { laneName } from "../../shared/tenant/tenant.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { applyRequeue, planRequeue, type RequeueStep } from "../../shared/wal/requeue.ts";
import { defineCommand } from "../command.ts";
import { requireWal } from "../wal_root.ts";

const OPTIONS = {
  wal: {
    kind: "text",
    flag: "wal",
    placeholder: "root",
    required: true,
    help: "Root of the WAL; its ingest server may be running.",
  },
  segment: {
    kind: "text",
    flag: "segment",
    placeholder: "name",
    help: "Only the segment of this file name; all of them when absent.",
  },
  dryRun: {
    kind: "switch",
    flag: "dry-run",
    help: "Print what would be moved and move nothing.",
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run({ wal, segment, dryRun }, { console }) {
    const files = new DenoFileSystem();
    const root = await requireWal(files, wal, "requeue in");
    const plan = await planRequeue(files, root, segment);
    if (segment !== undefined && plan.length === 0) {
      throw new OperatingError(
        "not_found",
        `Cannot requeue --segment ${segment}: no poison/ below ${root} has it; give a file name ` +
          "such as 1700000000000-0000-0123456789abcdef.seg",
      );
    }
    if (plan.length === 0) {
      await console.notes.write(`no poison/ below ${root} has a segment: nothing to move\n`);
    }
    if (!dryRun) await applyRequeue(files, root, plan);
    for (const step of plan) {
      const outcome = outcomeOf(step, dryRun);
      await console.output.write(`${laneName(step.lane)}  ${step.name}  ${outcome}\n`);
    }
    return plan.some(({ action }) => action === "refuse") ? 1 : 0;
  },
});

function outcomeOf(step: RequeueStep, dryRun: boolean): string {
  const { action, why = "", rows = 0, damagedBytes = 0, damagedRows } = step;
  if (action === "refuse") return `refused, ${why}`;
  const moved = dryRun ? "would move" : "moved";
  if (damagedBytes === 0) return moved;
  const lost = damagedRows === undefined ? "" : ` (${counted(damagedRows, "row")})`;
  return `${moved} with ${counted(rows, "row")}; the drain takes ${
    counted(damagedBytes, "damaged byte")
  }${lost} from the mirror, or sets them aside`;
}
