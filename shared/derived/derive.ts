/** Everything that is derived of a data file: one builder each. */

import { summaryBlobs } from "./summary/build_summary.ts";
import { textBlobs } from "./text/text_blobs.ts";
import type { Blob, BlobBuilder, FileRows } from "./types.ts";

const BUILDERS: readonly BlobBuilder[] = [textBlobs, (file) => summaryBlobs(file)];

/** Pure; a file of 100,000 rows takes a good part of a second. */
export function derive(file: FileRows): Blob[] {
  return BUILDERS.flatMap((build) => build(file));
}
