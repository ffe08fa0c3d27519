/** Opens the backup that a URL names: a folder, or `s3://bucket/path`. */

import { resolve } from "node:path";
import type { FileSystem } from "../os/file_system.ts";
import { openStore, type RemoteDeps } from "../storage/open_store.ts";
import { isS3Url } from "../storage/s3_settings.ts";
import { warehousePlaceOf } from "../storage/warehouse_url.ts";
import { BackupTarget, type TargetOptions } from "./backup_target.ts";

/** `deps.option` named the URL, for messages. Errors: `invalid_argument`. */
export function openBackup(
  url: string,
  deps: RemoteDeps & { readonly files: FileSystem; readonly option: string },
  options: TargetOptions = {},
): BackupTarget {
  const place = warehousePlaceOf(url, deps.option);
  const { store } = openStore(isS3Url(place) ? place : resolve(place), deps);
  return new BackupTarget(store, options);
}
