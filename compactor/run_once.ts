/** `--once` for a command: runs, and says in one line what was done. */

import { counted } from "../shared/base/counted.ts";
import { messageOf, OperatingError } from "../shared/base/errors.ts";
import { isPostgresUri } from "../shared/catalog/catalog_uri.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import type { CompactorSettings } from "./flags.ts";
import { compactorPaths } from "./open_drain.ts";
import { compactOnce, type OnceTotals } from "./start_compactor.ts";

/**
 * The summary line. Errors: `not_found` where there is neither a WAL nor a catalog; `unavailable`
 * naming the lanes that could not be drained, with the summary of the others. What was drained
 * stays drained.
 */
export async function runOnce(
  settings: CompactorSettings,
  options: { readonly signal?: AbortSignal } = {},
): Promise<string> {
  await requirePlace(settings);
  const totals = await compactOnce(settings, options);
  const summary = summaryLine(totals);
  if (totals.failures.length === 0) return summary;
  const lanes = totals.failures.map(({ lane, error }) => `${lane}: ${messageOf(error)}`);
  throw new OperatingError("unavailable", `Cannot drain ${lanes.join("; ")} (${summary})`);
}

/** Whoever misspells a place is not to hear that nothing waits there. */
async function requirePlace(settings: CompactorSettings): Promise<void> {
  const { wal, catalog } = compactorPaths(settings);
  if (settings.catalogClaim || isPostgresUri(catalog)) return;
  const files = new DenoFileSystem();
  if (await files.exists(wal) || await files.exists(catalog)) return;
  throw new OperatingError(
    "not_found",
    `Cannot drain ${wal}: there is no such folder, and no catalog at ${catalog}; give the places ` +
      "that the servers have with --data-dir, or with --wal, --warehouse and --catalog-uri",
  );
}

/** `drained 1000 rows in 2 files with 1 commit, 0.3 s`, and what else is worth a word. */
export function summaryLine(totals: OnceTotals): string {
  const { rows, files, commits, poisoned, swept, deleted, secs, maintenance } = totals;
  const { merged, retained, expired, removed } = maintenance;
  const parts = [
    `drained ${counted(rows, "row")} in ${counted(files, "file")} with ${
      counted(commits, "commit")
    }`,
    ...(poisoned === 0 ? [] : [`${counted(poisoned, "segment")} set aside in poison/`]),
    ...(swept === 0 ? [] : [`${counted(swept, "committed segment")} removed`]),
    ...(deleted === 0 ? [] : [`${counted(deleted, "delete task")} carried out`]),
    ...(merged.files === 0 ? [] : [`${counted(merged.files, "file")} merged into ${merged.into}`]),
    ...(retained === 0 ? [] : [`${counted(retained, "file")} past retention dropped`]),
    ...(expired === 0 ? [] : [`${counted(expired, "snapshot")} expired`]),
    ...(removed === 0 ? [] : [`${counted(removed, "needless file")} removed`]),
    `${secs.toFixed(1)} s`,
  ];
  return parts.join(", ");
}
