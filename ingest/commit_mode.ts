/** When a request is acknowledged: docs/api/ingest.md#acknowledgement. */

import { OperatingError } from "../shared/base/errors.ts";

const COMMIT_MODES = ["auto", "wait_for", "force"] as const;
export type CommitMode = typeof COMMIT_MODES[number];

/**
 * The mode that a request asks for. The query parameter wins over the header; without both it is
 * `wait_for`. `query` is what follows the question mark. Errors: `invalid_argument` naming value
 * and choices, and for `force` where this server cannot see the commit.
 */
export function commitModeOf(
  query: string,
  header: string | null,
  { canForce = true }: { readonly canForce?: boolean } = {},
): CommitMode {
  const parameter = query === "" ? null : new URLSearchParams(query).get("commit");
  const value = parameter ?? header;
  if (value === null) return "wait_for";
  const mode = COMMIT_MODES.find((known) => known === value);
  if (mode === "force" && !canForce) throw cannotForce();
  if (mode !== undefined) return mode;
  const origin = parameter === null ? "header X-Svc-Commit" : "query parameter commit";
  throw new OperatingError(
    "invalid_argument",
    `unknown commit mode ${JSON.stringify(value)} in ${origin}: use ${COMMIT_MODES.join(", ")}`,
    { reason: "unknown_commit_mode" },
  );
}

function cannotForce(): OperatingError {
  return new OperatingError(
    "invalid_argument",
    "cannot wait for commit=force: compactors on other machines drain the mirror of this server's WAL " +
      "(--remote-drain), and their catalog cannot be seen from here; send commit=wait_for and query " +
      "for the rows, or give --catalog-uri postgres://…",
    { reason: "remote_drain" },
  );
}
