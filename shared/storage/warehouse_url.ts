/**
 * What `--warehouse-url` and `SVC_WAREHOUSE_URL` may say: a `file://` URL, a path, or
 * `s3://bucket/path`.
 */

import { fileURLToPath } from "node:url";
import { UsageError } from "../base/errors.ts";
import { isS3Url, parseS3Url, WAREHOUSE_OPTION } from "./s3_settings.ts";

/**
 * A folder, as written when it is a path, or `s3://bucket/path`. Errors: `invalid_argument`, naming
 * `option`.
 */
export function warehousePlaceOf(url: string, option = WAREHOUSE_OPTION): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(url)?.[1]?.toLowerCase();
  if (scheme === undefined) return url;
  if (scheme === "file" && /^file:\/\/(localhost)?\//i.test(url)) return fileURLToPath(url);
  if (isS3Url(url)) {
    const { bucket, prefix } = parseS3Url(url);
    return `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`;
  }
  // The rest may hold a secret.
  throw new UsageError(
    `Cannot use a warehouse URL of scheme ${JSON.stringify(scheme)}: give s3://<bucket>/<path>, ` +
      `file:///<absolute path> or a path, for example ${option} file:///var/lib/svc`,
    { reason: "unsupported_warehouse" },
  );
}
