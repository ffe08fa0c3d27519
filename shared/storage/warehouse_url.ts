/** What `--warehouse-url` and `SVC_WAREHOUSE_URL` may say: so far a `file://` URL or a path. */

import { fileURLToPath } from "node:url";
import { OperatingError } from "../base/errors.ts";

/** The folder that `url` names, as written when it is a path. Errors: `invalid_argument`. */
export function warehousePathOf(url: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return url;
  if (scheme === "file" && /^file:\/\/(localhost)?\//i.test(url)) return fileURLToPath(url);
  // The rest may hold a secret.
  throw new OperatingError(
    "invalid_argument",
    `Cannot use a warehouse URL of scheme ${
      JSON.stringify(scheme)
    }: give file:///<absolute path> ` +
      "or a path, for example --warehouse-url file:///var/lib/svc",
    { reason: "unsupported_warehouse" },
  );
}
