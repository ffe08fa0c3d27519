/**
 * `svc wal-requeue`: moves segments set aside under `poison/` back to `sealed/`. See
 * docs/api/command_line.md#what-changes-something.
 */

import { resolve } from "node:path";
import { OperatingError } from "../../shared/base/errors.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { laneName } from "../../shared/tenant/tenant.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { lanesIn, lockPath, SEGMENT_STATES, stateDirectory } from "../../shared/wal/layout.ts";
import { applyRequeue, planRequeue } from "../../shared/wal/requeue.ts";
import { defineCommand } from "../command.ts";

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
    const root = resolve(wal);
    const files = new DenoFileSystem();
    if (!await files.exists(root)) {
      throw new OperatingError("not_found", `Cannot requeue in --wal ${wal}: no such directory`);
    }
    if (!await isWal(files, root)) {
      throw new OperatingError(
        "not_found",
        `Cannot requeue in --wal ${wal}: it is no WAL; give the ingest server's, which is <data-dir>/wal where ` +
          "nobody said otherwise",
      );
    }
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
    for (const { lane, name, action, why } of plan) {
      const outcome = action === "move" ? (dryRun ? "would move" : "moved") : `refused, ${why}`;
      await console.output.write(`${laneName(lane)}  ${name}  ${outcome}\n`);
    }
    return plan.some(({ action }) => action === "refuse") ? 1 : 0;
  },
});

/** Also a copy of one without its lock; one without lanes has the lock alone. */
async function isWal(files: DenoFileSystem, root: string): Promise<boolean> {
  if (await files.exists(lockPath(root))) return true;
  for (const lane of await lanesIn(files, root)) {
    for (const state of SEGMENT_STATES) {
      if (await files.exists(stateDirectory(root, lane, state))) return true;
    }
  }
  return false;
}
