/** The refusal of what only servers that share statements can do. */

import { OperatingError } from "../../shared/base/errors.ts";

/** Says that this server has no peers. */
export function noPeers(what: string, remedy: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot ${what}: this server has no peers to share a query with; ${remedy}`,
    { reason: "no_peers" },
  );
}
