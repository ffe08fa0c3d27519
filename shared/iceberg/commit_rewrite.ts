/**
 * Replaces data files of a table by others in one commit: what merges, retention and delete tasks
 * come down to.
 *
 * Invariants: the replaced files go and the new ones come, both or neither, and only while every
 * replaced file is in the table. Another writer's commit in between costs the metadata again, never
 * the data. If it took one of the replaced files out, the rewrite is void, because its rows would
 * come twice or come back.
 */

import { assert } from "../base/assert.ts";
import { totalRows } from "../base/total_rows.ts";
import { type CommitDeps, commitTable, readerOf } from "./commit_table.ts";
import { stageRewrite } from "./stage_rewrite.ts";
import type { RewriteCommit, RewriteResult } from "./types.ts";

/**
 * Errors: `unavailable` when other writers kept being first (`commit_contention`: the new files are
 * in no table). `unavailable`, too, when the catalog did not say what became of the commit
 * (`commit_unknown`: leave the new files, the table may name them).
 */
export async function commitRewrite(
  given: CommitDeps,
  rewrite: RewriteCommit,
): Promise<RewriteResult> {
  checkRewrite(rewrite);
  const deps = { ...given, reader: readerOf(given) };
  const result = await commitTable(deps, rewrite.ident, async (table, staging) => {
    if (table?.uuid !== rewrite.tableUuid) return undefined;
    const staged = await stageRewrite(deps, table, { rewrite, staging });
    return staged === undefined || rewrite.deletes === undefined
      ? staged
      : { ...staged, deletes: rewrite.deletes };
  });
  assert(result.outcome !== "consumed", "a rewrite consumes no segments");
  const outcome = result.outcome === "committed" ? "committed" : "superseded";
  return { outcome, retries: result.retries };
}

function checkRewrite({ kind, replaced, files, applied, summary = {} }: RewriteCommit): void {
  assert(replaced.length > 0 || applied !== undefined, "a rewrite replaces something");
  assert(new Set(replaced.map(({ key }) => key)).size === replaced.length, "each file once");
  const before = totalRows(replaced);
  const after = totalRows(files);
  if (kind === "merge") assert(after === before, `a merge of ${before} rows gave ${after}`);
  else assert(after < before || before === 0, `a ${kind} of ${before} rows left ${after}`);
  for (const name of Object.keys(summary)) assert(name.startsWith("svc."), `summary ${name}`);
}
