/** Everything that is derived of a data file. */

import { summaryBlobs, type SummaryLimits } from "./summary/build_summary.ts";
import { textBlobs } from "./text/text_blobs.ts";
import type { Blob, FileRows } from "./types.ts";

/** Pure; a file of 100,000 rows takes a good part of a second. */
export function derive(file: FileRows, limits: SummaryLimits = {}): Blob[] {
  return [...textBlobs(file), ...summaryBlobs(file, limits)];
}
