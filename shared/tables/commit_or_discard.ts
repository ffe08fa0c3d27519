/** The commit of a rewrite, and the end of its new files when they will never be in the table. */

import { isOperatingError } from "../base/errors.ts";
import { commitRewrite } from "../iceberg/commit_rewrite.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";

/** Commits as `commitRewrite` does. `discard` removes the files that the rewrite adds. */
export async function commitOrDiscard(
  deps: CommitDeps,
  rewrite: Parameters<typeof commitRewrite>[1],
  discard: () => Promise<void>,
): ReturnType<typeof commitRewrite> {
  try {
    const result = await commitRewrite(deps, rewrite);
    if (result.outcome === "superseded") await discard();
    return result;
  } catch (error) {
    // After any other error the table may name them, or yet do so.
    if (isOperatingError(error) && error.reason === "commit_contention") await discard();
    throw error;
  }
}
